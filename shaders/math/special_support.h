// shaders/math/special_support.h -- what the special functions share: one formula for two types.
// Internal to shaders/math.
#pragma once
#include <cmath>

#include "shaders/math/floating.h"

namespace gnomon::math {

/// A polynomial with coefficients for either type.
template <class T>
Floating<T> fitted(Floating<T> x, std::initializer_list<double> wide,
                   std::initializer_list<float> narrow) {
  if constexpr (sizeof(T) == 8)
    return polynomial(x, std::span(wide.begin(), wide.size()));
  else
    return polynomial(x, std::span(narrow.begin(), narrow.size()));
}

/// Calls `f` on Floating<double>s when the operands are f64, else on Floating<float>s; f16 and bf16
/// travel through f32. Arithmetic is exact.
template <class F, class... Values>
Value in_either(Builder& b, F f, Value first, Values... more) {
  const Builder::Exactly exactly(b);
  const DType t = b.type(first).scalar;
  if (t == DType::f64) return f(Floating<double>{&b, first}, Floating<double>{&b, more}...).v;
  const auto narrow = [&](Value x) { return Floating<float>{&b, b.convert(x, DType::f32)}; };
  return b.convert(f(narrow(first), narrow(more)...).v, t);
}

}  // namespace gnomon::math
