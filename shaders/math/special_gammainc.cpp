// shaders/math/special_gammainc.cpp -- the regularised incomplete gamma functions and their
// derivatives.
//
// Four regions, each computed only where a lane is in it:
//   a >= 20, a / 2 < x < 2 a   Temme's expansion (special_temme.h): straight-line code
//   x > 1.1, x >= a            Legendre's continued fraction for Q, by Lentz' method
//   x <= 1.1, a small          for Q alone: a series of 1 - P that does not cancel
//   all others                 the power series for P
// The regions bound the loops: 64 trips of a series, 90 of the continued fraction suffice in f64.
// Source: W. Gautschi, "A computational procedure for incomplete gamma functions", ACM TOMS 5
// (1979), for the series and their regions; NIST Digital Library of Mathematical Functions, 8.9.2,
// for the continued fraction.
#include "shaders/math/elementary.h"
#include "shaders/math/special.h"
#include "shaders/math/special_temme.h"

namespace gnomon::math {
namespace {

template <class T>
constexpr int series_trips = sizeof(T) == 8 ? 64 : 36;
template <class T>
constexpr int fraction_trips = sizeof(T) == 8 ? 90 : 30;
/// Where the function falls from 1 to 0 as a step does: no float is so near to `a` as its width.
template <class T>
constexpr T step_from = sizeof(T) == 8 ? T(0x1p500) : T(0x1p60);

struct Regions {
  Real temme, fraction;  // else a series
};
template <class T>
Regions regions(Floating<T> a, Floating<T> x) {
  const Real temme = (a >= T(20)) & (x > a * T(0.5)) & (x < a * T(2)) & (a < step_from<T>);
  return {temme, (x > T(1.1)) & (x >= a) & !temme};
}

/// log(x^a e^-x / gamma(a)).
template <class T>
Twofold<T> log_weight(Floating<T> a, Floating<T> x) {
  return (log_twofold(x) * a + -x) + -positive_lgamma(a);
}

/// P e^-(log_weight) = sum of x^k / (a (a + 1) ... (a + k)), and when `derivative` the sum of the
/// terms times 1 / (a + 1) + ... + 1 / (a + k).
template <class T>
Vector<T> power_series(Floating<T> a, Floating<T> x, bool derivative) {
  // term, sum [, harmonic sum, weighted sum]
  const Floating<T> one = a.like(1), zero = a.like(0);
  Vector<T> init{one, one};
  if (derivative) init.insert(init.end(), {zero, zero});
  const auto more = [&](const Vector<T>& s) {
    const Floating<T>& last = derivative ? s[3] : s[1];
    const Floating<T> term = derivative ? s[0] * s[2] : s[0];
    return (term > last * negligible<T>) | (s[0] > s[1] * negligible<T>);
  };
  const auto step = [&](Floating<T> k, const Vector<T>& s) {
    const Floating<T> inverse = T(1) / (a + k);
    const Floating<T> term = s[0] * (x * inverse);
    Vector<T> next{term, s[1] + term};
    if (derivative) {
      const Floating<T> harmonic = s[2] + inverse;
      next.insert(next.end(), {harmonic, s[3] + term * harmonic});
    }
    return next;
  };
  const Vector<T> end = repeat<T>(init, series_trips<T>, more, step);
  Vector<T> result{end[1] / a};
  if (derivative) result.push_back(end[3] / a);
  return result;
}

/// Q e^-(log_weight) = 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), and when `derivative` that
/// of its logarithm in a.
template <class T>
Vector<T> continued_fraction(Floating<T> a, Floating<T> x, bool derivative) {
  // Lentz: convergent h, ratios c and d of numerators and denominators, b, last factor [, their
  // logarithmic derivatives: of h, c, d, and of the last factor].
  const Floating<T> zero = a.like(0), b0 = x - a + T(1);
  const Floating<T> d0 = T(1) / b0;
  constexpr T large = sizeof(T) == 8 ? T(1e300) : T(1e30);
  Vector<T> init{d0, a.like(large), d0, b0, a.like(2)};
  if (derivative) init.insert(init.end(), {d0, zero, d0, a.like(1)});
  // The derivative goes on where a whole `a` ends the fraction itself.
  const auto more = [&](const Vector<T>& s) {
    const Real unsettled = magnitude(s[4] - T(1)) > negligible<T> * T(16);
    return derivative ? unsettled | (magnitude(s[8]) > magnitude(s[5]) * negligible<T> * T(16))
                      : unsettled;
  };
  const auto step = [&](Floating<T> k, const Vector<T>& s) {
    const Floating<T> n = k * (a - k);  // minus k (k - a)
    const Floating<T> b = s[3] + T(2);
    const Floating<T> d = T(1) / (n * s[2] + b);
    const Floating<T> quotient = n / s[1];
    const Floating<T> c = b + quotient;
    const Floating<T> factor = c * d;
    Vector<T> next{s[0] * factor, c, d, b, factor};
    if (derivative) {
      // dn/da = k, db/da = -1; s[6] and s[7] are the derivatives of log c and log d.
      const Floating<T> log_d = -d * (k * s[2] + n * s[2] * s[7] - T(1));
      const Floating<T> log_c = (k / s[1] - quotient * s[6] - T(1)) / c;
      next.insert(next.end(), {s[5] + (log_c + log_d), log_c, log_d, log_c + log_d});
    }
    return next;
  };
  const Vector<T> end = repeat<T>(init, fraction_trips<T>, more, step);
  return derivative ? Vector<T>{end[0], end[5]} : Vector<T>{end[0]};
}

/// log gamma(1 + a) for 0 < a <= 3/2, to a small relative error near 0.
template <class T>
Twofold<T> lgamma_one_more(Floating<T> a) {
  const Real low = a <= T(0.5);
  const Twofold<T> u = sum_exact(a, a.like(1));
  Twofold<T> l = log_twofold(select(low, u.high, T(1)));
  l = sum_ordered(l.high, l.low + select(low, u.low / u.high, T(0)));
  return lgamma_near_two(select(low, a, a - T(1))) + -l;
}

/// Q for x <= 1.1 and a below about 6/5: 1 - x^a / gamma(1 + a) by expm1, less what the series of P
/// has behind its first term.
template <class T>
Floating<T> small_upper(Floating<T> a, Floating<T> x) {
  Builder& b = *a.b;
  const Twofold<T> w = log_twofold(x) * a + -lgamma_one_more(a);
  const Floating<T> e{&b, expm1(b, w.high.v)};
  const Floating<T> grown = e + w.low * (e + T(1));
  // term (-x)^k / k!, sum
  const auto more = [&](const Vector<T>& s) {
    return magnitude(s[0]) > magnitude(s[1]) * negligible<T>;
  };
  const auto step = [&](Floating<T> k, const Vector<T>& s) {
    const Floating<T> term = s[0] * (-x / k);
    return Vector<T>{term, s[1] + term / (a + k)};
  };
  const Floating<T> sum =
      repeat<T>({a.like(1), a.like(0)}, sizeof(T) == 8 ? 24 : 14, more, step)[1];
  return -(grown + (grown + T(1)) * (a * sum));
}

/// The smaller of P and Q by Temme's expansion: P where mu < 0.
template <class T>
Floating<T> temme_smaller(Floating<T> a, Floating<T> x) {
  const Temme<T> t = temme(a, x);
  Floating<T> sum = a.like(0);
  const auto c = temme_coefficients<T>();
  for (std::size_t k = c.size(); k-- > 0;)
    sum = sum * t.inverse + polynomial(t.eta, std::span<const T>(c[k]));
  const Floating<T> y = square_root(at_least(t.exponent.high, T(0)));
  const Floating<T> remainder = select(t.mu < T(0), -sum, sum) * t.root;
  return exp_sum(-t.exponent) * (scaled_erfc(y) * T(0.5) + remainder);
}

/// e^-(a eta^2 / 2) / sqrt(2 pi a).
template <class T>
Floating<T> temme_weight(const Temme<T>& t) {
  return exp_sum(-t.exponent) * t.root;
}

/// dP / da by the derivative of Temme's expansion, term by term. With s = eta sqrt(a / 2):
/// d(s^2)/da = -log(1 + mu) and d(eta)/da = -mu / (a eta), where mu / eta = 1 - mu c_0.
template <class T>
Floating<T> temme_derivative(Floating<T> a, Floating<T> x) {
  const Temme<T> t = temme(a, x);
  Floating<T> sum = a.like(0), slope = a.like(0), counted = a.like(0), first = a.like(0);
  const auto coefficients = temme_coefficients<T>();
  for (std::size_t k = coefficients.size(); k-- > 0;) {
    const std::vector<T>& c = coefficients[k];
    std::vector<T> derivative;
    for (std::size_t i = 1; i < c.size(); ++i) derivative.push_back(static_cast<T>(i) * c[i]);
    first = polynomial(t.eta, std::span<const T>(c));
    sum = sum * t.inverse + first;
    slope = slope * t.inverse + polynomial(t.eta, std::span<const T>(derivative));
    counted = counted * t.inverse + first * static_cast<T>(k);
  }
  const Floating<T> ratio = T(1) - t.mu * first;  // mu / eta
  const Floating<T> logarithm = t.mu - t.eta * t.eta * T(0.5);
  const Floating<T> leading = ratio - t.eta * T(0.5);  // log(1 + mu) / eta
  const Floating<T> rest =
      (logarithm - t.inverse * T(0.5)) * sum - (ratio * slope + counted) * t.inverse;
  return -(temme_weight(t) * (leading + rest));
}

/// What SciPy has no value for.
template <class T>
Real outside(Floating<T> a, Floating<T> x) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const Real negative = (a < T(0)) | (x < T(0)) | is_nan(a) | is_nan(x);
  return negative | ((a == T(0)) & (x == T(0))) | ((a == inf) & (x == inf));
}

template <class T>
Floating<T> gammainc_of(bool complement, Floating<T> a, Floating<T> x) {
  const Regions in = regions(a, x);
  Real small = never(a);
  if (complement) {
    const Floating<T> l{a.b, log(*a.b, x.v)};
    const Real gentle = (magnitude(x - T(0.25)) <= T(0.25)) & (a * l >= T(-0.4));
    small = gentle | ((x > T(0.5)) & (x <= T(1.1)) & (x * T(1.1) >= a));
  }
  const Real series = !(in.temme | in.fraction | small);
  const auto one = [](Floating<T> v) { return Vector<T>{v}; };
  Vector<T> v{a.like(0)};
  if (complement)
    v = where<T>(
        small, [&] { return one(small_upper(a, x)); }, v);
  v = where<T>(
      in.temme, [&] { return one(temme_smaller(a, x)); }, v);
  // Both others need the weight.
  v = where<T>(
      in.fraction | series,
      [&] {
        const Floating<T> weight = exp_sum(log_weight(a, x));
        const Vector<T> sum = where<T>(
            series, [&] { return power_series(a, x, false); },
            where<T>(in.fraction, [&] { return continued_fraction(a, x, false); }, {a.like(0)}));
        return one(weight * sum[0]);
      },
      v);
  const Real upper = in.fraction | small | (in.temme & (x >= a));
  const Floating<T> low = complement ? T(1) - v[0] : v[0], high = complement ? v[0] : T(1) - v[0];
  const Floating<T> inside = select(upper, high, low);

  constexpr T inf = std::numeric_limits<T>::infinity();
  const Floating<T> none = a.like(complement ? 1 : 0), all = a.like(complement ? 0 : 1);
  const Floating<T> step = select(x < a, none, select(x > a, all, T(0.5)));
  const Floating<T> far = select(a >= step_from<T>, step, inside);
  const Floating<T> y = select((a == T(0)) | (x == inf), all, select(x == T(0), none, far));
  return select(outside(a, x), std::numeric_limits<T>::quiet_NaN(), y);
}

template <class T>
Floating<T> gammainc_da_of(Floating<T> a, Floating<T> x) {
  const Regions in = regions(a, x);
  const Real series = !(in.temme | in.fraction);
  const auto one = [](Floating<T> v) { return Vector<T>{v}; };
  Vector<T> v{a.like(0)};
  v = where<T>(
      in.temme, [&] { return one(temme_derivative(a, x)); }, v);
  v = where<T>(
      !in.temme,
      [&] {
        const Floating<T> weight = exp_sum(log_weight(a, x));
        const Floating<T> l{a.b, log(*a.b, x.v)};
        const Digamma<T> psi = positive_digamma(a);
        const auto by_series = [&] {
          const Vector<T> sums = power_series(a, x, true);
          return one((l - psi.of_one_more.sum()) * sums[0] - sums[1]);
        };
        const auto by_fraction = [&] {
          const Vector<T> h = continued_fraction(a, x, true);
          return one(-(h[0] * ((l - psi.value) + h[1])));
        };
        const Vector<T> factor =
            where<T>(series, by_series, where<T>(in.fraction, by_fraction, {a.like(0)}));
        // Beyond all magnitudes the weight is zero and the factor may be infinite.
        return one(select(weight == T(0), T(0), weight * factor[0]));
      },
      v);
  constexpr T inf = std::numeric_limits<T>::infinity();
  const Real flat = (x == T(0)) | (x == inf) | (a >= step_from<T>);
  const Floating<T> y = select(flat, T(0), v[0]);
  return select(outside(a, x) | (a == T(0)), std::numeric_limits<T>::quiet_NaN(), y);
}

template <class T>
Floating<T> gamma_density_of(Floating<T> a, Floating<T> x) {
  const Regions in = regions(a, x);
  const auto one = [](Floating<T> v) { return Vector<T>{v}; };
  Vector<T> v{a.like(0)};
  v = where<T>(
      in.temme,
      [&] {
        const Temme<T> t = temme(a, x);
        const Twofold<T> exponent = -t.exponent + -stirling_tail(t.inverse);
        return one(exp_sum(exponent) * t.root * (a / x));
      },
      v);
  v = where<T>(
      !in.temme,
      [&] { return one(exp_sum((log_twofold(x) * (a - T(1)) + -x) + -positive_lgamma(a))); }, v);
  constexpr T inf = std::numeric_limits<T>::infinity();
  const Floating<T> at_zero = select(a < T(1), inf, select(a == T(1), a.like(1), a.like(0)));
  const Real none = (x == inf) | (a == T(0)) | (a >= step_from<T>);
  const Floating<T> y = select(none, T(0), select(x == T(0), at_zero, v[0]));
  return select(outside(a, x), std::numeric_limits<T>::quiet_NaN(), y);
}

}  // namespace

Value gammainc(Builder& b, Value a, Value x) {
  return in_either(
      b, [](auto s, auto t) { return gammainc_of(false, s, t); }, a, x);
}
Value gammaincc(Builder& b, Value a, Value x) {
  return in_either(
      b, [](auto s, auto t) { return gammainc_of(true, s, t); }, a, x);
}
Value gammainc_da(Builder& b, Value a, Value x) {
  return in_either(
      b, [](auto s, auto t) { return gammainc_da_of(s, t); }, a, x);
}
Value gamma_density(Builder& b, Value a, Value x) {
  return in_either(
      b, [](auto s, auto t) { return gamma_density_of(s, t); }, a, x);
}

}  // namespace gnomon::math
