// codegen/operations/sort.h -- parameters of sorting.
//
// Semantics
//   sort:      operands of one shape are rearranged together along `axis`, so that the first
//              `num_keys` of them ascend lexicographically; the last output (i32) is the
//              permutation: out[i] = operand[permutation[i]]. Stable. Of floats, NaN comes last,
//              all NaN are equal, and so are -0 and 0; false comes before true.
//   rearrange: out[.., i, ..] = x[.., permutation[.., i, ..], ..] along `axis`, where every row of
//              `permutation` (i32, of x's shape) is a permutation. Unchecked: with other indices
//              the cotangents are wrong; indices out of range clip.
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

struct SortParams {
  int axis = 0;
  int num_keys = 1;
};

struct RearrangeParams {
  int axis = 0;
};

extern const Primitive sort_p, rearrange_p;

/// What kernels compute in place of sort: networks for a few elements, counting for dozens, merges
/// beyond.
std::vector<Array> expand_sort(const Params&, const std::vector<Array>& inputs, const Target&, Loc);

/// Integers in the order that `sort` gives the elements of `x`: ties are equal integers.
Array sort_key(const Array& x, Loc loc);

}  // namespace gnomon
