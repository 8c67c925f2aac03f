// shaders/math/special_gamma.cpp -- the gamma function's logarithm and the derivatives of that.
#include <vector>

#include "shaders/math/special.h"
#include "shaders/math/special_gamma.h"

namespace gnomon::math {
namespace {

/// sin(pi r) / (pi r) for |r| <= 1/2.
template <class T>
Floating<T> sinc(Floating<T> r) {
  return fitted(r * r,
                {1.0, -1.6449340668482264, 0.8117424252833393, -0.19075182412149477,
                 0.026147847805526855, -0.0023460808952412084, 0.00014842784028527107,
                 -6.972096671966889e-06, 2.4502624905284063e-07},
                {1.0f, -1.64493406f, 0.811742187f, -0.190747887f, 0.0261174142f, -0.00223713601f});
}

template <class T>
Floating<T> lgamma_of(Floating<T> x) {
  Builder& b = *x.b;
  const Floating<T> a = magnitude(x);
  const Twofold<T> right = positive_lgamma(a);
  // gamma(-a) gamma(a) = -pi / (a sin(pi a)).
  const auto reflected = [&] {
    const Floating<T> r = magnitude(off_integer(a));
    const Twofold<T> product = product_exact(a, r) * sinc(r);
    const Floating<T> argument = at_least(product.high, std::numeric_limits<T>::min());
    Twofold<T> l = log_twofold(argument);
    l.low = l.low + product.low / argument;
    // Where products would lose parts below the normal numbers -log(a) is all there is.
    constexpr T tiny = sizeof(T) == 8 ? T(1e-100) : T(1e-10);
    const Floating<T> y = select(a < tiny, right.sum(), (-(l + right)).sum());
    return kernel::Values{select(x < T(0), select(r == T(0), y.like(INFINITY), y), right.sum()).v};
  };
  const Floating<T> y{
      &b, b.if_(b.any((x < T(0)).v), reflected, [&] { return kernel::Values{right.sum().v}; })[0]};
  return select(a < T(INFINITY), select(a == T(0), T(INFINITY), y), a);
}

/// cot(pi r) for 0 < |r| <= 1/2.
template <class T>
Floating<T> cot_pi(Floating<T> r) {
  const Floating<T> rest = T(0.5) - magnitude(r);
  return (rest * sinc(rest)) / (r * sinc(r));
}

constexpr double pi = 3.14159265358979323846;

/// 1 / r - pi cot(pi r) for |r| <= 1/2: r times pi^2 / 3 and a fit, the leading term to twice the
/// precision.
template <class T>
Twofold<T> pole_less_cotangent(Floating<T> r) {
  constexpr TwofoldConstant<T> slope =
      sizeof(T) == 8 ? TwofoldConstant<T>{T(3.289868133696453), T(6.081344700796952e-17)}
                     : TwofoldConstant<T>{T(3.28986812f), T(1.73176691e-08f)};
  const Floating<T> z = r * r;
  const Floating<T> more =
      z * fitted(z,
                 {2.1646464674222763, 2.0346861239688483, 2.0081547124107697, 2.001989148510634,
                  2.000492279971544, 2.0001185676727573, 2.0001244653102597, 1.9984760624563311,
                  2.0175425514077987, 1.856985475216445, 2.830459345078886, -1.3837148895620763,
                  11.319882511390816, -14.009136356697693, 16.010441553092157},
                 {2.16464639f, 2.03468752f, 2.00803471f, 2.0057559f, 1.94317985f, 2.46401930f,
                  2.96146754e-05f, 6.06498623f});
  const Twofold<T> linear = product_exact(r, r.like(slope.high));
  return sum_ordered(linear.high, linear.low + r * (more + slope.low));
}

template <class T>
Floating<T> digamma_of(Floating<T> x) {
  Builder& b = *x.b;
  const Floating<T> a = magnitude(x);
  const Digamma<T> right = positive_digamma(a);
  // digamma(-a) = digamma(1 + a) + pi cot(pi a). The terms may cancel, so that they are added with
  // what their roundings lost; next to a pole 1 / r is all there is, and it is not to be split.
  const auto reflected = [&] {
    const Floating<T> r = off_integer(a);
    const Twofold<T> pole = inverse_twofold(r);
    const Twofold<T> y = pole + (right.of_one_more - pole_less_cotangent(r));
    const Floating<T> near = select(magnitude(r) < tiny_pole<T>, pole.high, y.sum());
    return kernel::Values{select(x < T(0), select(r == T(0), T(NAN), near), right.value).v};
  };
  const Floating<T> y{
      &b, b.if_(b.any((x < T(0)).v), reflected, [&] { return kernel::Values{right.value.v}; })[0]};
  const Floating<T> regular = select(a == T(0), T(-1) / x, y);
  return select(a < T(INFINITY), regular, select(x > T(0), x, x * T(NAN)));
}

/// B_2, B_4, ...
constexpr double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};

/// n! zeta(n + 1, x) for x > 0, by the Euler-Maclaurin formula behind the first terms.
/// Source: NIST Digital Library of Mathematical Functions, 25.11.5 with 25.11.7.
template <class T>
Floating<T> zeta_times_factorial(int n, Floating<T> x) {
  constexpr int terms = sizeof(T) == 8 ? 8 : 3;
  const int s = n + 1, shift = (sizeof(T) == 8 ? 9 : 5) + n;
  const auto power = [&](Floating<T> base) {
    Floating<T> result = base, factor = base;
    bool begun = false;
    for (int rest = s; rest > 0; rest >>= 1) {
      if (rest & 1) result = begun ? result * factor : factor, begun = true;
      if (rest > 1) factor = factor * factor;
    }
    return result;
  };
  const Floating<T> w = x + static_cast<T>(shift);
  const Floating<T> inverse = T(1) / w, z = inverse * inverse;
  std::vector<T> c;
  double coefficient = s / 2.0;  // s (s + 1) ... (s + 2 j) / (2 j + 2)!
  for (int j = 0; j < terms; ++j) {
    c.push_back(static_cast<T>(bernoulli[j] * coefficient));
    coefficient *= (s + 2 * j + 1.0) * (s + 2 * j + 2.0) / ((2 * j + 3.0) * (2 * j + 4.0));
  }
  Floating<T> sum = (inverse * polynomial(z, std::span<const T>(c)) + T(0.5)) / power(w);
  // w^(1 - s) / (s - 1) without a power that underflows before it does.
  Floating<T> integral = inverse * static_cast<T>(1.0 / n);
  for (int k = 1; k < n; ++k) integral = integral * inverse;
  sum = sum + integral;
  for (int k = shift; k-- > 0;) sum = sum + T(1) / power(k == 0 ? x : x + static_cast<T>(k));
  T factorial = 1;
  for (int k = 2; k <= n; ++k) factorial *= static_cast<T>(k);
  return sum * factorial;
}

/// The coefficients of P with d^n/dx^n cot(x) = P(cot(x)): P_0 = c, P_{k+1} = -(1 + c^2) P_k'.
std::vector<double> cotangent_derivative(int n) {
  std::vector<double> p{0, 1};
  for (int k = 0; k < n; ++k) {
    std::vector<double> next(p.size() + 1, 0.0);
    for (std::size_t i = 1; i < p.size(); ++i) {
      next[i - 1] -= static_cast<double>(i) * p[i];
      next[i + 1] -= static_cast<double>(i) * p[i];
    }
    p = next;
  }
  return p;
}

template <class T>
Floating<T> polygamma_of(int n, Floating<T> x) {
  Builder& b = *x.b;
  const T sign = n % 2 == 0 ? T(-1) : T(1);
  const Real left = x < T(0);
  const Floating<T> right = zeta_times_factorial(n, select(left, T(1) - x, magnitude(x)));
  const auto reflected = [&] {
    const Floating<T> r = off_integer(x);
    std::vector<T> c;
    double scale = -pi;
    for (int k = 0; k < n; ++k) scale *= pi;
    for (const double p : cotangent_derivative(n)) c.push_back(static_cast<T>(p * scale));
    const Floating<T> y = polynomial(cot_pi(r), std::span<const T>(c)) - right;
    const Floating<T> pole = x.like(sign * T(INFINITY));
    return kernel::Values{select(left, select(r == T(0), pole, y), right * sign).v};
  };
  const Floating<T> y{
      &b, b.if_(b.any(left.v), reflected, [&] { return kernel::Values{(right * sign).v}; })[0]};
  return select(magnitude(x) < T(INFINITY), y, select(x > T(0), x.like(0) * sign, x * T(NAN)));
}

}  // namespace

Value lgamma(Builder& b, Value x) {
  return in_either(
      b, [](auto v) { return lgamma_of(v); }, x);
}
Value digamma(Builder& b, Value x) {
  return in_either(
      b, [](auto v) { return digamma_of(v); }, x);
}
Value polygamma(Builder& b, int n, Value x) {
  return in_either(
      b, [n](auto v) { return polygamma_of(n, v); }, x);
}

}  // namespace gnomon::math
