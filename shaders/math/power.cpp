// shaders/math/power.cpp -- powers and roots.
#include <cmath>

#include "shaders/math/elementary.h"
#include "shaders/math/f64_elementary.h"
#include "shaders/math/log_exp.h"
#include "shaders/math/precise_log.h"

namespace gnomon::math {
namespace {

Real cbrt_of(Real x) {
  const Real a = magnitude(x);
  const Real subnormal = a < smallest_normal;
  const Real c = select(subnormal, a * 16777216.0f, a);
  // A third of the exponent, within 4 %; each Newton step squares the error.
  Real y = (c.bits(DType::u32) / 3 + 0x2a5119f2).bits(DType::f32);
  for (int step = 0; step < 3; ++step) y = y - (y - c / (y * y)) * 0.333333333f;
  y = select(subnormal, y * 0.00390625f, y);
  const Real regular = a < infinity;
  return select(regular, flip(select(a == 0.0f, 0.0f, y), sign_bit(x)), x);
}

/// a^y for finite a > 0, as 2^n (1 + q): y log(a) to twice the precision, since what it is off
/// counts up to 100-fold.
Real power_of(Real a, Real y) {
  const Floating<float> exponent{y.b, y.v};
  const Twofold<float> product = log_twofold(Floating<float>{a.b, a.v}) * exponent;
  const Real high{a.b, product.high.v}, low{a.b, product.low.v};
  const PreciseExponential e = exponential(within_exponents(high, -105.0f, 90.0f), low);
  return scaled(e.q + 1.0f, e.n);
}

/// The n of a constant exponent that rounds 1/n or -1/n, up to 10; 0 for all others.
int root_of_exponent(Real y) {
  if (!y.b->is_constant(y.v)) return 0;
  const float exponent = std::bit_cast<float>(static_cast<std::uint32_t>(y.b->constant_bits(y.v)));
  for (int n = 3; n <= 10; ++n)
    if (exponent == 1.0f / static_cast<float>(n))
      return n;
    else if (exponent == -1.0f / static_cast<float>(n))
      return -n;
  return 0;
}

/// x^y for y = float(1/n) or float(-1/n): the inverse n-th root by Newton's method, half the work
/// of a logarithm and an exponential. The guess from the exponent's bits is 3 % off; a step leaves
/// (n + 1) / 2 times the square of that.
Real root_power(Real x, Real y, int signed_n) {
  const int n = signed_n < 0 ? -signed_n : signed_n;
  const auto inverse = static_cast<float>(1.0 / n);
  // Or so small that a tenth of it is.
  const Real subnormal = x < 16.0f * smallest_normal;
  // A power of 2^n, so that the root is off by a power of two.
  const int lift = (24 + n - 1) / n;
  const Real a = select(subnormal, x * std::ldexp(1.0f, lift * n), x);
  // log2(a), 0.09 off at most, as a multiple of 2^-23.
  const Real coarse = (a.bits(DType::i32) - 0x3f800000).to(DType::f32);
  // 0.0450466 centres the error of taking the mantissa for its logarithm.
  const float centre = 8388608.0f * 0.0450466f * (1.0f + inverse);
  Real z = ((coarse * -inverse + (1065353216.0f - centre)).to(DType::i32)).bits(DType::f32);
  // a z^n from the left, by powers of z up to the n/2-th, about sqrt(a): nothing leaves the range
  // between a and 1, nor becomes subnormal, which some devices take for 0.
  const auto product_with = [&](Real product) {
    Real power = z;
    for (int rest = n, degree = 1; rest > 0; degree *= 2) {
      if (rest & 1) product = product * power;
      rest >>= 1;
      if (4 * degree <= n) {
        power = power * power;
        continue;
      }
      for (; rest > 0; --rest) product = product * power * power;
    }
    return product;
  };
  const Real share = a * inverse;
  const int steps = n < 8 ? 2 : 3;
  for (int step = 0; step < steps; ++step) z = z * ((1.0f + inverse) - product_with(share));
  // The exponent is not 1/n but the float next to it; the rest counts where the logarithm is large.
  const float exponent = std::bit_cast<float>(static_cast<std::uint32_t>(y.b->constant_bits(y.v)));
  const double off = static_cast<double>(exponent) - (signed_n < 0 ? -1.0 : 1.0) / n;
  const double per_octave = off * 0.69314718055994531;
  const Real of_a = coarse * static_cast<float>(per_octave / 8388608.0);
  const Real rest = select(subnormal, of_a - static_cast<float>(per_octave * lift * n), of_a);
  // The last step adds a small correction, so that only its own rounding is left.
  if (signed_n < 0) {
    z = z + z * ((1.0f - product_with(a)) * inverse + rest);
  } else {
    // For the root r itself: a / r^(n - 1) against r.
    const Real r = 1.0f / z;
    Real power = r;
    for (int k = 2; k < n; ++k) power = power * r;
    z = r + ((a / power - r) * inverse + r * rest);
  }
  z = select(subnormal, z * std::ldexp(1.0f, signed_n < 0 ? lift : -lift), z);
  const Real regular = (x > 0.0f) & (x < infinity);
  const Real at_zero = y.like(exponent < 0 ? infinity : 0.0f),
             at_infinity = y.like(exponent < 0 ? 0.0f : infinity);
  return select(
      regular, z,
      select(x == 0.0f, at_zero, select(magnitude(x) == infinity, at_infinity, y.like(nan))));
}

Real pow_of(Real x, Real y) {
  if (const int n = root_of_exponent(y); n != 0) return root_power(x, y, n);
  const Real a = magnitude(x);
  // y log2(a), within 45 %: the exact value only matters where the result is finite and not zero.
  const Real coarse = (a.bits(DType::i32) - 0x3f800000).to(DType::f32) * (1.0f / 8388608.0f);
  const Real regular_base = (a > 0.0f) & (a < infinity);
  const Real estimate = y * select(regular_base, coarse, select(a == 0.0f, -infinity, a));
  const Real moderate = magnitude(estimate) < 256.0f;
  const Real finite = power_of(select(regular_base, a, 1.0f), select(moderate, y, 0.0f));
  // Zero, infinity, or NaN when an operand is.
  const Real limit = select(estimate > 0.0f, infinity, select(estimate < 0.0f, 0.0f, estimate));
  const Real size = select(a == 1.0f, 1.0f, select(moderate, finite, limit));
  const Real whole = y == apply(Op::trunc, y);
  const Real half = y * 0.5f;
  const Real odd = whole & (half != apply(Op::trunc, half));
  const Real negative = sign_bit(x) != 0;
  const Real with_sign = select(negative & odd, -size, size);
  const Real no_value = (x < 0.0f) & !whole & (a != infinity);
  const Real regular = select(no_value, nan, with_sign);
  return select((x == 1.0f) | (y == 0.0f), 1.0f, regular);
}

}  // namespace

Value cbrt(Builder& b, Value x) { return by_type(b, cbrt_of, f64::cbrt, x); }
Value pow(Builder& b, Value x, Value y) { return by_type(b, pow_of, f64::pow, x, y); }

}  // namespace gnomon::math
