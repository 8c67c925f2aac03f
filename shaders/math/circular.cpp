// shaders/math/circular.cpp -- circular functions and their inverses.
//
// Built like exponential.cpp; the fits are minimax with the relative errors noted.
#include "shaders/math/elementary.h"
#include "shaders/math/f64_elementary.h"
#include "shaders/math/real.h"

namespace gnomon::math {
namespace {

// pi = high + middle + low to 1e-13; high and middle have 8 bits each.
constexpr float pi_high = 3.140625f;
constexpr float pi_middle = 0.00096893310546875f;
constexpr float pi_low = -1.279515686292143e-06f;
constexpr float inverse_pi = 0.318309886f;
constexpr float half_pi = 1.57079633f;
constexpr float half_pi_low = -4.37113883e-08f;  // pi / 2 - half_pi

/// Beyond it the products below would round; tan, sin and cos give NaN, a loud answer instead of a
/// wrong one.
constexpr float largest_argument = 1e5f;

/// x - n unit pi for |n| < 2^15 that is a multiple of 1/2, or whole and below 2^16; `unit` is a
/// power of two. All products but the last are exact, and so are all differences, by cancellation.
Real reduced(Real x, Real n, float unit) {
  return x - n * (pi_high * unit) - n * (pi_middle * unit) - n * (pi_low * unit);
}

Real within_range(Real size, Real y) { return select(size < largest_argument, y, nan); }

/// sin(r) for |r| <= pi / 2 and a little more, relative error 6e-9.
Real small_sin(Real r) {
  const Real s = r * r;
  return r + r * (s * polynomial(s, {-0.166666595475f, 0.00833306616498f, -0.000198095965406f,
                                     2.6057657449e-6f}));
}

Real parity(Real n) { return n.to(DType::i32).bits(DType::u32) << 31; }

Real sin_of(Real x) {
  const Real a = magnitude(x);
  const Real n = apply(Op::round_even, a * inverse_pi);
  const Real y = flip(small_sin(reduced(a, n, 1.0f)), parity(n) ^ sign_bit(x));
  return within_range(a, y);
}

Real cos_of(Real x) {
  // cos(r + (k + 1/2) pi) = -(-1)^k sin(r).
  const Real a = magnitude(x);
  const Real k = apply(Op::round_even, a * inverse_pi - 0.5f);
  const Real r = reduced(a, k + 0.5f, 1.0f);
  return within_range(a, flip(small_sin(r), parity(k + 1.0f)));
}

Real tan_of(Real x) {
  const Real a = magnitude(x);
  const Real n = apply(Op::round_even, a * (inverse_pi * 2.0f));
  const Real r = reduced(a, n, 0.5f);
  const Real s = r * r;
  // Relative error 1.8e-8 for |r| <= pi / 4.
  const Real t =
      r + r * (s * polynomial(s, {0.333331568173f, 0.13338800353f, 0.0534112037097f,
                                  0.0244304066478f, 0.00311949352896f, 0.00938565116573f}));
  const Real y = select(parity(n) != 0, -1.0f / t, t);
  return within_range(a, flip(y, sign_bit(x)));
}

/// asin(x) for |x| <= 1/2, relative error 5e-9.
Real small_asin(Real x) {
  const Real s = x * x;
  return x + x * (s * polynomial(s, {0.166667524825f, 0.0749529762821f, 0.0454703775696f,
                                     0.0241795074098f, 0.0421663200995f}));
}

Real asin_of(Real x) {
  const Real a = magnitude(x);
  const Real outer = small_asin(square_root((1.0f - a) * 0.5f)) * 2.0f;
  const Real y = select(a <= 0.5f, small_asin(a), half_pi - (outer - half_pi_low));
  return select(a > 1.0f, nan, flip(y, sign_bit(x)));
}

Real acos_of(Real x) {
  const Real a = magnitude(x);
  const Real outer = small_asin(square_root((1.0f - a) * 0.5f)) * 2.0f;
  const Real inner = half_pi - (small_asin(x) - half_pi_low);
  const Real mirrored = 2.0f * half_pi - (outer - 2.0f * half_pi_low);
  const Real y = select(a <= 0.5f, inner, select(x < 0.0f, mirrored, outer));
  return select(a > 1.0f, nan, y);
}

/// atan(t) for 0 <= t <= 1, relative error 1.7e-8.
Real small_atan(Real t) {
  const Real s = t * t;
  return t + t * (s * polynomial(s, {-0.333331527223f, 0.199937725651f, -0.142110533698f,
                                     0.106659977275f, -0.0755220068166f, 0.0432117106523f,
                                     -0.0163678408519f, 0.00292067152368f}));
}

Real atan_of(Real x) {
  const Real a = magnitude(x);
  const Real steep = a > 1.0f;
  const Real r = small_atan(select(steep, 1.0f / a, a));
  const Real y = select(steep, half_pi - (r - half_pi_low), r);
  return flip(y, sign_bit(x));
}

Real atan2_of(Real y, Real x) {
  const Real ay = magnitude(y), ax = magnitude(x);
  const Real steep = ay > ax;
  const Real larger = select(steep, ay, ax);
  const Real smaller = select(steep, ax, ay);
  // 0 / 0 and inf / inf stand for the ratios 0 and 1.
  const Real ratio =
      select(smaller == larger, select(larger == 0.0f, larger, 1.0f), smaller / larger);
  const Real r = small_atan(ratio);
  const Real quarter = select(steep, half_pi - (r - half_pi_low), r);
  const Real left = sign_bit(x) != 0;
  const Real half = select(left, 2.0f * half_pi - (quarter - 2.0f * half_pi_low), quarter);
  return select(is_nan(x) | is_nan(y), nan, flip(half, sign_bit(y)));
}

}  // namespace

Value sin(Builder& b, Value x) { return by_type(b, sin_of, f64::sin, x); }
Value cos(Builder& b, Value x) { return by_type(b, cos_of, f64::cos, x); }
Value tan(Builder& b, Value x) { return by_type(b, tan_of, f64::tan, x); }
Value asin(Builder& b, Value x) { return by_type(b, asin_of, f64::asin, x); }
Value acos(Builder& b, Value x) { return by_type(b, acos_of, f64::acos, x); }
Value atan(Builder& b, Value x) { return by_type(b, atan_of, f64::atan, x); }
Value atan2(Builder& b, Value y, Value x) { return by_type(b, atan2_of, f64::atan2, y, x); }

}  // namespace gnomon::math
