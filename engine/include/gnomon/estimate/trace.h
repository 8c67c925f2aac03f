// engine/include/gnomon/estimate/trace.h -- traces from products with random probes.
#pragma once
#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "gnomon/estimate/sampler.h"

#pragma GCC visibility push(default)
namespace gnomon::estimate {

/// The mean of z^T A z: its error falls with 1 / sqrt(k), whatever the matrix.
///
/// k products, in batches: no more than one of them is stored. The variance is
/// 2 (|S|_F^2 - sum S_ii^2) / k for Rademacher and 2 |S|_F^2 / k for Normal probes, S the symmetric
/// part of A. Source: M. Hutchinson, A stochastic estimator of the trace of the influence matrix
/// for Laplacian smoothing splines, Commun. Statist. Simul. 18 (1989).
struct Hutchinson {
  Sampler sampler = Rademacher{};
};

/// The trace on the range Q of A S for a third of the products, exactly, and Hutchinson's mean for
/// what is left: the error falls with 1 / k for semidefinite matrices, and is rounding when the
/// rank is at most k / 3.
///
/// 2 (k / 3) + the rest products, stores [n, k / 3], factorises it in n (k / 3)^2 operations.
/// Source: R. Meyer, C. Musco, C. Musco, D. Woodruff, Hutch++: Optimal Stochastic Trace Estimation,
/// SOSA 2021, algorithm 1.
struct HutchPlusPlus {
  Sampler sampler = Rademacher{};
};

/// As Hutch++ with every probe in both parts: for each of m = k / 2 probes the exact trace on the
/// range of the m - 1 others, and what that probe says of the rest; the mean of these.
///
/// 2 m products, stores [n, m] a few times. Normal and Sphere probes get the length that their part
/// outside the range would have. Rounding when the rank is below m.
/// Source: E. Epperly, J. Tropp, R. Webber, XTrace: Making the Most of Every Sample in Stochastic
/// Trace Estimation, SIAM J. Matrix Anal. Appl. 45 (2024), section 2.1 and appendix A.2.
struct XTrace {
  Sampler sampler = Sphere{};
};

/// The same with Nystroem's approximation: k probes for k products, for a matrix that is tagged
/// positive or negative semidefinite. Errors are about those of XTrace at twice the products, and
/// better where eigenvalues fall fast.
///
/// The matrix is shifted by about eps |A Omega| so that a factorisation exists: relative errors are
/// not below that. Throws UsageError without the tag. Source: as XTrace, sections 2.2 and A.3.
struct XNysTrace {
  Sampler sampler = Sphere{};
};

using TraceMethod = std::variant<Hutchinson, HutchPlusPlus, XTrace, XNysTrace>;

/// What is differentiated.
enum class Derivative : std::uint8_t {
  /// d tr A[V] = tr V, estimated with the probes and the basis that the trace was estimated with:
  /// no factorisation is differentiated, and the derivative is as free of bias as the trace.
  same_probes,
  /// The diagonal of the operator, where it is stored (Operator::diagonal): tr V itself.
  exact,
  /// The computation as it stands, factorisations too.
  through_estimator,
};

struct TraceOptions {
  Derivative derivative = Derivative::same_probes;
  /// Probes in one product, of methods that do not need all of them at once; 0: 16, and more for
  /// short vectors.
  Dim batch = 0;
};

struct Trace {
  Array value;           // f[]
  Array standard_error;  // f[], NaN where one sample alone says nothing of it; has no derivative
  Dim products = 0;      // vectors that the operator was multiplied with
};

/// The trace of a square operator by `k` products, or as many as the method has a use for: no more
/// than 1 x, 3 x, 2 x and 1 x the size of the operator for the four methods in order, and no less
/// than 2 for XTrace. An operator that is tagged as the identity costs none.
///
/// Differentiable in what the operator is made of, in both modes and of any order.
/// Throws UsageError for an operator that is not square, for k below 1, for a tag that is missing,
/// for OrthogonalBlocks in XTrace and XNysTrace.
Trace trace(Key key, const operators::Operator& a, Dim k, const TraceMethod& method = XTrace{},
            const TraceOptions& options = {}, Loc loc = Loc::here());

/// The same with probes that the caller made, all of them; what the method says of a sampler does
/// not count. HutchPlusPlus takes the first half of them for the range.
/// Throws UsageError naming both types for probes of another space.
Trace trace(const Probes& probes, const operators::Operator& a,
            const TraceMethod& method = Hutchinson{}, const TraceOptions& options = {},
            Loc loc = Loc::here());

/// How many products there are is part of what is compiled.
template <class K, class... More>
requires std::is_same_v<std::remove_cvref_t<K>, Array>
void trace(Key, const operators::Operator&, const K&, const More&...) {
  static_assert(
      always_false<K>,
      "gnomon::estimate::trace: k is a C++ number, since the sizes of blocks are compiled "
      "in; write the number, or estimate::trace_to(key, a, {.rtol = r}) for as many "
      "products as it takes");
}

struct ToleranceOptions {
  double rtol = 0, atol = 0;
  Dim max_probes = 10000;
  Dim batch = 16;
  Sampler sampler = Rademacher{};
  /// Standard errors that have to fit into the tolerance.
  double deviations = 1;
};

struct TraceTo {
  Array value;           // f[]
  Array standard_error;  // f[]
  Array products;        // i32[]
  Array reached;         // bool[]: the tolerance, not max_probes, ended it
};

/// Hutchinson's mean of as many probes as it takes: batch by batch until `deviations` standard
/// errors are at most max(atol, rtol |value|), or max_probes are used.
///
/// At least two batches, so that there is an error to look at. Under vmap every lane stops on its
/// own. Differentiable as `trace` is; that the number of probes depends on A is not looked at.
/// Throws UsageError when both tolerances are 0, for numbers below 1.
TraceTo trace_to(Key key, const operators::Operator& a, const ToleranceOptions& options,
                 Loc loc = Loc::here());

struct Norm {
  Array value;
  Array standard_error;
  Dim products = 0;
};

/// The Frobenius norm: the root of the mean of |A z|^2 over `k` probes z. A need not be square.
///
/// The standard error is that of the mean, as the root moves. Source: as Hutchinson, for A^T A.
Norm frobenius_norm(Key key, const operators::Operator& a, Dim k,
                    const Sampler& sampler = Rademacher{}, const TraceOptions& options = {},
                    Loc loc = Loc::here());

}  // namespace gnomon::estimate
#pragma GCC visibility pop
