// shaders/math/exponential.cpp -- exponentials, logarithms and what is made of both, in f32.
//
// Built from operations that are correctly rounded on every device (add, mul, round_even, bits)
// plus div and sqrt. Polynomials without a source are minimax fits made for this file.
#include "shaders/math/log_exp.h"

#include "shaders/math/elementary.h"
#include "shaders/math/f64_elementary.h"

namespace gnomon::math {

Real scaled(Real x, Real n) {
  const Real half = n >> 1;
  return x * power_of_two(half) * power_of_two(n - half);
}

namespace {

/// e^r - 1 - r.
Real expm1_excess(Real r) {
  return r * r * polynomial(r, {0.5f, 0.16666518f, 0.041666433f, 0.0083689718f, 0.0013937850f});
}

/// x - n log 2, for |x| < 2^10.
Real rest_of(Real x, Real n) { return x - n * ln_two_high - n * ln_two_low; }

}  // namespace

Real small_expm1(Real r) { return r + expm1_excess(r); }

Exponential exponential(Real x) {
  const Real n = apply(Op::round_even, x * log2_e);
  return {n.to(DType::i32), small_expm1(rest_of(x, n))};
}

PreciseExponential exponential(Real x, Real low) {
  const Real n = apply(Op::round_even, (x + low) * log2_e);
  const Real front = x - n * ln_two_high, back = low - n * ln_two_low;
  const Real r = front + back, lost = (front - r) + back;
  const Real more = expm1_excess(r) + lost, q = r + more;
  return {n.to(DType::i32), q, more - (q - r)};
}

Real within_exponents(Real x, float lowest, float highest) {
  return select(x > highest, highest, select(x < lowest, lowest, x));
}

namespace {

/// 3 2^22 + 254: the bits of a sum with it end in the other term, rounded to an integer n, plus
/// 254.
constexpr float counter = 12583166.0f;

/// m 2^n for n in [-254, 256], in two steps: 2^n itself may have no exponent.
Real times_power(Real m, Real counted) {
  const Real e = counted.bits(DType::u32) << 23;
  const Real front = (e >> 1) & 0x7f800000;
  return m * front.bits(DType::f32) * (e - front).bits(DType::f32);
}

/// 2^-26 from results between 2^-152 and 1 leaves exponents that single numbers have.
Real exp_nonpositive_of(Real x) {
  constexpr float from = 12583065.0f;  // 3 2^22 + 127 + 26
  const Real inside = select(x < -105.0f, -105.0f, x);
  const Real counted = inside * log2_e + from, n = counted - from;
  const Real power = (counted.bits(DType::u32) << 23).bits(DType::f32);
  return (small_expm1(rest_of(inside, n)) + 1.0f) * power * 0x1p-26f;
}

}  // namespace

Real exp_of_moderate(Real x) {
  // As in exp_times, bit for bit, but a power of two of this size has an exponent: one step does.
  constexpr float from = 12583040.0f;  // 3 2^22 + 128, even like `counter`: halves round alike
  const Real inside = select(x > 40.0f, 40.0f, x);
  const Real counted = inside * log2_e + from, n = counted - from;
  const Real power = ((counted.bits(DType::u32) << 23) - 0x00800000).bits(DType::f32);
  return (small_expm1(rest_of(inside, n)) + 1.0f) * power;
}

namespace {

/// 2^power e^x for power 0 or -1.
Real exp_times(Real x, int power) {
  const Real inside = within_exponents(x, -105.0f, 90.0f);
  const Real from = x.like(counter + static_cast<float>(power));
  const Real counted = inside * log2_e + from, n = counted - from;
  return times_power(small_expm1(rest_of(inside, n)) + 1.0f, counted);
}

Real exp2_of(Real x) {
  const Real inside = within_exponents(x, -152.0f, 130.0f);
  const Real counted = inside + counter, rest = inside - (counted - counter);
  return times_power(small_expm1(rest * 0.693147181f) + 1.0f, counted);
}

}  // namespace

Real exp_of(Real x) { return exp_times(x, 0); }
Real half_exp(Real x) { return exp_times(x, -1); }

Real expm1_of(Real x) {
  const Exponential e = exponential(x);
  const Real power = power_of_two(e.n);
  const Real y = power * e.q + (power - 1.0f);
  const Real tail = select(x > 20.0f, exp_of(x), -1.0f);  // one of them is the answer out there
  return select(magnitude(x) > 20.0f, tail, select(x == 0.0f, x, y));
}

Logarithm logarithm(Real x) {
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
  return {select(subnormal, exponent - 23.0f, exponent), f, s * (f - r)};
}

namespace {

/// Replaces what `logarithm` makes of zero, negative numbers, infinity and NaN.
Real with_special_logs(Real x, Real y) {
  const Real finite = select(x < infinity, y, x);
  return select(x < 0.0f, nan, select(x == 0.0f, -infinity, finite));
}

/// log(x) times a constant that is given as the sum of 12 bits and a rest: the product with half of
/// f is exact, so that only what is small is rounded before the last sum.
Real scaled_log(const Logarithm& l, Real large, float high, float low) {
  const Real front = upper_half(l.f);
  const Real small = ((l.f - front) * high + l.f * low) - l.less * (high + low);
  return large + (front * high + small);
}

Real log2_of(Real x) {
  const Logarithm l = logarithm(x);
  // log2(e) = high + low.
  return with_special_logs(x, scaled_log(l, l.exponent, 1.4423828125f, 0.00031222838896f));
}

Real log10_of(Real x) {
  const Logarithm l = logarithm(x);
  // log10(2) = high + low as well, and log10(e).
  const Real y =
      scaled_log(l, l.exponent * 4.605039066518657e-06f, 0.4342041015625f, 9.0380340752e-05f);
  return with_special_logs(x, l.exponent * 0.301025390625f + y);
}

}  // namespace

Real log_of(Real x) {
  const Logarithm l = logarithm(x);
  const Real mantissa = l.f - l.less;
  return with_special_logs(x, l.exponent * ln_two_high + (l.exponent * ln_two_low + mantissa));
}

Real log1p_of(Real x) {
  const Real u = x + 1.0f;
  // What the rounding of 1 + x lost, carried through the derivative.
  const Real lost = (x - (u - 1.0f)) / u;
  const Real y = log_of(u) + lost;
  const Real regular = select(x == 0.0f, x, select(x < infinity, y, x));
  return select(u == 0.0f, -infinity, regular);
}

namespace {

/// e^x for x <= 0 as y + lost: rounded, and what the rounding lost.
struct Decay {
  Real y, lost;
};
Decay decay(Real x) {
  const Exponential e = exponential(within_exponents(x, -105.0f, 0.0f));
  const Real m = e.q + 1.0f, lost = e.q - (m - 1.0f);
  // A subnormal y has lost more than this, and nobody can tell; -126 stands for n there.
  return {scaled(m, e.n), lost * power_of_two(select(e.n < -126, e.n.like(-126), e.n))};
}

Real logistic_of(Real x) {
  const Decay t = decay(-magnitude(x));
  const Real d = t.y + 1.0f;
  const Real negative = x < 0.0f;
  const Real y = select(negative, t.y, 1.0f) / d;
  // Below 0 errors of t count in full: what its rounding lost is put back, and what that of d lost.
  const Real in_d = t.y - (d - 1.0f), rest = 1.0f - y;  // which is 1 / d
  return y + select(negative, (t.lost * rest - y * in_d) * rest, 0.0f);
}

/// log(e^a + e^b) = a + log(1 + e^(b - a)) for a >= b, with one large rounding error at the end:
/// the sum may be a small difference.
Real logaddexp_of(Real x, Real y) {
  const Real larger = select(x > y, x, y), smaller = select(x > y, y, x);
  const Decay t = decay(smaller - larger);
  const Real d = t.y + 1.0f, u = d - 1.0f;
  const Real in_d = (t.y - u) + t.lost;
  const Logarithm l = logarithm(d);
  // in_d / d, to a few per cent of the half unit that it is; exactly where u is 0.
  const Real correction = in_d * (1.0f - u * (0.9f - u * 0.4f));
  const Real front = l.exponent * ln_two_high + l.f;  // exact: the exponent is 0 or 1
  const Real small = (l.exponent * ln_two_low - l.less) + correction;
  const Real sum = larger + front, part = sum - larger;
  const Real lost = (larger - (sum - part)) + (front - part);
  // Infinities, and differences of two of them, stay as they are.
  const Real finite = magnitude(larger) < infinity;
  return select(finite & (smaller > -infinity), sum + (lost + small),
                larger + select(is_nan(smaller), smaller, 0.0f));
}

Real64 logaddexp_of(Real64 x, Real64 y) {
  const Real64 larger = select(x > y, x, y), smaller = select(x > y, y, x);
  const Real64 sum = larger + f64::log1p(f64::exp(smaller - larger));
  // Of two infinities of one sign the difference is NaN.
  return select((x == y) & is_nan(x - y), x, sum);
}

}  // namespace

Value exp(Builder& b, Value x) { return by_type(b, exp_of, f64::exp, x); }
Value exp_nonpositive(Builder& b, Value x) { return by_type(b, exp_nonpositive_of, f64::exp, x); }
Value exp2(Builder& b, Value x) { return by_type(b, exp2_of, f64::exp2, x); }
Value expm1(Builder& b, Value x) { return by_type(b, expm1_of, f64::expm1, x); }
Value log(Builder& b, Value x) { return by_type(b, log_of, f64::log, x); }
Value log2(Builder& b, Value x) { return by_type(b, log2_of, f64::log2, x); }
Value log10(Builder& b, Value x) { return by_type(b, log10_of, f64::log10, x); }
Value log1p(Builder& b, Value x) { return by_type(b, log1p_of, f64::log1p, x); }
Value logistic(Builder& b, Value x) { return by_type(b, logistic_of, f64::logistic, x); }
Value softplus(Builder& b, Value x) {
  return by_type(
      b, [](Real a) { return logaddexp_of(a, a.like(0.0f)); },
      [](Real64 a) { return logaddexp_of(a, a.like(0.0)); }, x);
}
Value logaddexp(Builder& b, Value x, Value y) {
  return by_type(
      b, [](Real a, Real c) { return logaddexp_of(a, c); },
      [](Real64 a, Real64 c) { return logaddexp_of(a, c); }, x, y);
}

}  // namespace gnomon::math
