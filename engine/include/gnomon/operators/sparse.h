// engine/include/gnomon/operators/sparse.h -- operators of which few elements are not zero.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gnomon/operators/operator.h"
#include "gnomon/runtime.h"
#include "gnomon/sparse.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// Entries of a matrix [rows, columns] on the host, in any order; those of one place add up.
struct Triplets {
  Dim rows = 0, columns = 0;
  std::vector<std::int32_t> row, column;  // from 0
  std::vector<double> value;

  /// An index that 32 bits do not hold becomes -1, which whoever takes the entries refuses.
  void add(Dim i, Dim j, double x) {
    row.push_back(index(i));
    column.push_back(index(j));
    value.push_back(x);
  }

 private:
  static std::int32_t index(Dim i) {
    return i == static_cast<std::int32_t>(i) ? static_cast<std::int32_t>(i) : -1;
  }
};

/// A sparse matrix in compressed rows, of vectors f[width] and f[m]: csr_matmul (gnomon/sparse.h).
///
/// Where the pattern of the transpose is stored as well, products with the transpose are as fast as
/// those with the matrix; else they are scatters, three to ten times as slow. A symmetric matrix
/// needs none. Differentiable in `values`.
/// Throws UsageError where it becomes an Operator: when the values are not one float for each
/// entry, or the tags do not fit.
struct Csr {
  CsrPattern pattern;
  Array values;  // f[entries]
  Tags tags = {};
  std::optional<CsrPattern> transposed = {};  // and with it:
  std::optional<Array> order = {};            // i32[entries]: which entry its entries are
  operator Operator() const;                  // NOLINT: implicit on purpose
};

struct CsrOf {
  DType dtype = DType::f32;
  Tags tags = {};
  /// Also stores the transpose's pattern, unless the matrix is symmetric by its tags.
  bool transpose = true;
};

/// These entries on a Runtime: rows in order, in each the columns in order, entries of one place
/// added up. Cost: a sort on the host.
/// Throws UsageError for an index outside of the matrix (which entry, and both sides), lists of
/// different lengths, and a symmetric tag on entries that are not.
Csr to_csr(Runtime&, const Triplets&, CsrOf options = {}, Loc loc = Loc::here());

/// A sparse matrix by entries in any order: products are segment sums. For few products of a matrix
/// that is not worth sorting; Csr is several times as fast.
struct Coo {
  Array row, column, values;  // i32[entries], i32[entries], f[entries]
  Dim rows = 0, columns = 0;
  Tags tags = {};
  operator Operator() const;  // NOLINT: implicit on purpose
};

/// A sparse matrix of dense blocks f[count, b, b]: `pattern` says where the blocks are, in units of
/// blocks. Products are products of blocks, added up by block rows.
struct BlockSparse {
  CsrPattern pattern;
  Array blocks;
  Tags tags = {};
  operator Operator() const;  // NOLINT: implicit on purpose
};

}  // namespace gnomon::operators
#pragma GCC visibility pop
