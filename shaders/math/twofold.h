// shaders/math/twofold.h -- unevaluated sums of two floats: twice the precision from add, sub, mul
// and div alone, without a fused multiply-add. Internal to shaders/math and shaders/passes.
//
// Sources: T. J. Dekker, "A floating-point technique for extending the available precision",
// Numer. Math. 18 (1971); D. E. Knuth, The Art of Computer Programming, vol. 2, 4.2.2. They need
// exact instructions (Builder::Exactly) and round to nearest. Splitting overflows beyond 2^996
// (f64) or 2^115 (f32), and products below 2^-968 or 2^-100 lose their low part.
#pragma once
#include "shaders/math/floating.h"

namespace gnomon::math {

/// high + low with |low| <= half a unit of `high`, unless said otherwise.
template <class T>
struct Twofold {
  Floating<T> high, low;
  Floating<T> sum() const { return high + low; }
};

/// A constant to twice the precision of T.
template <class T>
struct TwofoldConstant {
  T high, low;
  Twofold<T> like(Floating<T> x) const { return {x.like(high), x.like(low)}; }
};

/// a + b exactly, for |a| >= |b| or a = 0.
template <class T>
Twofold<T> sum_ordered(Floating<T> a, Floating<T> b) {
  const Floating<T> s = a + b;
  return {s, b - (s - a)};
}
/// a + b exactly.
template <class T>
Twofold<T> sum_exact(Floating<T> a, Floating<T> b) {
  const Floating<T> s = a + b;
  const Floating<T> part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}
/// x as the sum of two floats of half its digits.
template <class T>
Twofold<T> split(Floating<T> x) {
  constexpr T factor = sizeof(T) == 8 ? T(134217729) : T(4097);
  const Floating<T> c = x * factor;
  const Floating<T> high = c - (c - x);
  return {high, x - high};
}
/// What rounding a * b to `product` lost.
template <class T>
Floating<T> lost_product(Floating<T> product, Twofold<T> a, Twofold<T> b) {
  return ((a.high * b.high - product) + a.high * b.low + a.low * b.high) + a.low * b.low;
}
/// a * b exactly.
template <class T>
Twofold<T> product_exact(Floating<T> a, Floating<T> b) {
  const Floating<T> p = a * b;
  const Twofold<T> left = split(a);
  return {p, lost_product(p, left, a.v == b.v ? left : split(b))};
}

template <class T>
Twofold<T> operator-(Twofold<T> a) {
  return {-a.high, -a.low};
}
/// Relative error of a few units of the square of the unit of T, unless the sum cancels.
template <class T>
Twofold<T> operator+(Twofold<T> a, Twofold<T> b) {
  const Twofold<T> s = sum_exact(a.high, b.high);
  return sum_ordered(s.high, s.low + (a.low + b.low));
}
template <class T>
Twofold<T> operator-(Twofold<T> a, Twofold<T> b) {
  return a + -b;
}
template <class T>
Twofold<T> operator+(Twofold<T> a, Floating<T> b) {
  const Twofold<T> s = sum_exact(a.high, b);
  return sum_ordered(s.high, s.low + a.low);
}
template <class T>
Twofold<T> operator*(Twofold<T> a, Twofold<T> b) {
  const Twofold<T> p = product_exact(a.high, b.high);
  return sum_ordered(p.high, p.low + (a.high * b.low + a.low * b.high));
}
template <class T>
Twofold<T> operator*(Twofold<T> a, Floating<T> b) {
  const Twofold<T> p = product_exact(a.high, b);
  return sum_ordered(p.high, p.low + a.low * b);
}
/// By the remainder of the rounded quotient; the division itself need not be correctly rounded.
template <class T>
Twofold<T> operator/(Twofold<T> a, Twofold<T> b) {
  const Floating<T> q = a.high / b.high;
  const Twofold<T> p = product_exact(q, b.high);
  const Floating<T> rest = ((a.high - p.high) - p.low) + (a.low - q * b.low);
  return sum_ordered(q, rest / b.high);
}

template <class T>
Twofold<T> select(Real p, Twofold<T> a, Twofold<T> b) {
  return {select(p, a.high, b.high), select(p, a.low, b.low)};
}

}  // namespace gnomon::math
