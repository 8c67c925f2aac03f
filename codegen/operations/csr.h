// codegen/operations/csr.h -- parameters of products with matrices in compressed rows.
//
// Semantics (entries e of row i: offsets[i] <= e < offsets[i + 1])
//   csr_dot:     offsets i32[m + 1], columns i32[e], values f[e], x f[width, k] -> f[m, k], the sum
//                of values[e] x[columns[e]] over the entries of each row in order; `transpose`: x
//                f[m, k] -> f[width, k], the sum of values[e] x[i] over the entries of each column.
//   csr_rows:    csr_dot of rows that no lane takes long for, not transposed; `longest` is known.
//   csr_sampled: offsets, columns, a f[m, k], b f[width, k] -> f[e], the sum of a[i] b[columns[e]].
// Each is bilinear, and their derivatives are one another.
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

struct CsrParams {
  Dim width = 0;
  Dim longest = 0;  // entries of the longest row; 0: not known
  bool transpose = false;
  bool scattered = false;  // neighbouring rows have columns far apart
};

extern const Primitive csr_dot_p, csr_rows_p, csr_sampled_p;

}  // namespace gnomon
