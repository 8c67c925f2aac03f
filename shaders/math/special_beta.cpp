// shaders/math/special_beta.cpp -- the beta function and the regularised incomplete one.
#include "shaders/math/special.h"
#include "shaders/math/special_gamma.h"

namespace gnomon::math {
namespace {

/// log(gamma(a) gamma(b) / gamma(a + b)) for finite a, b > 0.
template <class T>
Twofold<T> positive_betaln(Floating<T> a, Floating<T> b) {
  const Twofold<T> sum = sum_exact(a, b);
  const Twofold<T> below = positive_lgamma(sum.high) + sum.low * log_twofold(sum.high).high;
  return (positive_lgamma(a) + positive_lgamma(b)) + -below;
}

template <class T>
Floating<T> betaln_of(Floating<T> a, Floating<T> b) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const Floating<T> low = select(a < b, a, b), high = select(a < b, b, a);
  const Floating<T> y = positive_betaln(low, high).sum();
  const Real outside = !((a >= T(0)) & (b >= T(0)));
  const Floating<T> ends = select(low == T(0), inf, select(high == inf, -inf, y));
  return select(outside, std::numeric_limits<T>::quiet_NaN(), ends);
}

/// x^a y^b / B(a, b) over I_x(a, b), for x + y = 1 and x up to (a + 1) / (a + b + 2), or up to
/// 0.999 where b <= 1. Source: A. R. DiDonato, A. H. Morris, "Algorithm 708: significant digit
/// computation of the incomplete beta function ratios", ACM TOMS 18 (1992), equation 9; Lentz'
/// method.
template <class T>
Floating<T> beta_fraction(Floating<T> a, Floating<T> b, Floating<T> x, Floating<T> y) {
  constexpr int trips = sizeof(T) == 8 ? 600 : 350;
  const Floating<T> start = a * (a * y - b * x + T(1)) / (a + T(1));
  // convergent, ratio of numerators, inverted ratio of denominators, last factor
  const Vector<T> init{start, start, a.like(0), a.like(2)};
  const auto more = [](const Vector<T>& s) {
    return magnitude(s[3] - T(1)) > negligible<T> * T(16);
  };
  const auto step = [&](Floating<T> m, const Vector<T>& s) {
    const Floating<T> twice = a + m * T(2), r = x / (twice - T(1));
    const Floating<T> back = m * (b - m);
    const Floating<T> numerator = ((a + m) - T(1)) * r * ((a + b + m - T(1)) * r) * back;
    const Floating<T> denominator =
        m + back * r + (a + m) * (a * y - b * x + T(1) + m * (T(1) + y)) / (twice + T(1));
    const Floating<T> d = T(1) / (denominator + numerator * s[2]);
    const Floating<T> c = denominator + numerator / s[1];
    const Floating<T> factor = c * d;
    return Vector<T>{s[0] * factor, c, d, factor};
  };
  return repeat<T>(init, trips, more, step)[0];
}

template <class T>
Floating<T> betainc_of(Floating<T> a, Floating<T> b, Floating<T> x) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const Floating<T> y = T(1) - x;
  // The fraction converges fast up to the mean. Where a shape below 1 heaps the weight up at one
  // end, the small side is that of the other end nearly up to there; 1 - I would lose its digits.
  const Real before_mean = x * (a + b + T(2)) <= a + T(1);
  const Real right_heap = (b <= T(1)) & (a >= b), left_heap = (a <= T(1)) & (b > a);
  const Real left = (before_mean | (right_heap & (x <= T(0.999)))) & !(left_heap & (y <= T(0.999)));
  const Floating<T> p = select(left, a, b), q = select(left, b, a);
  const Floating<T> u = select(left, x, y), v = select(left, y, x);
  // log(1 - x) keeps what rounding 1 - x loses.
  const Twofold<T> rest = sum_exact(x.like(1), -x);
  Twofold<T> log_rest = log_twofold(rest.high);
  log_rest = sum_ordered(log_rest.high, log_rest.low + rest.low / rest.high);
  const Twofold<T> exponent = (log_twofold(x) * a + log_rest * b) +
                              -positive_betaln(select(a < b, a, b), select(a < b, b, a));
  const Floating<T> value = exp_sum(exponent) / beta_fraction(p, q, u, v);
  const Floating<T> inside = select(left, value, T(1) - value);
  const Real proper = (a >= T(0)) & (b >= T(0)) & (x >= T(0)) & (x <= T(1));
  const Real undecided = ((a == T(0)) & (b == T(0))) | ((a == inf) & (b == inf));
  // The ends of the interval first: all of the weight of a = 0 sits at 0, of b = 0 at 1.
  const Floating<T> weighted =
      select((b == T(0)) | (a == inf), T(0), select((a == T(0)) | (b == inf), T(1), inside));
  const Floating<T> settled = select(x == T(0), T(0), select(x == T(1), T(1), weighted));
  return select(proper & !undecided, settled, std::numeric_limits<T>::quiet_NaN());
}

}  // namespace

Value betaln(Builder& b, Value p, Value q) {
  return in_either(
      b, [](auto s, auto t) { return betaln_of(s, t); }, p, q);
}
Value betainc(Builder& b, Value p, Value q, Value x) {
  return in_either(
      b, [](auto s, auto t, auto v) { return betainc_of(s, t, v); }, p, q, x);
}

}  // namespace gnomon::math
