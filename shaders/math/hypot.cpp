// shaders/math/hypot.cpp -- the length of a vector of two.
#include "shaders/math/elementary.h"
#include "shaders/math/special_support.h"

namespace gnomon::math {
namespace {

/// The sum of squares of operands that a power of two brings into the middle of the range. What is
/// lost of the smaller one is nothing beside the larger.
template <class T>
Floating<T> hypot_of(Floating<T> a, Floating<T> b) {
  constexpr bool f64 = sizeof(T) == 8;
  constexpr int far_up = f64 ? 400 : 40, to_middle = f64 ? 700 : 90;
  const auto power = [](int n) { return std::ldexp(T(1), n); };
  const Floating<T> x = magnitude(a), y = magnitude(b);
  const Floating<T> larger = select(x < y, y, x), smaller = select(x < y, x, y);
  const Real huge = larger > power(far_up), tiny = larger < power(-far_up);
  const Floating<T> one = a.like(T(1));
  const Floating<T> scale = select(huge, power(-to_middle), select(tiny, power(to_middle), one));
  const Floating<T> unit = select(huge, power(to_middle), select(tiny, power(-to_middle), one));
  const Floating<T> u = larger * scale, v = smaller * scale;
  const Floating<T> length = square_root(u * u + v * v) * unit;
  const T infinite = std::numeric_limits<T>::infinity();
  return select((x == a.like(infinite)) | (y == a.like(infinite)), infinite, length);
}

}  // namespace

Value hypot(Builder& b, Value x, Value y) {
  return in_either(
      b, [](auto u, auto v) { return hypot_of(u, v); }, x, y);
}

}  // namespace gnomon::math
