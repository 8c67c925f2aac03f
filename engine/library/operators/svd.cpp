// engine/library/operators/svd.cpp -- singular values by products with random vectors.
#include <algorithm>
#include <utility>

#include "engine/library/operators/flat.h"
#include "gnomon/loops.h"
#include "gnomon/operators/eigen.h"

namespace gnomon::operators {

linalg::Svd randomized_svd(const Operator& a, Dim rank, Key key,
                           const RandomizedSvdOptions& options, Loc loc) {
  if (rank < 1)
    usage_error("operators::randomized_svd",
                "rank is " + std::to_string(rank) + "; ask for one singular value at least", loc);
  if (options.oversample < 0 || options.power_iterations < 0)
    usage_error("operators::randomized_svd",
                "oversample is " + std::to_string(options.oversample) +
                    " and power_iterations is " + std::to_string(options.power_iterations) +
                    "; neither can be negative",
                loc);
  const Dim least = std::min(a.rows(), a.columns());
  const Dim k = std::min(rank, least), sampled = std::min(k + options.oversample, least);
  const Operator t = a.transpose(loc);
  const auto product = [&](const Operator& by, const Array& x) {
    return detail::product(by, x, by.out().dtype(), loc);
  };
  // Bases between products: without them small singular values drown in rounding (algorithm 4.4).
  const Array random = random::normal(std::move(key), {a.columns(), sampled}, a.in().dtype(), loc);
  Array q = linalg::qr(product(a, random)).q;
  const auto power = [&](const Array&, const Array& basis) {
    return linalg::qr(product(a, linalg::qr(product(t, basis)).q)).q;
  };
  if (options.power_iterations > 0)
    q = fori_loop(0, static_cast<std::int32_t>(options.power_iterations), power, q, {}, loc);
  const linalg::Svd small = linalg::svd(transpose(product(t, q)));
  return {matmul(q, slice(small.u, {0, 0}, {sampled, k})), slice(small.s, {0}, {k}),
          slice(small.vt, {0, 0}, {k, a.columns()})};
}

}  // namespace gnomon::operators
