// shaders/math/log_exp.h -- exponentials and logarithms of f32 in parts, for the functions made of
// them. Internal to shaders/math; defined in exponential.cpp.
#pragma once
#include "shaders/math/real.h"

namespace gnomon::math {

inline constexpr float log2_e = 1.44269504f;
inline constexpr float smallest_normal = std::numeric_limits<float>::min();
// ln 2 = high + low; products of `high` (12 bits) with exponents are exact.
inline constexpr float ln_two_high = 0.693115234375f;
inline constexpr float ln_two_low = 3.194618329871446e-05f;

/// x 2^n for 1/2 <= |x| <= 2 and i32 n, -180 <= n <= 200: in two products, of which the last alone
/// may round (to a subnormal number), overflow or vanish.
Real scaled(Real x, Real n);

/// e^r - 1 for |r| <= ln(2) / 2, to 5e-9 of e^r.
Real small_expm1(Real r);

/// e^x = 2^n (1 + q).
struct Exponential {
  Real n;  // i32; of no meaning when x is NaN or huge
  Real q;
};
Exponential exponential(Real x);

/// e^(x + low) = 2^n (1 + q + lost), for a `low` of at most 1: `q` is rounded once, and `lost` is
/// what that lost.
struct PreciseExponential {
  Real n;
  Real q, lost;
};
PreciseExponential exponential(Real x, Real low);

/// The value of x where e^x is between zero and infinity: out there a bound that is out there too.
/// NaN stays.
Real within_exponents(Real x, float lowest, float highest);

Real exp_of(Real x);
/// The same for x >= 0 where whatever is beyond e^40 will do.
Real exp_of_moderate(Real x);
/// e^x / 2, which is finite a little longer.
Real half_exp(Real x);
Real expm1_of(Real x);

/// log(x) = exponent ln 2 + f - less, where 1 + f is in [sqrt(1/2), sqrt(2)), f is exact and
/// |less| < 0.2 |f|.
struct Logarithm {
  Real exponent;  // f32
  Real f, less;
};
/// Any x > 0.
Logarithm logarithm(Real x);

Real log_of(Real x);
Real log1p_of(Real x);

}  // namespace gnomon::math
