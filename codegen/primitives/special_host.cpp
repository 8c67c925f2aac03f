// codegen/primitives/special_host.cpp -- see special_host.h.
#include "codegen/primitives/special_host.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace gnomon::host {
namespace {

using Real = long double;

constexpr Real inf = std::numeric_limits<Real>::infinity();
constexpr Real not_a_number = std::numeric_limits<Real>::quiet_NaN();
constexpr Real pi = std::numbers::pi_v<Real>;

/// B_2, B_4, ..., B_20.
constexpr Real bernoulli[] = {1.0L / 6,       -1.0L / 30,      1.0L / 42, -1.0L / 30,
                              5.0L / 66,      -691.0L / 2730,  7.0L / 6,  -3617.0L / 510,
                              43867.0L / 798, -174611.0L / 330};

/// cot(pi x) by the distance to the nearest integer.
Real cot_pi(Real x) {
  const Real r = x - std::nearbyint(x);
  return std::cos(pi * r) / std::sin(pi * r);
}

}  // namespace

// Source: NIST Digital Library of Mathematical Functions, 5.5.2, 5.5.4 and 5.11.2.
Real digamma(Real x) {
  if (std::isnan(x)) return x;
  if (x == 0) return std::copysign(inf, -x);
  if (std::isinf(x)) return x > 0 ? x : not_a_number;
  if (x < 0) return x == std::floor(x) ? not_a_number : digamma(1 - x) - pi * cot_pi(x);
  Real below = 0;
  for (; x < 30; x += 1) below += 1 / x;
  Real sum = 0, power = 1;
  for (int k = 1; k <= 10; ++k) {
    power /= x * x;
    sum += bernoulli[k - 1] / (2 * k) * power;
  }
  return std::log(x) - 1 / (2 * x) - sum - below;
}

// Source: NIST Digital Library of Mathematical Functions, 5.15.6 and 5.15.8.
Real polygamma(int n, Real x) {
  const Real sign = n % 2 == 0 ? -1 : 1;
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? sign * 0 : not_a_number;
  if (x <= 0 && x == std::floor(x)) return sign * inf;
  if (x < 0) {
    // d/dx cot = -(1 + cot^2): polynomials in the cotangent.
    std::vector<Real> p{0, 1};
    for (int k = 0; k < n; ++k) {
      std::vector<Real> next(p.size() + 1, 0.0L);
      for (std::size_t i = 1; i < p.size(); ++i) {
        next[i - 1] -= static_cast<Real>(i) * p[i];
        next[i + 1] -= static_cast<Real>(i) * p[i];
      }
      p = next;
    }
    Real value = 0;
    for (std::size_t i = p.size(); i-- > 0;) value = value * cot_pi(x) + p[i];
    return -sign * polygamma(n, 1 - x) - std::pow(pi, n + 1) * value;
  }
  Real factorial = 1;  // (n - 1)!
  for (int k = 2; k < n; ++k) factorial *= k;
  Real below = 0;
  for (; x < 40 + n; x += 1) below += std::pow(x, -(n + 1));
  Real sum = factorial * std::pow(x, -n) + factorial * n / 2 * std::pow(x, -(n + 1));
  Real rising = factorial;  // (2 k + n - 1)! / (2 k)!
  for (int k = 1; k <= 10; ++k) {
    rising *= static_cast<Real>(2 * k + n - 2) * (2 * k + n - 1) / ((2 * k - 1) * (2.0L * k));
    sum += bernoulli[k - 1] * rising * std::pow(x, -(2 * k + n));
  }
  return sign * (sum + below * factorial * n);
}

}  // namespace gnomon::host
