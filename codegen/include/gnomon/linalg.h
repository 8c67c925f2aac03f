// codegen/include/gnomon/linalg.h -- factorisations, linear systems, norms and functions of
// matrices.
//
// Shapes        a matrix is the last two axes of an array; leading axes are a batch, and every
//               matrix of it is treated alike. Integers and bool become f32; f64 stays f64.
// Failures      nothing fails when a program runs: where NumPy raises (singular, not positive
//               definite, NaN inside) the results hold inf or NaN.
// Derivatives   all functions are differentiable in both modes unless they say otherwise.
// Range         sums of squares are taken as they are: magnitudes beyond the square root of the
//               range of the dtype (1e19 for f32) overflow in norms, qr, eigh and svd.
//
// Wrong ranks, shapes and dtypes throw UsageError with the line of the call.
#pragma once
#include <optional>

#include "gnomon/array.h"
#include "gnomon/complex.h"
#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon::linalg {

// ---- factorisations

/// The lower triangular L with L L^T = a, for symmetric positive definite a[.., n, n].
///
/// The symmetric part (a + a^T) / 2 counts. NaN in the lower triangle where a is not positive
/// definite. n^3 / 3 multiplications.
/// Derivative: Murray, Differentiation of the Cholesky decomposition (2016), equation 8.
Array cholesky(Operand a);

struct TriangularOptions {
  bool lower = true;           // which triangle is read
  bool transposed = false;     // the matrix is a^T
  bool unit_diagonal = false;  // ones instead of what is on the diagonal
  bool left = true;            // a x = b; else x a = b
};
/// x with a x = b for triangular a[.., n, n].
///
/// b: [.., n, m], or [n] for one right side of one matrix; [.., m, n] when not `left`. Leading axes
/// broadcast. inf and NaN where the diagonal has a zero.
Array triangular_solve(Operand a, Operand b, TriangularOptions options = {});

struct Lu {
  Array lu;      // L below the diagonal (its ones are not stored), U on and above it: [.., m, n]
  Array pivots;  // i32[.., k], k = min(m, n): step i swapped row i with row pivots[i]
  Array permutation;  // i32[.., m]: a[permutation] = L U
};
/// Gauss with partial pivoting, as LAPACK's getrf; a singular matrix has a zero on U's diagonal.
/// Derivative: where a leading square block is not singular.
Lu lu(Operand a);

struct QrOptions {
  bool complete = false;  // all m columns of the basis, not just min(m, n)
};
struct Qr {
  Array q;  // orthonormal columns: [.., m, k]
  Array r;  // upper triangular: [.., k, n], a = q r
};
/// Householder's reflections; the diagonal of r has the signs LAPACK gives it.
///
/// Derivative: where the first min(m, n) columns are independent; none for a complete basis of more
/// rows than columns (UsageError).
Qr qr(Operand a, QrOptions options = {});

struct Eigh {
  Array eigenvalues;   // ascending: [.., n]
  Array eigenvectors;  // in the columns, orthonormal: [.., n, n]
};
/// Eigenvalues and eigenvectors of symmetric matrices; (a + a^T) / 2 counts.
///
/// The element of largest magnitude of every eigenvector is positive, the first of equals. Jacobi's
/// rotations, n / 2 at a time, at most 30 sweeps; small eigenvalues are as accurate as large ones
/// to n eps |a|. Derivative: where eigenvalues are distinct; that of the eigenvalues alone always.
Eigh eigh(Operand a);
/// The eigenvalues alone.
Array eigvalsh(Operand a);

struct Eig {
  Complex eigenvalues;   // [.., n]
  Complex eigenvectors;  // in the columns, of length 1: [.., n, n]
};
/// Eigenvalues and right eigenvectors of any square matrix: a v = lambda v.
///
/// In no particular order, but conjugate pairs stand side by side, the one with a positive
/// imaginary part first, and are conjugates to the bit; real eigenvalues have imaginary parts of 0,
/// and so do their vectors. The element of largest magnitude of every vector is real and positive,
/// the first of equals. a v - lambda v is about n eps |a|; defective matrices have vectors that are
/// parallel up to rounding. NaN throughout where an element is not finite, or 30 max(n, 10) steps
/// did not find all eigenvalues.
///
/// Balancing, Hessenberg form, Francis' double steps, back substitution: about 25 n^3 operations,
/// in order: one workgroup for a large matrix, one lane for each of many small ones.
/// Derivative: where eigenvalues are distinct. Source: Golub and Van Loan, Matrix Computations, 4th
/// edition, section 7.5; Boeddeker et al., On the computation of complex-valued gradients (2017),
/// section 4.4.
Eig eig(Operand a);
/// The eigenvalues alone, at less than half the cost.
Complex eigvals(Operand a);

