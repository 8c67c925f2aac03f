// shaders/math/elementary.h -- the one place where elementary functions become kernel instructions.
//
// Every function works on f32 and f64 of any width; f16 and bf16 are computed in f32 and rounded.
//
// Built from operations that every device rounds correctly (and div and sqrt) instead of its
// built-in functions, which are loose: so NaN, infinities and signed zeros come out as in IEEE 754
// and C, and results agree between drivers bit for bit. Accurate to 2 units of the last place over
// the whole range, subnormal operands and results included where the device keeps them; where it
// flushes them they count as zeros of their sign. In f32 every operand was tried: tests/ulp.
#pragma once
#include "shaders/kernel/builder.h"

namespace gnomon::math {

using kernel::Builder;
using kernel::Value;

// Exponentials and logarithms.
Value exp(Builder&, Value);
/// exp(x) for x <= 0 or NaN; unspecified for others.
Value exp_nonpositive(Builder&, Value);
Value exp2(Builder&, Value);
Value expm1(Builder&, Value);
Value log(Builder&, Value);
Value log2(Builder&, Value);
Value log10(Builder&, Value);
Value log1p(Builder&, Value);

// Powers.
Value sqrt(Builder&, Value);
Value rsqrt(Builder&, Value);
Value cbrt(Builder&, Value);
/// As C: x^0 = 1^y = 1 also for NaN; a negative base needs an integer exponent, else NaN.
Value pow(Builder&, Value x, Value y);

// Circular functions. Large arguments are reduced by as many digits of pi as they need.
Value sin(Builder&, Value);
Value cos(Builder&, Value);
Value tan(Builder&, Value);
Value asin(Builder&, Value);
Value acos(Builder&, Value);
Value atan(Builder&, Value);
Value atan2(Builder&, Value y, Value x);

// Hyperbolic functions.
Value sinh(Builder&, Value);
Value cosh(Builder&, Value);
Value tanh(Builder&, Value);
Value asinh(Builder&, Value);
Value acosh(Builder&, Value);
Value atanh(Builder&, Value);

/// sqrt(a^2 + b^2) without overflow or underflow on the way: infinite where either operand is, also
/// beside a NaN.
Value hypot(Builder&, Value a, Value b);

// Error function and friends.
/// 1 / (1 + exp(-x)).
Value logistic(Builder&, Value);
/// log(1 + exp(x)).
Value softplus(Builder&, Value);
/// log(exp(x) + exp(y)). Where the result is a small difference, it is within 2 units of the larger
/// operand.
Value logaddexp(Builder&, Value x, Value y);
Value erf(Builder&, Value);
Value erfc(Builder&, Value);
Value erf_inv(Builder&, Value);
/// In f32 the single-precision polynomial that random normals are defined by, evaluated literally:
/// about 1e-6 from the inverse of erf, and deliberately not nearer. In f64 the inverse of erf.
/// Source: M. Giles, "Approximating the erfinv function", GPU Computing Gems (2011).
Value erf_inv_giles(Builder&, Value);

// To integers: halves to the even neighbour, and towards zero. In f64 by additions: lavapipe's own
// leave doubles from 2^31 on as they are.
Value round_even(Builder&, Value);
Value trunc(Builder&, Value);

// Helpers for any numeric type.
/// -1, 0 or 1; of a float zero itself, and NaN of NaN.
Value sign(Builder&, Value);
/// NaN when either operand is, unlike the instructions `minimum` and `maximum`. Of zeros with
/// different signs either may come back.
Value minimum_nan(Builder&, Value, Value);
Value maximum_nan(Builder&, Value, Value);

// Division with a whole quotient, exact for every pair of floats: remainders are those of the exact
// quotient, quotients of up to 2^24 (f64: 2^53) are that integer and larger ones the nearest float
// to it. A pair whose quotient is larger costs a loop of at most 3 (11) trips, which others skip.
/// What is left of the quotient rounded towards zero; as C's fmod, with the sign of a. Floats only.
Value fmod(Builder&, Value a, Value b);
/// trunc(a / b); of floats b = 0 and a = infinity give a / b. Integer b = 0 gives all bits set.
Value trunc_div(Builder&, Value a, Value b);
/// floor(a / b), of floats as NumPy: b = 0 gives a / b, other infinities a NaN. Integer b = 0 gives
/// all bits set.
Value floor_div(Builder&, Value a, Value b);
/// a - floor(a / b) b: the sign of the divisor, zeros included; rounded where a and b have
/// different signs. Integer b = 0 gives a.
Value floor_mod(Builder&, Value a, Value b);

}  // namespace gnomon::math
