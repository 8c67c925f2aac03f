// shaders/math/f64_elementary.h -- elementary functions of f64, from instructions that every device
// with f64 rounds correctly. Internal to shaders/math; elementary.h is the way in.
//
// Vulkan has no f64 form of any of them. Results are carried as unevaluated sums of two floats
// (twofold.h) up to the last addition, so that little more than its rounding is left: errors stay
// below 1 unit of the last place for most functions and below 2 for all. Device f64 implies
// nothing about 64-bit integers, so bits are taken as pairs of u32 words.
//
// Polynomials without a source interpolate the function at Chebyshev nodes, computed with 60
// digits; their relative errors are below 2^-59.
#pragma once
#include <limits>

#include "shaders/math/twofold.h"

namespace gnomon::math::f64 {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Real64 exp(Real64);
Real64 exp2(Real64);
Real64 expm1(Real64);
Real64 log(Real64);
Real64 log2(Real64);
Real64 log10(Real64);
Real64 log1p(Real64);
Real64 cbrt(Real64);
Real64 pow(Real64 x, Real64 y);

Real64 sin(Real64);
Real64 cos(Real64);
Real64 tan(Real64);
Real64 asin(Real64);
Real64 acos(Real64);
Real64 atan(Real64);
Real64 atan2(Real64 y, Real64 x);

Real64 sinh(Real64);
Real64 cosh(Real64);
Real64 tanh(Real64);
Real64 asinh(Real64);
Real64 acosh(Real64);
Real64 atanh(Real64);

Real64 logistic(Real64);
Real64 erf(Real64);
Real64 erfc(Real64);
Real64 erf_inv(Real64);

// ---- parts that several of them share

/// e^x = 2^n (1 + high + low) with |high| <= ln(2) / 2.
struct Exponential {
  Real n;  // i32
  Real64 high, low;
  /// 1 + high + low.
  Twofold<double> mantissa() const;
};
/// Of x + low for -1100 < x < 1100; NaN comes through.
Exponential exponential(Real64 x, Real64 low);
/// e^(x + low), also out of range.
Real64 exp_of_sum(Real64 x, Real64 low);

/// x = 2^exponent mantissa with sqrt(1/2) <= mantissa < sqrt(2), for finite x > 0.
struct Decomposed {
  Real exponent;  // i32
  Real64 mantissa;
};
Decomposed decompose(Real64 x);

/// log(1 + f) for sqrt(1/2) <= 1 + f < sqrt(2), to 2^-57.
Twofold<double> log_near_one(Real64 f);
/// log(u 2^extra) for finite u > 0; `extra` is an f64.
Real64 log_of_sum(Twofold<double> u, Real64 extra);

}  // namespace gnomon::math::f64

namespace gnomon::math {

/// `narrow` on Reals, or `wide` on Real64s when the operands are f64.
template <class Narrow, class Wide, class... Values>
Value by_type(Builder& b, Narrow narrow, Wide wide, Value first, Values... more) {
  if (b.type(first).scalar != DType::f64) return in_f32(b, narrow, first, more...);
  const Builder::Exactly exactly(b);
  return wide(Real64{&b, first}, Real64{&b, more}...).v;
}

}  // namespace gnomon::math