struct Svd {
  Array u;   // orthonormal columns: [.., m, k], k = min(m, n)
  Array s;   // descending, none negative: [.., k]
  Array vt;  // orthonormal rows: [.., k, n], a = u diag(s) vt
};
/// The reduced singular value decomposition, by Hestenes' one-sided rotations behind a QR.
///
/// The element of largest magnitude of every column of u is positive. What is not used is not
/// computed. Derivative: where singular values are distinct, and not zero unless a is square; that
/// of the singular values alone always.
Svd svd(Operand a);
/// The singular values alone.
Array svdvals(Operand a);

// ---- systems

/// x with a x = b for a[.., n, n].
///
/// b: [n] (one right side for every matrix) or [.., n, m]; leading axes broadcast. LU with partial
/// pivoting; the derivative solves with the same factors. inf or NaN where a is singular.
Array solve(Operand a, Operand b);
/// The inverse; `solve` is faster and more accurate for a x = b.
Array inv(Operand a);
/// The same of complex matrices, as real systems of twice the size: twice the work of one in
/// complex arithmetic.
Complex solve(ComplexOperand a, const Complex& b);
Complex inv(ComplexOperand a);
/// x with A x = rhs for the tridiagonal A of which row i is lower[i], diag[i], upper[i].
///
/// lower, diag, upper [.., n]; rhs [.., n, k], or [n]; leading axes broadcast. As
/// jax.lax.linalg.tridiagonal_solve: all bands have length n, and lower[0] and upper[n - 1] do not
/// count. Differentiable in all four; reverse mode solves with the transposed matrix. Thomas'
/// elimination without pivoting: O(n) steps, one lane for each column of each system.
/// Unchecked: stability, which diagonal dominance or a symmetric positive definite A gives; a zero
/// pivot gives inf or NaN.
/// Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 9.6.
Array tridiagonal_solve(Operand lower, Operand diag, Operand upper, Operand rhs);
/// The determinant: [.., n, n] -> [..]. Up to n = 3 a polynomial, differentiable everywhere; beyond
/// that by LU, with a derivative where a is not singular.
Array det(Operand a);
struct SlogDet {
  Array sign;    // -1, 0 or 1; its derivative is zero
  Array logabs;  // -inf for a singular matrix
};
/// det = sign * exp(logabs), without overflow.
SlogDet slogdet(Operand a);

/// Singular values below `rtol` times the largest count as zero: eps max(m, n) by default.
struct RankOptions {
  std::optional<double> rtol = {};
};
/// The pseudoinverse [.., n, m] of a[.., m, n]: the solution of least squares as a matrix.
///
/// Derivative: Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least
/// squares problems whose variables separate, SIAM J. Numer. Anal. 10 (1973), equation 4.12; where
/// the rank stays the same.
Array pinv(Operand a, RankOptions options = {});
/// The number of singular values that count, i32[..]. No derivative.
Array matrix_rank(Operand a, RankOptions options = {});

struct LeastSquares {
  Array x;          // [.., n, k], or [n] for one vector b; of all minima the one of least norm
  Array residuals;  // |a x - b|^2 for every column: [.., k], or [] for a vector
  Array rank;       // i32[..]
  Array s;          // singular values of a
};
/// x that minimises |a x - b| for a[.., m, n]; b as in `solve`, with m rows.
LeastSquares lstsq(Operand a, Operand b, RankOptions options = {});

// ---- norms

/// (sum |x|^ord)^(1 / ord) over `axes`; ord 1, 2, infinity (the largest magnitude), -infinity (the
/// smallest), 0 (how many are not zero) or any other number. The derivative of ord 2 at 0 is NaN.
Array vector_norm(Operand x, double ord = 2, const Axes& axes = {}, ReduceOptions options = {});
enum class MatrixNorm : std::uint8_t {
  frobenius,  // root of the sum of squares
  one,        // largest column sum of magnitudes
  infinity,   // largest row sum of magnitudes
  two,        // largest singular value
  nuclear,    // sum of singular values
};
/// [.., m, n] -> [..].
Array matrix_norm(Operand a, MatrixNorm kind = MatrixNorm::frobenius);
/// The condition number: the ratio of the largest to the smallest singular value, or
/// |a| |a^-1| in another norm; infinite or NaN for a singular matrix.
Array condition_number(Operand a, MatrixNorm kind = MatrixNorm::two);

// ---- powers and functions

/// a^n for a C++ integer n by repeated squaring; negative powers invert. a^0 is the identity.
Array matrix_power(Operand a, int n);
/// The exponential of a matrix.
///
/// Pade approximant of degree 13 (7 for f32) with scaling by 2^-s and s squarings, s from the
/// 1-norm of each matrix; at most `max_squarings`, beyond which the result is NaN. Derivatives of
/// any order in either mode, each order by matrices of twice the size. Source: Higham, The scaling
/// and squaring method for the matrix exponential revisited, SIAM J. Matrix Anal. Appl. 26 (2005),
/// algorithm 2.3 with one degree per type.
struct ExpmOptions {
  int max_squarings = 16;
};
Array expm(Operand a, ExpmOptions options = {});

}  // namespace gnomon::linalg
#pragma GCC visibility pop
