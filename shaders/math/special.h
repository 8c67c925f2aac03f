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
/// 4 units of max(1, log |x|, |result|) for x < 0. Minus infinity at 0 (infinity at -0), NaN at
/// -1, -2, ... and at minus infinity.
Value digamma(Builder&, Value x);

/// The n-th derivative of digamma, 1 <= n <= max_polygamma_order + 1. A few n units for x > 0; for
/// x < 0 by reflection, with an error of that size relative to the larger of the two terms.
/// Infinite at 0, -1, -2, ...
Value polygamma(Builder&, int n, Value x);
inline constexpr int max_polygamma_order = 30;

}  // namespace gnomon::math
