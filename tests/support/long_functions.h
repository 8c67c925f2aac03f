// tests/support/long_functions.h -- functions that C++ does not have, in long double. Where that
// has 64 bits of precision they are right to a few hundredths of a unit of f64.
//
// NaN says that the value is not known to that precision: poles, ends, and where terms cancel.
#pragma once
#include <math.h>

#include <cmath>
#include <limits>

namespace gnomon::testing {

inline constexpr long double unknown = std::numeric_limits<long double>::quiet_NaN();
inline constexpr long double long_pi = 3.14159265358979323846264338327950288L;

inline long double long_rsqrt(long double x) { return 1 / std::sqrt(x); }
inline long double long_logistic(long double x) { return 1 / (1 + std::exp(-x)); }

inline long double long_lgamma(long double x) {
  int sign = 0;
  return ::lgammal_r(x, &sign);  // without the global variable of std::lgamma
}

/// Source: NIST Digital Library of Mathematical Functions, 5.5.2, 5.5.4 and 5.11.2.
inline long double long_digamma(long double x) {
  if (x == 0 || !std::isfinite(x)) return unknown;
  const long double a = x < 0 ? 1 - x : x;
  const int steps = a < 20 ? static_cast<int>(std::ceil(20 - a)) : 0;
  const long double w = a + steps;
  long double below = 0;
  for (int k = steps; k-- > 0;) below += 1 / (a + k);  // the small ones first
  // B(2 k) / (2 k), k = 1 to 9.
  constexpr long double c[] = {1.0L / 12,   -1.0L / 120,     1.0L / 252,
                               -1.0L / 240, 1.0L / 132,      -691.0L / 32760,
                               1.0L / 12,   -3617.0L / 8160, 43867.0L / 14364};
  const long double z = 1 / (w * w);
  long double tail = 0;
  for (int k = 8; k >= 0; --k) tail = z * (c[k] + tail);
  const long double right = ((std::log(w) - 0.5L / w) - tail) - below;
  if (x > 0) return std::fabs(right) < 0.25L ? unknown : right;
  const long double r = x - std::nearbyint(x);
  return r == 0 ? unknown : right - long_pi * std::cos(long_pi * r) / std::sin(long_pi * r);
}

/// Halley's method on erf, or on erfc where erf has no digits left, from S. Winitzki, "A handy
/// approximation for the error function and its inverse" (2008), which errs by less than 0.3 %.
inline long double long_erf_inv(long double x) {
  const long double a = std::fabs(x);
  if (!(a > 0 && a < 1)) return unknown;
  constexpr long double k = 0.147L, half_root_pi = 0.886226925452758013649083741670572591L;
  const long double l = std::log((1 - a) * (1 + a)), t = 2 / (long_pi * k) + l / 2;
  long double y = a < 0.01L ? a * half_root_pi : std::sqrt(std::sqrt(t * t - l / k) - t);
  for (int step = 0; step < 3; ++step) {
    const long double e = a < 0.5L ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const long double u = e * half_root_pi * std::exp(y * y);
    y -= u / (1 + y * u);
  }
  return std::copysign(y, x);
}

}  // namespace gnomon::testing
