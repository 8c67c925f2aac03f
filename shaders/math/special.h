// shaders/math/special.h -- special functions as kernel instructions, in f32 and f64; f16 and bf16
// are computed in f32 and rounded.
//
// Poles and ends of the domain are those of SciPy. "Units" are units of the last place.
#pragma once
#include "shaders/kernel/builder.h"

namespace gnomon::math {

using kernel::Builder;
using kernel::Value;

/// log |gamma(x)|. Within 2 units for x > 0, and within 2 units of max(1, |result|) for x < 0.
/// Infinity at 0, -1, -2, ... and at both infinities.
Value lgamma(Builder&, Value x);

/// The derivative of log gamma. Within 2 units for x > 0, its zero 1.46163... included, and within
/// 2 units of max(1, |result|) for x < 0. Minus infinity at 0 (infinity at -0), NaN at -1, -2, ...
/// and at minus infinity.
Value digamma(Builder&, Value x);

/// The n-th derivative of digamma, 1 <= n <= max_polygamma_order + 1. A few n units for x > 0; for
/// x < 0 by reflection, with an error of that size relative to the larger of the two terms.
/// Infinite at 0, -1, -2, ...
Value polygamma(Builder&, int n, Value x);
inline constexpr int max_polygamma_order = 30;

/// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P for a, x >= 0. Relative
/// error of the smaller one 1e-12 in f64 and 1e-5 in f32 (most are within 100 units); the other is
/// its difference from 1. P(0, x) = 1 and P(a, 0) = 0; NaN for negative arguments, P(0, 0) and
/// P(inf, inf).
Value gammainc(Builder&, Value a, Value x);
Value gammaincc(Builder&, Value a, Value x);

/// dP(a, x) / da. The regions of P, their series, continued fraction and asymptotic expansion
/// differentiated term by term. Error relative to the largest term about that of P.
Value gammainc_da(Builder&, Value a, Value x);

/// dP(a, x) / dx = x^(a - 1) e^-x / gamma(a): the density of the gamma distribution.
Value gamma_density(Builder&, Value a, Value x);

/// The modified Bessel functions of the first kind I_0 and I_1, within 8 units, and the same times
/// e^-|x|, within 4.
Value i0(Builder&, Value x);
Value i1(Builder&, Value x);
Value i0e(Builder&, Value x);
Value i1e(Builder&, Value x);

/// log(gamma(a) gamma(b) / gamma(a + b)) for a, b >= 0, within 2 units of max(1, |result|). NaN for
/// negative arguments, infinity where one is 0.
Value betaln(Builder&, Value a, Value b);

/// The regularised incomplete beta function I_x(a, b) for a, b >= 0 and 0 <= x <= 1. The smaller of
/// it and its complement has a relative error of 1e-12 in f64 and 1e-5 in f32 for 0.01 <= a, b <=
/// 1000, growing in proportion beyond; from a = b = 1e6 on its continued fraction is cut off near x
/// = 1/2. I_x(0, b) = 1 and I_x(a, 0) = 0 inside the interval; NaN outside and for a = b = 0.
Value betainc(Builder&, Value a, Value b, Value x);

}  // namespace gnomon::math
