// shaders/math/exponential.cpp -- exponentials, logarithms, powers and hyperbolic functions.
//
// Built from operations that are correctly rounded on every device (add, mul, round_even, bits)
// plus div and sqrt. Polynomials without a source are minimax fits made for this file (Remez, 40
// digits).
#include <cmath>

#include "shaders/math/elementary.h"
#include "shaders/math/f64_elementary.h"
#include "shaders/math/real.h"

namespace gnomon::math {
namespace {

constexpr float log2_e = 1.44269504f;
// ln 2 = high + low; products of `high` (12 bits) with exponents are exact.
constexpr float ln2_high = 0.693115234375f;
constexpr float ln2_low = 3.194618329871446e-05f;

/// 2^n for integers -126 <= n <= 127.
Real power_of_two(Real n) { return ((n + 127) << 23).bits(DType::f32); }

/// x times 2^n where both x and the result are normal.
Real scaled(Real x, Real n) { return (x.bits(DType::i32) + (n << 23)).bits(DType::f32); }

/// e^r - 1 for |r| <= ln(2) / 2.
Real small_expm1(Real r) {
  // (e^r - 1 - r) / r^2; relative error of the whole 1.4e-8.
  return r + r * r *
                 polynomial(r, {0.499999980991f, 0.166665411947f, 0.0416672104141f,
                                0.00836684659715f, 0.00138824570837f});
}

/// e^x = 2^n (1 + q).
struct Exponential {
  Real n;  // i32; of no meaning when x is NaN or huge
  Real q;
};

Exponential exponential(Real x) {
  const Real n = apply(Op::round_even, x * log2_e);
  const Real r = x - n * ln2_high - n * ln2_low;
  return {n.to(DType::i32), small_expm1(r)};
}

/// 2^x, given as `y` where it is normal; 0 below, and inf above, `x` being what decides. NaN of
/// NaN.
Real within_exponents(Real x, float lowest, float highest, Real y) {
  constexpr float largest = 3.40282347e38f;
  return select(x <= highest, select(x < lowest, 0.0f, y), x * largest);
}

/// 2^power e^x for power 0 or -1; subnormal results are 0.
Real exp_times(Real x, int power) {
  const Exponential e = exponential(x);
  const Real y = scaled(e.q + 1.0f, e.n + power);
  const float shift = power == 0 ? 0.0f : 0.693147181f;
  return within_exponents(x, -87.336544f + shift, 88.722839f + shift, y);
}

Real exp_of(Real x) { return exp_times(x, 0); }

/// 2^(x + n) for |x| <= 1/2 and an i32 n, where that is normal.
Real exp2_times(Real x, Real n) { return scaled(small_expm1(x * 0.693147181f) + 1.0f, n); }

Real exp2_of(Real x) {
  const Real whole = apply(Op::round_even, x);
  const Real y = exp2_times(x - whole, whole.to(DType::i32));
  return within_exponents(x, -126.0f, 127.99999f, y);
}

Real expm1_of(Real x) {
  const Exponential e = exponential(x);
  const Real power = power_of_two(e.n);
  const Real y = power * e.q + (power - 1.0f);
  const Real tail = select(x > 20.0f, exp_of(x), -1.0f);  // one of them is the answer out there
  return select(x > 20.0f, tail, select(x < -20.0f, tail, select(x == 0.0f, x, y)));
}

/// log(x) = exponent ln 2 + log(1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
struct Logarithm {
  Real exponent;  // f32
  Real mantissa;  // log(1 + f)
};

/// Any x > 0.
Logarithm logarithm(Real x) {
  constexpr float smallest_normal = 1.17549435e-38f;
  const Real subnormal = x < smallest_normal;
  const Real normal = select(subnormal, x * 8388608.0f, x);
  constexpr int root_half = 0x3f3504f3;
  const Real offset = normal.bits(DType::i32) - root_half;
  const Real exponent = (offset >> 23).to(DType::f32);
  const Real f = ((offset & 0x7fffff) + root_half).bits(DType::f32) - 1.0f;
  const Real s = f / (f + 2.0f);
  const Real z = s * s;
  // log((1 + s) / (1 - s)) = 2 s + s R, and 2 s = f - s f: written so that f stays exact.
  const Real r = z * polynomial(z, {0.666666667f, 0.4f, 0.285714286f, 0.222222222f});
  return {select(subnormal, exponent - 23.0f, exponent), f - s * (f - r)};
}

/// Replaces what `logarithm` makes of zero, negative numbers, infinity and NaN.
Real with_special_logs(Real x, Real y) {
  const Real finite = select(x < infinity, y, x);
  return select(x < 0.0f, nan, select(x == 0.0f, -infinity, finite));
}

Real log_of(Real x) {
  const Logarithm l = logarithm(x);
  return with_special_logs(x, l.exponent * ln2_high + (l.exponent * ln2_low + l.mantissa));
}

Real log2_of(Real x) {
  const Logarithm l = logarithm(x);
  return with_special_logs(x, l.exponent + l.mantissa * log2_e);
}

Real log10_of(Real x) {
  const Logarithm l = logarithm(x);
  // log10(2) = high + low as above.
  const Real low = l.exponent * 4.605039066518657e-06f + l.mantissa * 0.434294482f;
  return with_special_logs(x, l.exponent * 0.301025390625f + low);
}

Real log1p_of(Real x) {
  const Real u = x + 1.0f;
  // What the rounding of 1 + x lost, carried through the derivative.
  const Real lost = (x - (u - 1.0f)) / u;
  const Real y = log_of(u) + lost;
  const Real regular = select(x == 0.0f, x, select(x < infinity, y, x));
  return select(u == 0.0f, -infinity, regular);
}

Real cbrt_of(Real x) {
  constexpr float smallest_normal = 1.17549435e-38f;
  const Real a = magnitude(x);
  const Real subnormal = a < smallest_normal;
  const Real c = select(subnormal, a * 16777216.0f, a);
  // A third of the exponent, within 4 %; each Newton step squares the error.
  Real y = (c.bits(DType::u32) / 3 + 0x2a5119f2).bits(DType::f32);
  for (int step = 0; step < 3; ++step) y = y - (y - c / (y * y)) * 0.333333333f;
  y = select(subnormal, y * 0.00390625f, y);
  const Real regular = a < infinity;
  return select(regular, select(a == 0.0f, x, flip(y, sign_bit(x))), x);
}

/// a^y for a >= 0, but for NaN where C has 1.
Real power_of(Real a, Real y) {
  // y log2(a) as a whole number and a rest: the product with the exponent is exact in two parts.
  const Logarithm l = logarithm(a);
  const Real high = (y.bits(DType::u32) & static_cast<int>(0xfffff000u)).bits(DType::f32);
  const Real product = high * l.exponent;
  const Real rest = (y - high) * l.exponent + y * (l.mantissa * log2_e);
  const Real whole = apply(Op::round_even, product);
  const Real fraction = product - whole + rest;
  const Real more = apply(Op::round_even, fraction);
  const Real size = exp2_times(fraction - more, (whole + more).to(DType::i32));
  return within_exponents(y * log2_of(a), -126.0f, 127.99999f, size);
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
  constexpr float smallest_normal = 1.17549435e-38f;
  const int n = signed_n < 0 ? -signed_n : signed_n;
  const auto inverse = static_cast<float>(1.0 / n);
  const Real subnormal = x < smallest_normal;
  const Real a = select(subnormal, x * 16777216.0f, x);
  // log2(a), 0.09 off at most, as a multiple of 2^-23.
  const Real coarse = (a.bits(DType::i32) - 0x3f800000).to(DType::f32);
  // 0.0450466 centres the error of taking the mantissa for its logarithm.
  const float centre = 8388608.0f * 0.0450466f * (1.0f + inverse);
  Real z = ((coarse * -inverse + (1065353216.0f - centre)).to(DType::i32)).bits(DType::f32);
  // a z^n from the left, so that no partial product leaves the range between a and 1.
  const auto product_with = [&](Real product) {
    Real power = z;
    for (int rest = n; rest > 0; rest >>= 1) {
      if (rest & 1) product = product * power;
      if (rest > 1) power = power * power;
    }
    return product;
  };
  const Real share = a * inverse;
  for (int step = 0; step < 2; ++step) z = z * ((1.0f + inverse) - product_with(share));
  // The last step adds a small correction, so that only its own rounding is left.
  z = z + z * ((1.0f - product_with(a)) * inverse);
  // The exponent is not 1/n but the float next to it; the rest counts where the logarithm is large.
  const float exponent = std::bit_cast<float>(static_cast<std::uint32_t>(y.b->constant_bits(y.v)));
  const double off = static_cast<double>(exponent) - (signed_n < 0 ? -1.0 : 1.0) / n;
  z = signed_n < 0 ? z : 1.0f / z;
  z = z + z * (coarse * static_cast<float>(off * 0.69314718055994531 / 8388608.0));
  const auto scale = static_cast<float>(std::exp2(-24.0 * exponent));
  z = select(subnormal, z * scale, z);
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
  const Real size = select(a == 1.0f, 1.0f, power_of(a, y));
  const Real whole = y == apply(Op::trunc, y);
  const Real half = y * 0.5f;
  const Real odd = whole & (half != apply(Op::trunc, half));
  const Real negative = sign_bit(x) != 0;
  const Real with_sign = select(negative & odd, -size, size);
  const Real no_value = (x < 0.0f) & !whole & (a != infinity);
  const Real regular = select(no_value, nan, with_sign);
  return select((x == 1.0f) | (y == 0.0f), 1.0f, regular);
}

Real sinh_of(Real x) {
  const Real a = magnitude(x);
  const Real t = expm1_of(a);
  const Real half = exp_times(a, -1);
  const Real y = select(a < 1.0f, (t + t / (t + 1.0f)) * 0.5f, half - 0.25f / half);
  return flip(y, sign_bit(x));
}

Real cosh_of(Real x) {
  const Real half = exp_times(magnitude(x), -1);
  return half + 0.25f / half;
}

Real tanh_of(Real x) {
  const Real a = magnitude(x);
  const Real t = expm1_of(a * 2.0f);
  const Real y = select(a > 10.0f, 1.0f, t / (t + 2.0f));
  return flip(y, sign_bit(x));
}

Real asinh_of(Real x) {
  const Real a = magnitude(x);
  const Real squared = a * a;
  const Real inner = log1p_of(a + squared / (square_root(squared + 1.0f) + 1.0f));
  const Real y = select(a < 1e9f, inner, log_of(a) + 0.693147181f);
  return flip(y, sign_bit(x));
}

Real acosh_of(Real x) {
  const Real t = x - 1.0f;
  const Real inner = log1p_of(t + square_root(t * 2.0f + t * t));
  const Real y = select(x < 1e9f, inner, log_of(x) + 0.693147181f);
  return select(x < 1.0f, nan, y);
}

Real atanh_of(Real x) {
  const Real a = magnitude(x);
  return flip(log1p_of(a * 2.0f / (1.0f - a)) * 0.5f, sign_bit(x));
}

Real logistic_of(Real x) { return 1.0f / (exp_of(-x) + 1.0f); }

Real erf_inv_of(Real x) {
  const Real w = -log1p_of(-(x * x));
  const Real central = w < 5.0f;
  const Real t = select(central, w - 2.5f, square_root(w) - 3.0f);
  constexpr float coefficients[9][2] = {
      {2.81022636e-08f, -0.000200214257f}, {3.43273939e-07f, 0.000100950558f},
      {-3.5233877e-06f, 0.00134934322f},   {-4.39150654e-06f, -0.00367342844f},
      {0.00021858087f, 0.00573950773f},    {-0.00125372503f, -0.0076224613f},
      {-0.00417768164f, 0.00943887047f},   {0.246640727f, 1.00167406f},
      {1.50140941f, 2.83297682f}};
  const auto coefficient = [&](int k) {
    return select(central, x.like(coefficients[k][0]), x.like(coefficients[k][1]));
  };
  Real p = coefficient(0);
  for (int k = 1; k < 9; ++k) p = p * t + coefficient(k);
  return select(magnitude(x) == 1.0f, x * infinity, p * x);
}

/// erfc(a) for a >= 1/2: e^(-a^2) t P(t) with t = 1 / (1 + a / 2).
Real erfc_tail(Real a) {
  // Fit for 1/2 <= a <= 10.5, relative error 1e-8; beyond, erfc is below the smallest subnormal.
  const Real t = 1.0f / (a * 0.5f + 1.0f);
  const Real p = polynomial(
      t, {0.282077578421f, 0.282550871445f, 0.241677830139f, 0.208860087057f, -0.0421669460928f,
          0.301250693089f, -0.506996720078f, 0.293205614228f, -0.0604467731302f});
  // Rounding a^2 would cost a^2 units: the square of the upper half of `a` is exact.
  const Real high = (a.bits(DType::u32) & static_cast<int>(0xfffff000u)).bits(DType::f32);
  const Real gaussian = exp_of(-(high * high)) * exp_of((high - a) * (high + a));
  return select(a > 10.5f, 0.0f, gaussian * t * p);
}

/// erf(x) for |x| <= 1, relative error 1.2e-9.
Real erf_center(Real x) {
  return x *
         polynomial(x * x, {1.12837916573f, -0.376126258243f, 0.112835851499f, -0.0268538119877f,
                            0.00518832778431f, -0.00080101944751f, 7.85386409972e-5f});
}

Real erf_of(Real x) {
  const Real a = magnitude(x);
  return select(a < 1.0f, erf_center(x), flip(1.0f - erfc_tail(a), sign_bit(x)));
}

Real erfc_of(Real x) {
  const Real a = magnitude(x);
  const Real tail = erfc_tail(a);
  // Below one half 1 - erf loses nothing; between there and 1 it would lose a bit or two.
  return select(a < 0.5f, 1.0f - erf_center(x), select(x < 0.0f, 2.0f - tail, tail));
}

}  // namespace

Value exp(Builder& b, Value x) { return by_type(b, exp_of, f64::exp, x); }
Value exp2(Builder& b, Value x) { return by_type(b, exp2_of, f64::exp2, x); }
Value expm1(Builder& b, Value x) { return by_type(b, expm1_of, f64::expm1, x); }
Value log(Builder& b, Value x) { return by_type(b, log_of, f64::log, x); }
Value log2(Builder& b, Value x) { return by_type(b, log2_of, f64::log2, x); }
Value log10(Builder& b, Value x) { return by_type(b, log10_of, f64::log10, x); }
Value log1p(Builder& b, Value x) { return by_type(b, log1p_of, f64::log1p, x); }
Value cbrt(Builder& b, Value x) { return by_type(b, cbrt_of, f64::cbrt, x); }
Value pow(Builder& b, Value x, Value y) { return by_type(b, pow_of, f64::pow, x, y); }
Value sinh(Builder& b, Value x) { return by_type(b, sinh_of, f64::sinh, x); }
Value cosh(Builder& b, Value x) { return by_type(b, cosh_of, f64::cosh, x); }
Value tanh(Builder& b, Value x) { return by_type(b, tanh_of, f64::tanh, x); }
Value asinh(Builder& b, Value x) { return by_type(b, asinh_of, f64::asinh, x); }
Value acosh(Builder& b, Value x) { return by_type(b, acosh_of, f64::acosh, x); }
Value atanh(Builder& b, Value x) { return by_type(b, atanh_of, f64::atanh, x); }
Value logistic(Builder& b, Value x) { return by_type(b, logistic_of, f64::logistic, x); }
Value erf(Builder& b, Value x) { return by_type(b, erf_of, f64::erf, x); }
Value erfc(Builder& b, Value x) { return by_type(b, erfc_of, f64::erfc, x); }
Value erf_inv(Builder& b, Value x) { return by_type(b, erf_inv_of, f64::erf_inv, x); }

}  // namespace gnomon::math
