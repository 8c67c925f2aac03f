// engine/include/gnomon/operators/preconditioner.h -- operators near the inverse of another one.
#pragma once
#include "gnomon/operators/operator.h"
#include "gnomon/operators/sparse.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// 1 / diagonal(a), 1 where the diagonal has a zero. As cheap as Operator::diagonal is.
///
/// Positive semidefinite, or negative, where `a` has that tag. Throws UsageError for an operator
/// that is not square.
/// Source: Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, 2003, section 10.2.
Operator jacobi(const Operator& a, Loc loc = Loc::here());

/// The inverses of the blocks of `block` rows along the diagonal; the last block is smaller where
/// `block` does not divide the size. Takes the matrix: as many products as there are columns where
/// it is not stored.
///
/// Unchecked: that the blocks are not singular. Throws UsageError for an operator that is not
/// square or of more than one array, for a block below 1.
/// Source: as above, section 12.2.
Operator block_jacobi(const Operator& a, Dim block, Loc loc = Loc::here());
/// The same from the blocks themselves, f[m, size, size], for vectors f[m size].
/// `tags` are those of A; they say what is promised of the inverse.
Operator block_jacobi(const Array& blocks, Tags tags = {}, Loc loc = Loc::here());

/// (C W^-1 C^T + shift I)^-1: of a kernel matrix K(x, x) + shift I with m of its points u,
/// C = K(x, u) and W = K(u, u). As good a preconditioner as the m points tell of K.
///
/// columns f[n, m], middle f[m, m], a positive shift []. O(n m^2) to make and 4 n m operations a
/// product; stores f[n, m]. Rounding in `middle` is covered by as much more on its diagonal, for
/// the eigenvalues of smooth kernels are soon below it.
///
/// Positive semidefinite. Throws UsageError for other shapes or dtypes. Unchecked: that `middle` is
/// positive semidefinite and `shift` positive, else NaN.
/// Source: Z. Frangella, J. Tropp, M. Udell, Randomized Nystroem preconditioning, SIAM J. Matrix
/// Anal. Appl. 44 (2023), section 2; C. Rasmussen, C. Williams, Gaussian Processes for Machine
/// Learning, 2006, equations 8.11 and A.9.
Operator nystroem(const Array& columns, const Array& middle, const Array& shift,
                  Loc loc = Loc::here());

/// (L L^T)^-1 of an incomplete Cholesky factor L without fill: L has entries where the lower
/// triangle of A has, and L L^T is A there.
///
/// A tree of arrays, as Csr is; it becomes an Operator of vectors f[n], positive semidefinite.
/// Either triangular system is solved by `sweeps` of Jacobi's iteration from D^-1 b, each one
/// sparse product over all rows at once; as many as there are `levels` of rows that wait for one
/// another solve it exactly. Fewer give another symmetric positive definite operator, which is
/// nearly as good from a few sweeps on. Source of the sweeps: E. Chow, A. Patel, Fine-grained
/// parallel incomplete LU factorization, SIAM J. Sci. Comput. 37 (2015), section 4.
struct IncompleteCholesky {
  Csr lower;                  // L below its diagonal
  Array diagonal;             // f[n], of L
  Dim sweeps = 0;             // of each of both systems
  Dim levels = 0;             // rows in the longest chain of rows
  double shift = 0;           // L is that of A + shift diag(A)
  operator Operator() const;  // NOLINT: implicit on purpose
};

struct IncompleteCholeskyOf {
  DType dtype = DType::f32;
  Dim sweeps = 8;  // at most `levels`; 0: those
};

/// Factorises a symmetric matrix with a positive diagonal, on the host: as many operations as pairs
/// of entries in the rows. Where a pivot is not positive, it begins again with a larger diagonal:
/// 1.001, 1.002, 1.004, ... times what it was.
///
/// Throws UsageError for entries that are not symmetric or a diagonal that is not positive, naming
/// them, and for what to_csr refuses.
/// Source: Y. Saad, 2003 (as above), section 10.3; the shift is that of T. Manteuffel, Math.
/// Comput. 34 (1980).
IncompleteCholesky incomplete_cholesky(Runtime&, const Triplets&, IncompleteCholeskyOf options = {},
                                       Loc loc = Loc::here());

}  // namespace gnomon::operators
#pragma GCC visibility pop
