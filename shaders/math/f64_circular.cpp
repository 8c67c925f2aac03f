// shaders/math/f64_circular.cpp -- f64 circular functions and their inverses.
#include <algorithm>
#include <vector>

#include "shaders/math/f64_elementary.h"

namespace gnomon::math::f64 {
namespace {

constexpr TwofoldConstant<double> half_pi{1.5707963267948966, 6.123233995736766e-17};
constexpr double pi = 3.141592653589793, pi_low = 1.2246467991473532e-16;

/// x = (quadrant + 4 k) pi / 2 + rest with |rest| <= pi / 4 and a little more.
struct Reduction {
  Real quadrant;  // u32
  Twofold<double> rest;
};

/// By products of the quadrant with parts of pi / 2 of 32 bits, which are exact (Cody and Waite).
Reduction reduce_moderate(Real64 a) {
  const Real64 n = apply(Op::round_even, a * 0.6366197723675814);
  const Twofold<double> first = sum_exact(a - n * 1.5707963267341256, -(n * 6.077100506303966e-11));
  const Twofold<double> second = sum_exact(first.high, -(n * 2.0222662487111665e-21));
  const Real64 low = first.low + second.low - n * 8.4784276603689e-32;
  return {n.to(DType::i32).bits(DType::u32), sum_exact(second.high, low)};
}

using Words = std::vector<Real>;

/// 192 bits of 2 / pi, the first being bit `start` behind two words of zeros, most significant word
/// first.
Words two_over_pi(Real start) {
  static constexpr std::uint32_t bits[] = {
      0x00000000u, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
      0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu,
      0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u,
      0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu,
      0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u,
      0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u};
  constexpr std::size_t wanted = 7;
  Words w;
  for (const std::uint32_t word : bits) w.push_back(start.like(static_cast<int>(word)));
  // The words from start / 32 <= 32 on: one level of selects per bit of that number.
  for (int level = 5; level >= 0; --level) {
    const std::size_t step = std::size_t{1} << level;
    const Real skip = (start >> 5 & (1 << level)) != 0;
    const std::size_t length = level == 5 ? w.size() - step : wanted + step - 1;
    for (std::size_t k = 0; k < length; ++k) w[k] = select(skip, w[k + step], w[k]);
  }
  const Real left = start & 31;
  const Real right = 31 - left;
  Words window;
  for (std::size_t k = 0; k + 1 < wanted; ++k)
    window.push_back(w[k] << left | w[k + 1] >> 1 >> right);
  return window;
}

/// (m1 2^32 + m0) w modulo 2^192, words with the least significant first.
Words product(Real m0, Real m1, const Words& w) {
  const auto high = [](Real x, Real y) { return apply(Op::mul_high, x, y); };
  Words result;
  Real carried = m0.like(0);
  for (std::size_t k = 0; k < w.size(); ++k) {
    Real sum = carried;
    carried = m0.like(0);
    const auto add = [&](Real x) {
      sum = sum + x;
      carried = carried + (sum < x).to(DType::u32);
    };
    add(m0 * w[k]);
    if (k >= 1) add(high(m0, w[k - 1])), add(m1 * w[k - 1]);
    if (k >= 2) add(high(m1, w[k - 2]));
    result.push_back(sum);
  }
  return result;
}

/// By as many bits of 2 / pi as matter: those before make multiples of 4 quadrants, those behind
/// vanish. A double is never nearer to a multiple of pi / 2 than 2^-62 of it, so 192 bits leave 75.
/// Source: M. H. Payne, R. N. Hanek, "Radian reduction for trigonometric functions", SIGNUM
/// Newsletter 18 (1983).
Reduction reduce_large(Real64 a) {
  const Real top = a.high_word();
  // a = m 2^(e - 1075); the product with bit j of 2 / pi counts when e - 1075 - j < 2.
  Words w = two_over_pi((top >> 20) - (1075 - 62));
  std::reverse(w.begin(), w.end());
  const Words p = product(low_word(a), (top & 0xfffff) | 0x100000, w);
  // Two bits of quadrant, then the fraction; from one half on it counts down from the next.
  const auto fraction = [&](std::size_t k) { return p[k] << 2 | p[k - 1] >> 30; };
  const Real above = fraction(5) >> 31;
  const Real mask = 0 - above;
  const auto part = [&](std::size_t k, double unit) {
    return Real64{a.b, a.b->convert((fraction(k) ^ mask).v, DType::f64)} * unit;
  };
  const Twofold<double> first = sum_ordered(part(5, 0x1p-32), part(4, 0x1p-64));
  const Twofold<double> second = sum_ordered(part(3, 0x1p-96), part(2, 0x1p-128));
  const Twofold<double> rest = (first + second) * half_pi.like(a);
  const Real sign = above << 31;
  return {(p[5] >> 30) + above, {flip(rest.high, sign), flip(rest.low, sign)}};
}

Reduction reduce_angle(Real64 a) {
  Builder& b = *a.b;
  const Reduction moderate = reduce_moderate(a);
  const Real large = a > 1e6;
  const auto values = [](const Reduction& r) {
    return kernel::Values{r.quadrant.v, r.rest.high.v, r.rest.low.v};
  };
  const auto large_values = [&] {
    const Reduction r = reduce_large(a);
    if (large.type().width == 1) return values(r);
    return values(
        {select(large, r.quadrant, moderate.quadrant), select(large, r.rest, moderate.rest)});
  };
  // Seldom wanted and long: skipped where no lane has such an argument.
  const kernel::Values v = b.if_(b.any(large.v), large_values, [&] { return values(moderate); });
  return {{&b, v[0]}, {{&b, v[1]}, {&b, v[2]}}};
}

struct SinCos {
  Twofold<double> sin, cos;  // the low parts not rounded in
};

SinCos small_sincos(Twofold<double> r) {
  const Real64 z = r.high * r.high;
  const Real64 s =
      polynomial(z, {-0.16666666666666666, 0.008333333333333331, -0.00019841269841265063,
                     2.7557319219337312e-06, -2.5052106231802837e-08, 1.6058531516797758e-10,
                     -7.586691094197958e-13});
  const Real64 c =
      polynomial(z, {0.041666666666666664, -0.0013888888888887398, 2.480158729876456e-05,
                     -2.7557317271145144e-07, 2.087614614655861e-09, -1.1382623647474604e-11});
  const Twofold<double> one = sum_ordered(z.like(1.0), z * -0.5);
  return {{r.high, r.high * (z * s) + (r.low - r.low * z * 0.5)},
          {one.high, one.low + (z * z * c - r.high * r.low)}};
}

/// sin(a + turns pi / 2).
Real64 sin_turned(Real64 a, int turns, Real sign) {
  const Reduction r = reduce_angle(a);
  const Real quadrant = r.quadrant + turns;
  const SinCos y = small_sincos(r.rest);
  const Twofold<double> picked = select((quadrant & 1) != 0, y.cos, y.sin);
  return select(a < inf, flip(picked.sum(), (quadrant & 2) << 30 ^ sign), not_a_number);
}

/// (asin(x) - x) / x for x^2 = z <= 1 / 4.
Real64 asin_tail(Real64 z) {
  return z * polynomial(z, {0.16666666666666666, 0.07500000000000118, 0.044642857142551895,
                            0.03038194447553234, 0.02237215744350722, 0.017352816540325496,
                            0.01396378001220357, 0.011566459612121669, 0.009621842970100282,
                            0.009319560794767446, 0.0030448799094556773, 0.019554513336123378,
                            -0.01924167174674304, 0.02961201126495512});
}

/// 2 asin(sqrt((1 - a) / 2)) = acos(a) for 1/2 <= a <= 1.
Twofold<double> acos_near_one(Real64 a) {
  const Real64 z = (1.0 - a) * 0.5;
  const Real64 s = square_root(z);
  const Twofold<double> square = product_exact(s, s);
  const Real64 rest = select(s == 0.0, s, ((z - square.high) - square.low) / (s + s));
  return {s * 2.0, (rest + s * asin_tail(z)) * 2.0};
}

/// The angle of the point (x, y) in the first quadrant, both finite and not both zero.
Twofold<double> angle(Real64 y, Real64 x) {
  const Real steep = y > x;
  const Real64 larger = select(steep, y, x), smaller = select(steep, x, y);
  // A common power of two brings the larger one near 1; a smaller one that this makes lose bits is
  // nothing beside it.
  const Real e = ((larger.high_word() >> 20).bits(DType::i32) - 1023);
  const Real64 first = power_of_two<double>(-(e >> 1)), second = power_of_two<double>((e >> 1) - e);
  const Real64 l = larger * first * second, s = smaller * first * second;
  // atan(s / l) = pi / 4 + atan((s - l) / (s + l)).
  const Real far = s > l * 0.4142135623730951;
  const Twofold<double> zero{s, s.like(0.0)};
  const Twofold<double> q = select(far, sum_exact(s, -l), zero) /
                            select(far, sum_exact(s, l), Twofold<double>{l, s.like(0.0)});
  const Real64 z = q.high * q.high;
  const Real64 tail =
      q.high *
      (z * polynomial(z, {-0.3333333333333333, 0.19999999999999804, -0.14285714285659779,
                          0.11111111105150588, -0.09090908753259112, 0.07692296368042296,
                          -0.0666642476020052, 0.05878927554473807, -0.05230443640686948,
                          0.045515447340221615, -0.03456931506332609, 0.016284375050043393}));
  // The quarter of pi has sign and size of its own where the point is steep.
  const Real flat = !(far | steep);
  const Real64 base = select(far, half_pi.high * 0.5, select(steep, half_pi.high, s.like(0.0)));
  const Real64 base_low = select(far, half_pi.low * 0.5, select(steep, half_pi.low, s.like(0.0)));
  const Real64 sign = select(steep, s.like(-1.0), s.like(1.0));
  const Twofold<double> sum = sum_ordered(base, sign * q.high);
  const Twofold<double> y_angle{sum.high, sum.low + (base_low + sign * (q.low + tail))};
  // Nearly horizontal: the quotient itself, subnormal ones rounded once.
  const Real64 ratio = smaller / larger;
  return select(flat & (ratio < 0x1p-40), Twofold<double>{ratio, s.like(0.0)}, y_angle);
}

}  // namespace

Real64 sin(Real64 x) { return sin_turned(magnitude(x), 0, sign_bit(x)); }

Real64 cos(Real64 x) {
  const Real64 a = magnitude(x);
  return sin_turned(a, 1, sign_bit(a));
}

Real64 tan(Real64 x) {
  const Real64 a = magnitude(x);
  const Reduction r = reduce_angle(a);
  const SinCos y = small_sincos(r.rest);
  const auto rounded = [](Twofold<double> v) { return sum_ordered(v.high, v.low); };
  const Twofold<double> sin = rounded(y.sin), cos = rounded(y.cos);
  const Real odd = (r.quadrant & 1) != 0;
  const Twofold<double> t = select(odd, -cos, sin) / select(odd, sin, cos);
  // The division would lose the signs of zeros and the bits of what is subnormal.
  const Real64 value = select(a < 0x1p-28, a, t.sum());
  return select(a < inf, flip(value, sign_bit(x)), not_a_number);
}

Real64 asin(Real64 x) {
  const Real64 a = magnitude(x);
  const Twofold<double> outer = acos_near_one(a);
  const Twofold<double> turned = sum_ordered(a.like(half_pi.high), -outer.high);
  const Real64 large = turned.high + (turned.low + (half_pi.low - outer.low));
  const Real64 y = select(a <= 0.5, a + a * asin_tail(a * a), large);
  return select(a > 1.0, not_a_number, with_sign(y, x));
}

Real64 acos(Real64 x) {
  const Real64 a = magnitude(x);
  const Twofold<double> inner = sum_ordered(x.like(half_pi.high), -x);
  const Real64 small = inner.high + (inner.low + (half_pi.low - x * asin_tail(x * x)));
  const Twofold<double> outer = acos_near_one(a);
  const Twofold<double> mirrored = sum_ordered(x.like(pi), -outer.high);
  const Real64 left = mirrored.high + (mirrored.low + (pi_low - outer.low));
  const Real64 y = select(a <= 0.5, small, select(x < 0.0, left, outer.sum()));
  return select(a > 1.0, not_a_number, y);
}

Real64 atan(Real64 x) {
  const Real64 a = magnitude(x);
  const Real64 y = select(a < 0x1p70, angle(at_most(a, 0x1p70), x.like(1.0)).sum(), half_pi.high);
  return select(is_nan(x), x, with_sign(select(a == 0.0, a, y), x));
}

Real64 atan2(Real64 y, Real64 x) {
  const Real64 ay = magnitude(y), ax = magnitude(x);
  // Infinities stand for directions, and 0 / 0 for the direction of x.
  const Real endless = (ay == inf) | (ax == inf);
  const Real none = (ay == 0.0) & (ax == 0.0);
  const Real64 v = select(endless, select(ay == inf, ay.like(1.0), ay.like(0.0)), ay);
  const Real64 u = select(endless, select(ax == inf, ax.like(1.0), ax.like(0.0)),
                          select(none, ax.like(1.0), ax));
  const Twofold<double> right = angle(v, u);
  const Twofold<double> mirrored = sum_ordered(x.like(pi), -right.high);
  const Real64 left = mirrored.high + (mirrored.low + (pi_low - right.low));
  const Real64 half = select(sign_bit(x) != 0, left, right.sum());
  return select(is_nan(x) | is_nan(y), not_a_number, with_sign(half, y));
}

}  // namespace gnomon::math::f64
