// engine/include/gnomon/estimate/quadrature.h -- traces of functions of symmetric matrices, by
// Lanczos' method: log-determinants, spectral sums.
#pragma once
#include <optional>
#include <type_traits>
#include <utility>

#include "gnomon/estimate/trace.h"
#include "gnomon/handler.h"

#pragma GCC visibility push(default)
namespace gnomon::estimate {

struct QuadratureOptions {
  Sampler sampler = Rademacher{};
  Derivative derivative = Derivative::same_probes;  // not exact
  /// Probes in one product; 0: as many as keep steps x n x batch numbers below 2^24.
  Dim batch = 0;
  /// Every new vector of Lanczos' method at right angles to all before, at 4 n steps operations a
  /// step, which keeps quadrature as good as it is without rounding. Else to the two before only:
  /// no vectors are kept, and more steps may be needed.
  bool reorthogonalise = true;
  /// Of the solves for the derivative of a log-determinant.
  double solve_rtol = 0;  // 0: 1e-12 for f64, 1e-6 for f32
  Dim solve_steps = 0;    // 0: 10 n
  /// Near A^-1, symmetric and positive definite: fewer steps. No derivative is taken of it.
  std::optional<operators::Operator> solve_preconditioner = {};
};

namespace detail {
Trace trace_of(std::string_view op, const Handler<Array(const Array&)>& f, Key key,
               const operators::Operator& a, Dim k, Dim steps, const QuadratureOptions&, Loc);
}

/// tr f(A) for a symmetric A: the mean of z^T f(A) z over `k` probes, each by Gauss' rule with
/// `steps` nodes, the eigenvalues of the tridiagonal matrix that Lanczos' method makes of A and z.
///
/// f(x): Array -> Array, number by number, of eigenvalue estimates within the spectrum. The rule is
/// exact for polynomials of degree 2 steps - 1; the standard error is that of the probes alone.
/// k * steps products, k and steps at most n. Stores steps x batch vectors and decomposes one
/// tridiagonal matrix for each probe.
///
/// Derivative: tr f'(A) V with the same probes and nodes, in what A is made of and not in what `f`
/// captured; second derivatives are those of Lanczos' method, which has none where a probe spans
/// fewer than `steps` dimensions.
/// Throws UsageError for an operator that is not tagged symmetric, for numbers below 1.
/// Source: S. Ubaru, J. Chen, Y. Saad, Fast estimation of tr(f(A)) via stochastic Lanczos
/// quadrature, SIAM J. Matrix Anal. Appl. 38 (2017), algorithm 1.
template <class F>
Trace trace_of(const F& f, Key key, const operators::Operator& a, Dim k, Dim steps,
               const QuadratureOptions& options = {}, Loc loc = Loc::here()) {
  static_assert(std::is_invocable_r_v<Array, const F&, const Array&>,
                "gnomon::estimate::trace_of: the function takes and gives an Array of numbers");
  const auto values = [f](const Array& x) -> Array { return f(x); };
  return detail::trace_of("estimate::trace_of", values, std::move(key), a, k, steps, options, loc);
}

/// log det A for a positive definite A: trace_of the logarithm.
///
/// Derivative: tr A^-1 V, as the mean of (A^-1 z)^T V z with the same probes, a solve for each by
/// conjugate gradients; of any order. Throws UsageError unless the operator is tagged positive
/// semidefinite. -inf or NaN where it is singular.
Trace log_determinant(Key key, const operators::Operator& a, Dim k, Dim steps,
                      const QuadratureOptions& options = {}, Loc loc = Loc::here());

}  // namespace gnomon::estimate
#pragma GCC visibility pop
