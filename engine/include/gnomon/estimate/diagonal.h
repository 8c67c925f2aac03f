// engine/include/gnomon/estimate/diagonal.h -- diagonals from products with random probes.
#pragma once
#include <type_traits>
#include <variant>

#include "gnomon/estimate/trace.h"

#pragma GCC visibility push(default)
namespace gnomon::estimate {

/// sum z * (A z) / sum z * z, number by number: exact for diagonal matrices.
///
/// k products, in batches. The variance of number i is sum_{j != i} (A_ij)^2 / k for Rademacher
/// probes. Source: C. Bekas, E. Kokiopoulou, Y. Saad, An estimator for the diagonal of a matrix,
/// Appl. Numer. Math. 57 (2007), equation 7.
struct Bekas {
  Sampler sampler = Rademacher{};
};

/// The diagonal on the range of A Omega exactly, and Bekas' mean for what is left, each probe in
/// both parts as in XTrace: for k / 2 probes, k / 2 products with A and k / 2 with A^T. Rounding
/// when the rank is below k / 2.
///
/// Stores [n, k / 2] a few times. The standard error counts what two probes' estimates have in
/// common, in time O(n k^2); it needs two probes (k = 4).
/// Source: Epperly, Tropp, Webber (2024; see XTrace), section 2.4 and appendix A.4.
struct XDiag {
  Sampler sampler = Rademacher{};
};

using DiagonalMethod = std::variant<Bekas, XDiag>;

struct DiagonalEstimate {
  Array value;           // f[n], as Operator::diagonal
  Array standard_error;  // f[n]; has no derivative
  Dim products = 0;      // with A, and with A^T
};

/// The diagonal of a square operator by `k` products, or as many as the method has a use for.
///
/// Differentiable in what the operator is made of, in both modes and of any order, with the same
/// probes. Throws UsageError for an operator that is not square, for k below 1, for
/// OrthogonalBlocks in XDiag.
DiagonalEstimate diagonal(Key key, const operators::Operator& a, Dim k,
                          const DiagonalMethod& method = Bekas{}, const TraceOptions& options = {},
                          Loc loc = Loc::here());

}  // namespace gnomon::estimate
#pragma GCC visibility pop
