// codegen/primitives/elementwise/special_host.cpp -- see special_host.h.
#include "codegen/primitives/elementwise/special_host.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
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

namespace {

/// Where neither function has a value, and where P is 0 or 1.
std::optional<Real> lower_at_the_ends(Real a, Real x) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x)))
    return not_a_number;
  if (a == 0 || std::isinf(x)) return 1;
  if (x == 0 || std::isinf(a)) return 0;
  return std::nullopt;
}

/// x^a e^-x / gamma(a).
Real weight(Real a, Real x) { return std::exp(a * std::log(x) - x - std::lgamma(a)); }

/// P or Q and its derivative in a.
struct WithSlope {
  Real value, slope;
};

/// P by its power series, term by term.
WithSlope by_series(Real a, Real x) {
  const Real slope = std::log(x) - digamma(a);
  Real term = weight(a, x) / a, logarithm = slope - 1 / a;  // d log(term) / da
  WithSlope sum{term, term * logarithm};
  for (Real k = 1; k < 1e7L; k += 1) {
    term *= x / (a + k);
    logarithm -= 1 / (a + k);
    sum = {sum.value + term, sum.slope + term * logarithm};
    if (a + k > x && term < sum.value * 1e-21L) break;
  }
  return sum;
}

/// Q for x > a + 1, by the continued fraction from far behind to its front.
WithSlope by_fraction(Real a, Real x) {
  WithSlope tail{0, 0};
  const auto behind = [&](int k) {
    return WithSlope{x + 2 * k + 1 - a - tail.value, -1 - tail.slope};
  };
  for (int k = 4000; k > 0; --k) {
    const WithSlope below = behind(k);
    const Real value = k * (k - a) / below.value;
    tail = {value, (-k - value * below.slope) / below.value};
  }
  const WithSlope below = behind(0);
  const Real value = weight(a, x) / below.value;
  return {value, value * (std::log(x) - digamma(a) - below.slope / below.value)};
}

}  // namespace

// Source: NIST Digital Library of Mathematical Functions, 8.7.1 and 8.9.2.
Real gammainc(Real a, Real x) {
  if (const auto end = lower_at_the_ends(a, x)) return *end;
  return x > a + 1 ? 1 - by_fraction(a, x).value : by_series(a, x).value;
}
Real gammaincc(Real a, Real x) {
  if (const auto end = lower_at_the_ends(a, x)) return 1 - *end;
  return x > a + 1 ? by_fraction(a, x).value : 1 - by_series(a, x).value;
}
Real gammainc_da(Real a, Real x) {
  const auto end = lower_at_the_ends(a, x);
  if (a == 0 || (end && std::isnan(*end))) return not_a_number;
  if (end) return 0;
  return x > a + 1 ? -by_fraction(a, x).slope : by_series(a, x).slope;
}
Real gamma_density(Real a, Real x) {
  const auto end = lower_at_the_ends(a, x);
  if (end && std::isnan(*end)) return not_a_number;
  if (a == 0 || std::isinf(a) || std::isinf(x)) return 0;
  if (x == 0) return a < 1 ? inf : a == 1 ? 1 : 0;
  return std::exp((a - 1) * std::log(x) - x - std::lgamma(a));
}

Real betaln(Real a, Real b) {
  if (!(a >= 0) || !(b >= 0)) return not_a_number;
  if (a == 0 || b == 0) return inf;
  if (std::isinf(a) || std::isinf(b)) return -inf;
  return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
}

// Source: NIST Digital Library of Mathematical Functions, 8.17.22, from far behind to the front.
Real betainc(Real a, Real b, Real x) {
  if (!(a >= 0) || !(b >= 0) || !(x >= 0) || x > 1) return not_a_number;
  if ((a == 0 && b == 0) || (std::isinf(a) && std::isinf(b))) return not_a_number;
  if (x == 0 || x == 1) return x;
  if (b == 0 || std::isinf(a)) return 0;
  if (a == 0 || std::isinf(b)) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betainc(b, a, 1 - x);
  Real tail = 1;
  for (int m = 2000; m >= 0; --m) {
    const Real p = a + 2 * m;
    if (m < 2000) tail = 1 + (m + 1) * (b - m - 1) * x / ((p + 1) * (p + 2)) / tail;
    tail = 1 - (a + m) * (a + b + m) * x / (p * (p + 1)) / tail;
  }
  return std::exp(a * std::log(x) + b * std::log1p(-x) - betaln(a, b)) / (a * tail);
}

// Source: NIST Digital Library of Mathematical Functions, 10.25.2 and 10.40.1.
Real scaled_bessel(int order, Real x) {
  const Real a = std::fabs(x), sign = order == 1 && x < 0 ? -1 : 1;
  if (a < 40) {
    Real term = order == 1 ? x / 2 : 1, sum = term;
    for (int k = 1; k < 200; ++k) {
      term *= a / 2 * (a / 2) / (static_cast<Real>(k) * (k + order));
      sum += term;
    }
    return sum * std::exp(-a);
  }
  Real term = 1, sum = 1;
  for (int k = 1; k < 30; ++k) {
    const int odd = 2 * k - 1;
    term *= -(4.0L * order - odd * odd) / (8 * k * a);
    sum += term;
  }
  return sign * sum / std::sqrt(2 * pi * a);
}

Real bessel(int order, Real x) {
  if (std::isinf(x)) return order == 0 ? std::fabs(x) : x;
  return scaled_bessel(order, x) * std::exp(std::fabs(x));
}

}  // namespace gnomon::host
