// tests/bench/problems_sde.cpp -- inputs, reference and check of the ensemble of stochastic
// equations.
#include <cmath>
#include <numbers>

#include "checking.h"
#include "problems.h"

namespace bench {
namespace {

/// The x with P(Z < x) = (1 + u) / 2: by Newton's method from a rational first guess.
double normal_of(double u) {
  const double p = 0.5 * (1 - std::abs(u)), t = std::sqrt(-2 * std::log(p));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                     (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int i = 0; i < 2; i++)
    x += (0.5 * std::erfc(x / std::numbers::sqrt2) - p) * std::sqrt(2 * std::numbers::pi) *
         std::exp(0.5 * x * x);
  return u < 0 ? -x : x;
}

}  // namespace

std::vector<float> sde_starts() {
  std::vector<float> starts(OdeSde::paths);
  for (uint32_t i = 0; i < OdeSde::paths; i++)
    starts[i] = 0.5f + static_cast<float>(i) / static_cast<float>(OdeSde::paths);
  return starts;
}

Check sde_check() {
  // Every 97th path; of the others the mean is looked at.
  constexpr size_t stride = 97, n = OdeSde::paths, checked = (n + stride - 1) / stride;
  auto reference = std::make_shared<std::vector<double>>(checked);
  const auto starts = std::make_shared<const std::vector<float>>(sde_starts());
  for_each_index(checked, [&](size_t c) {
    const auto path = static_cast<uint32_t>(c * stride);
    const Words key = threefry({0, OdeSde::seed}, {0, path});
    const double h = static_cast<double>(OdeSde::step);
    double y = static_cast<double>((*starts)[path]);
    for (uint32_t k = 0; k < OdeSde::steps; k++) {
      const auto word = static_cast<int32_t>(threefry(key, {0, k})[0]);
      const double z = normal_of((static_cast<double>(word >> 8) + 0.5) * 0x1p-23);
      y *= 1 + h * static_cast<double>(OdeSde::mu) +
           static_cast<double>(OdeSde::sigma) * std::sqrt(h) * z;
    }
    (*reference)[c] = y;
  });
  return [=](std::span<const float> result) -> Verdict {
    if (result.size() != n) return {false, text("%zu elements instead of %zu", result.size(), n)};
    std::vector<float> some;
    double ratio = 0;
    for (size_t i = 0; i < n; i++) {
      if (i % stride == 0) some.push_back(result[i]);
      ratio += static_cast<double>(result[i]) / static_cast<double>((*starts)[i]) / n;
    }
    // The mean of y(1) / y(0) is (1 + h mu)^steps, its deviation 0.34 / sqrt(n).
    const double mean = std::pow(1 + static_cast<double>(OdeSde::step * OdeSde::mu), OdeSde::steps);
    if (!(std::abs(ratio - mean) < 5 * 0.34 / std::sqrt(static_cast<double>(n))))
      return {false, text("paths grow by %.6f in the mean instead of %.6f", ratio, mean)};
    // Rounding of 128 products, and 5e-7 of each normal number.
    return compare(
        some, checked, [&](size_t i) { return (*reference)[i]; },
        [&](size_t i) { return 3e-5 * std::abs((*reference)[i]); });
  };
}

}  // namespace bench
