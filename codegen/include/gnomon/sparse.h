// codegen/include/gnomon/sparse.h -- products of matrices of which few elements are not zero.
//
// A matrix in compressed rows is a pattern, which says where its entries are, and their values. The
// operators of gnomon/operators.h are made of these products.
#pragma once
#include "gnomon/array.h"
#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// Where the entries of a sparse matrix [m, width] are: those of row i are entries offsets[i] to
/// offsets[i + 1] - 1, and entry e stands in column columns[e].
///
/// An aggregate of arrays, to pass to jitted functions as any other. Columns of a row may come in
/// any order and more than once: entries of one place add up.
struct CsrPattern {
  Array offsets;  // i32[m + 1], ascending from 0 to the number of entries
  Array columns;  // i32[entries], each in [0, width)
  Dim width = 0;
  /// Entries of the longest row where that is known when tracing: products of matrices whose rows
  /// are not much longer than that in the mean take one kernel. 0: not known.
  Dim longest = 0;
  /// Whether most columns of neighbouring rows are far apart, as in random graphs, in a block
  /// larger than the processor's cache. Results do not depend on it: rows are then summed side by
  /// side, so that more of x is on its way at a time (a third less time for a block of 16, twice as
  /// much if the columns are near).
  bool scattered = false;
};

struct CsrOptions {
  bool transpose = false;  // the product with the transpose
};

/// A x for the sparse matrix A of these values; A' x with {.transpose = true}.
///
/// values: f[entries], x: f[n] or f[n, k]: a vector, or a block of k. The result has the rows of A
/// (of A'). Differentiable in values and x, in both modes and any order; vmap over x makes the
/// block wider. Cost: entries x k operations; a row is summed in the order of its entries by one
/// lane, the product with the transpose is a scatter, three to ten times as slow. Sums of 16-bit
/// floats are sums of f32. Unchecked: what `offsets` and `columns` hold. Wrong ones give wrong
/// sums, and nothing is read or written out of bounds. Throws UsageError when shapes or dtypes do
/// not fit, naming both.
Array csr_matmul(const CsrPattern& pattern, Operand values, Operand x, CsrOptions options = {});

/// The product a b' at the entries of a pattern only: f[entries], of a: f[m] or f[m, k] and b:
/// f[width] or f[width, k]. The derivative of csr_matmul by its values.
Array csr_sampled_matmul(const CsrPattern& pattern, Operand a, Operand b);

}  // namespace gnomon
#pragma GCC visibility pop
