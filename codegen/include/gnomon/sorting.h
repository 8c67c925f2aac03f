// codegen/include/gnomon/sorting.h -- putting elements in order, and finding them.
//
// Order        ascending; NaN comes last and all NaN are equal, so are -0 and 0; false < true.
// Every
//              sort is stable: equal elements keep their order, descending ones too.
// Sizes        are fixed when a function is traced: results whose length depends on the elements
//              take a `size`, are cut off behind it and filled up to it.
// Derivatives  of sorted values go to the elements they were; indices have none.
// Cost         n log(n) comparisons and log2(n / 64) passes along an axis of n elements; up to 64
//              elements one pass of n^2, up to 8 inside whatever kernel uses them.
#pragma once
#include <optional>
#include <vector>

#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon {

struct SortOptions {
  bool descending = false;  // NaN first
};
Array sort(Operand x, int axis = -1, SortOptions options = {});
/// Indices (i32) that sort: take_along_axis(x, argsort(x, axis), axis) is sort(x, axis).
Array argsort(Operand x, int axis = -1, SortOptions options = {});
/// Indices (i32) that sort by several keys of one shape, the last the most important.
Array lexsort(const std::vector<Array>& keys, int axis = -1, Loc loc = Loc::here());
/// Arrays of one shape rearranged together so that the first `num_keys` of them ascend, the first
/// the most important.
std::vector<Array> sort_together(const std::vector<Array>& operands, int num_keys = 1,
                                 int axis = -1, Loc loc = Loc::here());
/// An order in which element `kth` (negative: from the end) is where sorting would put it, smaller
/// ones before it, larger ones behind it: here the sorted array.
Array partition(Operand x, Dim kth, int axis = -1);
Array argpartition(Operand x, Dim kth, int axis = -1);

struct TopK {
  Array values, indices;
};
/// The k largest elements along `axis`, the largest first, and their indices (i32); of equals the
/// first. NaN counts as largest.
TopK top_k(Operand x, Dim k, int axis = -1);

enum class Side : std::uint8_t { left, right };
/// Where `values` would go in `sorted`, which ascends and has rank 1: before (left) or behind
/// (right) elements that are equal. i32 of the shape of `values`; log2(n) steps each.
Array searchsorted(Operand sorted, Operand values, Side side = Side::left);
/// The number i of the interval between `edges` that x is in: edges[i - 1] <= x < edges[i] where
/// they ascend, edges[i - 1] > x >= edges[i] where they descend; with `right` the other side is
/// closed.
Array digitize(Operand x, Operand edges, bool right = false);

struct Unique {
  Array values;   // ascending; behind the last one `fill`, or the smallest
  Array indices;  // where each first occurs in the flattened array; filled with those of the first
  Array inverse;  // of the shape of x: which of the values each element is
  Array counts;   // how often each occurs; 0 behind the last one
  Array number;   // i32[]: how many there are, also when that is more than `size`
};
/// The distinct elements of x.
Unique unique(Operand x, Dim size, std::optional<Scalar> fill = {});
/// Whether each element of x is one of `among`.
Array isin(Operand x, Operand among);
/// Distinct elements of either; of both; of a that are not in b: ascending, filled with `fill`, by
/// default the smallest of them.
Array union1d(Operand a, Operand b, Dim size, std::optional<Scalar> fill = {});
Array intersect1d(Operand a, Operand b, Dim size, std::optional<Scalar> fill = {});
Array setdiff1d(Operand a, Operand b, Dim size, std::optional<Scalar> fill = {});

/// Indices (i32) of the elements that are not 0 (true), in row-major order: one array per axis.
std::vector<Array> nonzero(Operand x, Dim size, Dim fill = 0);
/// The same as rows: i32[size, rank].
Array argwhere(Operand x, Dim size, Dim fill = 0);
/// In the flattened array.
Array flatnonzero(Operand x, Dim size, Dim fill = 0);
/// How many elements are not 0 (true): i32.
Array count_nonzero(Operand x, const Axes& axes = {}, ReduceOptions options = {});

}  // namespace gnomon
#pragma GCC visibility pop
