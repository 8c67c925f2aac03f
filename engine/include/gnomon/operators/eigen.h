// engine/include/gnomon/operators/eigen.h -- a few eigenpairs and singular triplets of an operator,
// by products with it.
//
// Vectors are columns of matrices [n, k]; a vector of several arrays counts as one, arrays in
// order. Derivatives of eigenvalues are v^T dA v (Hellmann and Feynman), of first order, in what
// the operator is made of; those of the vectors are zero, and nothing of an iteration is
// differentiated.
#pragma once
#include <cstdint>
#include <optional>

#include "gnomon/linalg.h"
#include "gnomon/operators/krylov.h"
#include "gnomon/operators/operator.h"
#include "gnomon/random.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// Eigenvalues, the wanted end of the spectrum first, and their vectors.
struct Eigenpairs {
  Array values;     // f[k]
  Array vectors;    // f[n, k], orthonormal
  Array residuals;  // f[k]: |A v - value v|, or what is known of it
  Array steps;      // i32[]
  Array result;     // i32[]: SolveResult
};

struct LobpcgOptions {
  bool largest = false;
  double rtol = 1e-5;  // of residuals, to the largest eigenvalue that the search has met
  Dim max_steps = 200;
  std::optional<Operator> preconditioner = {};  // near A^-1, symmetric and positive definite
};
/// The smallest (or largest) eigenpairs of a symmetric operator, from a block of first guesses
/// x[n, k] of full rank; random ones will do.
///
/// A step is one product with a block of k vectors and finds the best of the space of the block,
/// its residuals and its last change; one more block is multiplied at the end. All vectors go on
/// until the last of them has converged; under vmap every lane stops on its own. An operator with
/// n < 4 k is decomposed as a matrix, in no steps. f32 resolves residuals down to about 1e-6.
/// Throws UsageError for an operator that is not tagged symmetric, a block of another length, no
/// vectors, a preconditioner of other vectors, numbers out of range.
/// Source: A. Knyazev, Toward the optimal preconditioned eigensolver, SIAM J. Sci. Comput. 23
/// (2001); orthonormal bases as J. Duersch, M. Shao, C. Yang, M. Gu, SIAM J. Sci. Comput. 40
/// (2018), section 4.
Eigenpairs lobpcg(const Operator& a, const Array& x, const LobpcgOptions& options = {},
                  Loc loc = Loc::here());

struct LanczosOptions {
  bool largest = true;
  Dim steps = 0;  // products; 0: the larger of 4 k + 16 and 32, at most n
};
/// The `k` largest (or smallest) eigenpairs of a symmetric operator within the Krylov space of a
/// random vector, by Lanczos' method with all vectors kept orthogonal.
///
/// One product and 4 n steps operations a step, [n, steps] stored; no test for convergence:
/// `residuals` says how near the pairs are, and `converged` that all are within 1e-3 of the largest
/// value. Of a multiple eigenvalue it finds one vector, or more as rounding lets it. Where the
/// space is invariant before all steps it goes on with another random vector.
/// Throws UsageError for an operator that is not tagged symmetric, k below 1 or above n.
/// Source: Y. Saad, Numerical Methods for Large Eigenvalue Problems, 2nd edition, 2011,
/// section 6.6.
Eigenpairs eigsh(const Operator& a, Dim k, Key key, const LanczosOptions& options = {},
                 Loc loc = Loc::here());

struct ComplexEigenpairs {
  Complex values;   // [k], of largest magnitude first
  Complex vectors;  // [n, k], of length 1
  Array residuals;  // f[k]
};
/// The `k` eigenpairs of largest magnitude of any square operator within the Krylov space of a
/// random vector, by Arnoldi's method. No derivative. Otherwise as eigsh.
/// Source: Saad, as above, section 6.2.
ComplexEigenpairs eigs(const Operator& a, Dim k, Key key, Dim steps = 0, Loc loc = Loc::here());

struct RandomizedSvdOptions {
  Dim oversample = 10;       // columns beyond the rank that are sampled, and dropped at the end
  Dim power_iterations = 2;  // products with A A^T: more for singular values that fall slowly
};
/// The largest singular values of an operator, and their vectors as columns and rows.
///
/// A[m, n] -> u [m, k], s [k] descending, vt [k, n], k the least of rank, m and n; a vector of
/// several arrays counts as one, arrays in order. (2 + 2 power_iterations) (rank + oversample)
/// products, half of them with A^T. Exact up to rounding where A has no higher rank.
/// Derivative: through the algorithm, with its restrictions on distinct singular values.
/// Throws UsageError for a rank below 1 and negative options.
/// Source: Halko, Martinsson, Tropp, Finding structure with randomness (2011), algorithms 4.4 and
/// 5.1.
linalg::Svd randomized_svd(const Operator&, Dim rank, Key, const RandomizedSvdOptions& = {},
                           Loc loc = Loc::here());

}  // namespace gnomon::operators
#pragma GCC visibility pop
