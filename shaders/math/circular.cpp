// shaders/math/circular.cpp -- circular functions and their inverses.
//
// Built like exponential.cpp; the fits are minimax with the relative errors noted.
#include "shaders/math/angle.h"
#include "shaders/math/elementary.h"
#include "shaders/math/f64_elementary.h"
#include "shaders/math/twofold.h"

namespace gnomon::math {
namespace {

constexpr float half_pi = 1.57079633f;
constexpr float half_pi_low = -4.37113883e-08f;  // pi / 2 - half_pi

/// sin(r) for |r| <= pi / 2 and a little more, relative error 6e-9.
Real small_sin(Real r) {
  const Real s = r * r;
  // Of the first coefficient, -1/6, an eighth is taken apart: its product is exact, and the rest
  // small enough for the rounding errors of the sum not to matter.
  const Real p =
      polynomial(s, {-0.04166661202907562f, 0.0083331037f, -0.00019812099f, 2.6108787e-6f});
  return r + r * (s * -0.125f + s * p);
}

Real sin_of(Real x) {
  const Angle t = reduced(magnitude(x), Grid::multiples);
  return flip(small_sin(t.rest), t.odd ^ sign_bit(x));
}

Real cos_of(Real x) {
  // cos(r + (n - 1/2) pi) = -(-1)^n sin(-r).
  const Angle t = reduced(magnitude(x), Grid::odd_halves);
  return flip(small_sin(t.rest), t.odd);
}

Real tan_of(Real x) {
  const Angle t = reduced(magnitude(x), Grid::half_multiples);
  const Real r = t.rest, s = r * r;
  // Relative error 1.5e-9 for |r| <= pi / 4.
  const Real more = r * (s * polynomial(s, {0.33333352f, 0.1333259f, 0.054067317f, 0.021247208f,
                                            0.010919952f, -1.0417150e-05f, 0.0044228216f}));
  const Real y = r + more;
  // The cotangent is corrected by what y lacks, and by what the division lost.
  const Real low = (more - (y - r)) + (t.low + t.low * (y * y));
  const Real inverse = 1.0f / y;
  const Twofold<float> product =
      product_exact(Floating<float>{y.b, inverse.v}, Floating<float>{y.b, y.v});
  const Real missing{y.b, ((1.0f - product.high) - product.low).v};
  const Real cotangent = inverse + inverse * (missing - low * inverse);
  return flip(select(t.odd != 0, -cotangent, y + low), sign_bit(x));
}

/// Up to here a polynomial; beyond, acos(x) < 1 has the unit of asin(x), and their difference from
/// pi / 2 loses nothing.
constexpr float central_sine = 0.56f;

/// asin(x) for |x| <= central_sine, relative error 2e-9.
Real small_asin(Real x) {
  const Real s = x * x;
  return x + x * (s * polynomial(s, {0.16666633f, 0.07502018f, 0.044245705f, 0.033912726f,
                                     0.0070607825f, 0.047104162f}));
}

Real asin_of(Real x) {
  const Real a = magnitude(x);
  const Real outer = small_asin(square_root((1.0f - a) * 0.5f)) * 2.0f;
  const Real y = select(a <= central_sine, small_asin(a), half_pi - (outer - half_pi_low));
  return select(a > 1.0f, nan, flip(y, sign_bit(x)));
}

Real acos_of(Real x) {
  const Real a = magnitude(x);
  const Real outer = small_asin(square_root((1.0f - a) * 0.5f)) * 2.0f;
  const Real inner = half_pi - (small_asin(x) - half_pi_low);
  const Real mirrored = 2.0f * half_pi - (outer - 2.0f * half_pi_low);
  const Real y = select(a <= central_sine, inner, select(x < 0.0f, mirrored, outer));
  return select(a > 1.0f, nan, y);
}

/// atan(t) for 0 <= t <= 1, relative error 2.4e-9.
Real small_atan(Real t) {
  const Real s = t * t;
  return t + t * (s * polynomial(s, {-0.333333015f, 0.199986309f, -0.142651737f, 0.109572329f,
                                     -0.0841851309f, 0.0582189709f, -0.0314405636f, 0.0110564384f,
                                     -0.0018254387f}));
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
