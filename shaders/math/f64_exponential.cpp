// shaders/math/f64_exponential.cpp -- f64 exponentials, logarithms and powers.
#include <cmath>

#include "shaders/math/f64_elementary.h"
#include "shaders/math/precise_log.h"

namespace gnomon::math::f64 {
namespace {

constexpr TwofoldConstant<double> ln2{0.6931471805599453, 2.3190468138462996e-17};
// 41 bits: products with exponents are exact.
constexpr double ln2_high = 0.693147180559663, ln2_low = 2.8235290563031577e-13;

/// e^r - 1 - r for |r| <= ln(2) / 2.
Real64 expm1_tail(Real64 r) {
  return r * r *
         polynomial(r, {0.5, 0.16666666666666666, 0.04166666666666668, 0.008333333333333333,
                        0.0013888888888879073, 0.00019841269841263298, 2.4801587336442236e-05,
                        2.755731924721873e-06, 2.75572632790885e-07, 2.505207109429355e-08,
                        2.0918137737642736e-09, 1.608662795678037e-10});
}

/// Of zero, negative numbers, infinity and NaN a logarithm is what it is in C; `y` otherwise.
Real64 with_special_logs(Real64 x, Real64 y) {
  return select(x < 0.0, not_a_number, select(x == 0.0, -inf, select(x < inf, y, x)));
}

/// 2^-n for i32 n, at least 2^-100.
Real64 inverse_power(Real n) { return power_of_two<double>(select(n > 100, n.like(-100), -n)); }

/// (e^x - 1) / 2^n.
Twofold<double> expm1_mantissa(const Exponential& e) {
  // 1 - 2^-n is zero or larger than |high|.
  const Twofold<double> t = sum_ordered(1.0 - inverse_power(e.n), e.high);
  return sum_ordered(t.high, t.low + e.low);
}

Real64 as_f64(Real n) { return {n.b, n.b->convert(n.v, DType::f64)}; }

struct Logarithm {
  Real64 exponent;
  Twofold<double> mantissa;
};
Logarithm logarithm(Real64 x) {
  const Decomposed d = decompose(x);
  return {as_f64(d.exponent), log_near_one(d.mantissa - 1.0)};
}

}  // namespace

Twofold<double> Exponential::mantissa() const {
  const Twofold<double> t = sum_ordered(high.like(1.0), high);
  return sum_ordered(t.high, t.low + low);
}

Exponential exponential(Real64 x, Real64 low) {
  const Real64 n = apply(Op::round_even, x * 1.4426950408889634);
  const Twofold<double> r = sum_ordered(x - n * ln2_high, low - n * ln2_low);
  return {n.to(DType::i32), r.high, expm1_tail(r.high) + r.low};
}

Real64 exp_of_sum(Real64 x, Real64 low) {
  // Out there `low` is nothing beside the result, and may be infinite.
  const Real inside = magnitude(x) < 800.0;
  const Exponential e = exponential(at_least(at_most(x, 710.0), -746.0), select(inside, low, 0.0));
  return scaled(e.mantissa().sum(), e.n);
}

Real64 exp(Real64 x) { return exp_of_sum(x, x.like(0.0)); }

Real64 exp2(Real64 x) {
  const Real64 within = at_least(at_most(x, 1025.0), -1076.0);
  const Real64 n = apply(Op::round_even, within);
  const Real64 rest = within - n;
  const Twofold<double> r = ln2.like(x) * rest;
  const Exponential e{n.to(DType::i32), r.high, expm1_tail(r.high) + r.low};
  return scaled(e.mantissa().sum(), e.n);
}

Real64 expm1(Real64 x) {
  const Exponential e = exponential(at_least(at_most(x, 710.0), -40.0), x.like(0.0));
  return select(x == 0.0, x, scaled(expm1_mantissa(e).sum(), e.n));
}

Decomposed decompose(Real64 x) {
  const Reduced<double> r = reduce(x);
  return {r.exponent, r.mantissa};
}

Twofold<double> log_near_one(Real64 f) {
  // With s = f / (2 + f): log((1 + s) / (1 - s)) = 2 s + s R, and 2 s = f - s f.
  const Real64 s = f / (f + 2.0);
  const Real64 z = s * s;
  const Real64 r = z * polynomial(z, {0.6666666666666666, 0.4000000000000088, 0.2857142857080323,
                                      0.2222222239180047, 0.18181795630884753, 0.15386240205813478,
                                      0.13268759668560612, 0.13086767009948175});
  const Twofold<double> square = product_exact(f, f);
  const Real64 half = square.high * 0.5;
  const Twofold<double> first = sum_ordered(f, -half);
  return sum_ordered(first.high, first.low + (s * (half + r) - square.low * 0.5));
}

Real64 log_of_sum(Twofold<double> u, Real64 extra) {
  const Decomposed d = decompose(u.high);
  const Real64 rest = u.low * inverse_power(d.exponent);
  const Twofold<double> f = sum_ordered(d.mantissa - 1.0, rest);
  const Twofold<double> m = log_near_one(f.high);
  const Real64 n = as_f64(d.exponent) + extra;
  const Twofold<double> y = sum_ordered(n * ln2_high, m.high);
  return y.high + (y.low + (m.low + n * ln2_low + f.low / (f.high + 1.0)));
}

Real64 log(Real64 x) {
  const Logarithm l = logarithm(x);
  const Twofold<double> y = sum_ordered(l.exponent * ln2_high, l.mantissa.high);
  return with_special_logs(x, y.high + (y.low + (l.mantissa.low + l.exponent * ln2_low)));
}

Real64 log2(Real64 x) {
  constexpr TwofoldConstant<double> log2_e{1.4426950408889634, 2.0355273740931033e-17};
  const Logarithm l = logarithm(x);
  const Twofold<double> m = l.mantissa * log2_e.like(x);
  const Twofold<double> y = sum_ordered(l.exponent, m.high);
  return with_special_logs(x, y.high + (y.low + m.low));
}

Real64 log10(Real64 x) {
  constexpr TwofoldConstant<double> log10_e{0.4342944819032518, 1.098319650216765e-17};
  const Logarithm l = logarithm(x);
  const Twofold<double> m = l.mantissa * log10_e.like(x);
  // log10(2) in two parts, the first of 41 bits.
  const Twofold<double> y = sum_ordered(l.exponent * 0.30102999566383914, m.high);
  return with_special_logs(x, y.high + (y.low + (m.low + l.exponent * 1.42050232272661e-13)));
}

Real64 log1p(Real64 x) {
  const Real64 y = log_of_sum(sum_exact(x, x.like(1.0)), x.like(0.0));
  const Real64 regular = select(x == 0.0, x, select(x < inf, y, x));
  return select(x < -1.0, not_a_number, select(x == -1.0, -inf, regular));
}

Real64 cbrt(Real64 x) {
  const Real64 a = magnitude(x);
  const Real subnormal = a < std::numeric_limits<double>::min();
  const Real64 c = select(subnormal, a * 0x1p54, a);
  // A third of the exponent, within 4 %. Each step of Halley's method cubes the error.
  Real64 t = from_high_word<double>(c.high_word() / 3 + 0x2a9f7893);
  const auto improve = [&](Real64 y) {
    const Real64 r = c / (y * y);
    return y + y * ((r - y) / (y + y + r));
  };
  t = improve(t);
  t = improve(t);
  // The square of 26 bits is exact, so that the last step adds hardly more than its own rounding.
  const Real64 high = from_words(low_word(t) & static_cast<int>(0xf8000000u), t.high_word());
  const Real64 r = c / (high * high);
  const Real64 y = high + high * ((r - high) / (high + high + r));
  const Real64 size = select(subnormal, y * 0x1p-18, y);
  return select(a < inf, select(a == 0.0, x, with_sign(size, x)), x);
}

Real64 pow(Real64 x, Real64 y) {
  const Real64 a = magnitude(x);
  // Beyond 2^70 every base but 1 has left the range, and the product below stays finite.
  const Real64 exponent = at_least(at_most(y, 0x1p70), -0x1p70);
  const Twofold<double> l = log_twofold(select((a < inf) & (a > 0.0), a, 2.0));
  const Twofold<double> product = l * exponent;
  // log(0) and log(inf) have the signs that decide.
  const Real64 infinite = select(a == 0.0, -y, y);
  const Real regular_base = (a > 0.0) & (a < inf);
  const Real64 size = exp_of_sum(
      select(regular_base, product.high, select(infinite > 0.0, x.like(1e4), x.like(-1e4))),
      select(regular_base, product.low, 0.0));
  const Real whole = y == apply(Op::floor, y);
  const Real64 half = y * 0.5;
  const Real odd = whole & (half != apply(Op::floor, half)) & (magnitude(y) < inf);
  const Real negative = sign_bit(x) != 0;
  const Real64 turned = select(negative & odd, -size, size);
  const Real no_value = ((x < 0.0) & !whole & (a != inf)) | is_nan(x) | is_nan(y);
  const Real64 at_one = select(a == 1.0, select(negative & odd, x.like(-1.0), x.like(1.0)), turned);
  const Real64 regular = select(no_value, not_a_number, at_one);
  return select((x == 1.0) | (y == 0.0), 1.0, regular);
}

Real64 logistic(Real64 x) {
  // e^-|x| cannot overflow; 1 + e^-|x| is kept to twice the precision.
  const Real64 e = exp(-magnitude(x));
  const Twofold<double> d = sum_ordered(x.like(1.0), e);
  const Real64 q = select(x < 0.0, e, 1.0) / d.high;
  return q - q * (d.low / d.high);
}

// ---- hyperbolic functions

Real64 sinh(Real64 x) {
  const Real64 a = magnitude(x);
  const Real64 z = a * a;
  const Real64 small =
      a + a * (z * polynomial(z, {0.16666666666666666, 0.008333333333333299, 0.00019841269841324198,
                                  2.7557319191381816e-06, 2.5052117695907823e-08,
                                  1.6057679623801638e-10, 7.746178593018827e-13}));
  const Exponential e = exponential(at_most(a, 712.0), x.like(0.0));
  const Twofold<double> m = e.mantissa();
  const Real64 inverse = inverse_power(e.n << 1) / m.high;
  const Twofold<double> y = sum_ordered(m.high, -inverse);
  const Real64 large = scaled(y.high + (y.low + m.low), e.n - 1);
  return with_sign(select(a < 1.0, small, large), x);
}

Real64 cosh(Real64 x) {
  const Exponential e = exponential(at_most(magnitude(x), 712.0), x.like(0.0));
  const Twofold<double> m = e.mantissa();
  const Real64 inverse = inverse_power(e.n << 1) / m.high;
  const Twofold<double> y = sum_ordered(m.high, inverse);
  return scaled(y.high + (y.low + m.low), e.n - 1);
}

Real64 tanh(Real64 x) {
  // t / (t + 2) with t = e^(2a) - 1, both over 2^n.
  const Exponential e = exponential(at_most(magnitude(x), 22.0) * 2.0, x.like(0.0));
  const Twofold<double> m = expm1_mantissa(e);
  return with_sign((m / (m + inverse_power(e.n) * 2.0)).sum(), x);
}

Real64 asinh(Real64 x) {
  const Real64 a = magnitude(x);
  const Real large = a > 0x1p30;
  const Real64 b = select(large, 1.0, a);
  const Real64 square = b * b;
  // 1 + a + (sqrt(1 + a^2) - 1), the latter without cancellation.
  const Twofold<double> w = sum_ordered(b, square / (square_root(square + 1.0) + 1.0));
  const Twofold<double> one_more = w + x.like(1.0);
  const Twofold<double> u = select(large, Twofold<double>{a, x.like(0.0)}, one_more);
  const Real64 y = log_of_sum(u, select(large, x.like(1.0), x.like(0.0)));
  return select((a > 0x1p-28) & (a < inf), with_sign(y, x), x);
}

Real64 acosh(Real64 x) {
  const Real large = x > 0x1p30;
  const Real64 t = select(large, 1.0, x) - 1.0;
  const Twofold<double> w = sum_exact(t, square_root(t * 2.0 + t * t));
  const Twofold<double> u = select(large, Twofold<double>{x, x.like(0.0)}, w + x.like(1.0));
  const Real64 y = log_of_sum(u, select(large, x.like(1.0), x.like(0.0)));
  return select(x < 1.0, not_a_number, select(x < inf, y, x));
}

Real64 atanh(Real64 x) {
  const Real64 a = magnitude(x);
  // log(1 + 2a / (1 - a)) / 2.
  const Real64 b = select(a < 1.0, a, 0.0);
  const Twofold<double> q = Twofold<double>{b * 2.0, x.like(0.0)} / sum_exact(x.like(1.0), -b);
  const Real64 y = log_of_sum(q + x.like(1.0), x.like(0.0)) * 0.5;
  const Real64 regular = select(a > 0x1p-28, with_sign(y, x), x);
  return select(a < 1.0, regular, select(a == 1.0, x * inf, not_a_number));
}

}  // namespace gnomon::math::f64
