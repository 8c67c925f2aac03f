// engine/include/gnomon/operators/structured.h -- matrices that are known by less than all their
// elements. As Dense, each is a tree of arrays and becomes an Operator where one is asked for; it
// is then that UsageError is thrown, for arrays whose shapes do not fit.
#pragma once
#include <optional>

#include "gnomon/operators/operator.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// Bands below, on and above the diagonal: f[n - 1], f[n], f[n - 1]. Solved in n steps
/// (TridiagonalSolve).
struct Tridiagonal {
  Array lower, diag, upper;
  Tags tags = {};
  operator Operator() const;  // NOLINT: implicit on purpose
};

/// A square matrix by its diagonals: bands[above + i - j, j] is a[i, j], as LAPACK and
/// scipy.linalg.solve_banded have it; what lies outside of the matrix is not read. For few bands:
/// each adds its operations to the kernel.
struct Banded {
  Array bands;    // f[below + 1 + above, n]
  Dim below = 0;  // diagonals below the main one
  Tags tags = {};
  operator Operator() const;  // NOLINT: implicit on purpose
};

/// The triangle of a matrix f[n, n]; of the other one nothing is read. Solved by substitution.
struct Triangular {
  Array matrix;
  bool lower = true;
  bool unit_diagonal = false;  // ones on the diagonal, which is not read
  operator Operator() const;   // NOLINT: implicit on purpose
};

/// A symmetric matrix f[n, n] of which one triangle is read.
struct Symmetric {
  Array matrix;
  bool lower = true;
  Tags tags = {};             // beyond `symmetric`: positive_semidefinite, say
  operator Operator() const;  // NOLINT: implicit on purpose
};

/// U diag(scale) V^T of rank r: f[m, r], f[n, r] and f[r]; without V symmetric, U diag(scale) U^T,
/// and without a scale positive semidefinite then. `a + LowRank{u, v}` is a low-rank update of a.
struct LowRank {
  Array u;
  std::optional<Array> v = {};
  std::optional<Array> scale = {};
  operator Operator() const;  // NOLINT: implicit on purpose
};

/// The matrix whose columns are its first one, f[n], shifted cyclically: a[i, j] is
/// column[(i - j) mod n]. Products by FFT: O(n log n).
struct Circulant {
  Array column;
  Tags tags = {};
  operator Operator() const;  // NOLINT: implicit on purpose
};

/// The matrix f[m, n] with the same number all along each diagonal, by its first column f[m] and
/// first row f[n], whose first number is not read; without a row symmetric. Products by FFT, as
/// part of a circulant matrix: O((m + n) log(m + n)).
/// Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th edition, 2013, section 4.8.
struct Toeplitz {
  Array column;
  std::optional<Array> row = {};
  Tags tags = {};
  operator Operator() const;  // NOLINT: implicit on purpose
};

}  // namespace gnomon::operators
#pragma GCC visibility pop
