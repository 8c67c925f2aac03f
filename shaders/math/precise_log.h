// shaders/math/precise_log.h -- the logarithm as an unevaluated sum of two floats, for functions
// that magnify its error. Internal to shaders/math.
#pragma once
#include "shaders/math/twofold.h"

namespace gnomon::math {

/// x = 2^exponent mantissa with sqrt(1/2) <= mantissa < sqrt(2).
template <class T>
struct Reduced {
  Real exponent;  // i32
  Floating<T> mantissa;
};

/// Any finite x > 0.
template <class T>
Reduced<T> reduce(Floating<T> x) {
  constexpr int shift = Layout<T>::shift, lift = std::numeric_limits<T>::digits;
  constexpr int root_half = sizeof(T) == 8 ? 0x3fe6a09e : 0x3f3504f3;  // high word of sqrt(1/2)
  const Real subnormal = x < std::numeric_limits<T>::min();
  const Floating<T> normal = select(subnormal, x * static_cast<T>(1ull << lift), x);
  const Real offset = normal.high_word().bits(DType::i32) - root_half;
  const Real exponent = offset >> shift;
  const Real high = (offset & ((1 << shift) - 1)) + root_half;
  return {select(subnormal, exponent - lift, exponent),
          with_high_word(normal, high.bits(DType::u32))};
}

/// log(x) for finite x > 0; relative error 2^-64 in f64 and 2^-36 in f32.
template <class T>
Twofold<T> log_twofold(Floating<T> x) {
  constexpr bool wide = sizeof(T) == 8;
  const Reduced<T> r = reduce(x);
  const Floating<T> f = r.mantissa - T(1);
  const Twofold<T> s = Twofold<T>{f, f.like(0)} / sum_ordered(f.like(2), f);
  const Twofold<T> z = s * s;
  // log(m) = 2 atanh(s) = 2 s (1 + z / 3 + z^2 (1 / 5 + z / 7 + ...)).
  static constexpr T coefficients[] = {T(0.2),
                                       T(0.14285714285714682),
                                       T(0.11111111110827943),
                                       T(0.09090909167696401),
                                       T(0.07692297481259215),
                                       T(0.06667402346923655),
                                       T(0.05853118169745603),
                                       T(0.05861589311938259)};
  const auto terms = std::span<const T>(coefficients).first(wide ? 8 : 5);
  const TwofoldConstant<T> third = wide ? TwofoldConstant<T>{T(1.0 / 3), T(1.850371707708594e-17)}
                                        : TwofoldConstant<T>{T(0.333333343f), T(-9.93410776e-09)};
  Twofold<T> more = z * third.like(x);
  more = sum_ordered(more.high, more.low + z.high * z.high * polynomial(z.high, terms));
  const Twofold<T> product = s * more;
  const Twofold<T> half = sum_ordered(s.high, product.high);
  const Twofold<T> mantissa{half.high * T(2), (half.low + (s.low + product.low)) * T(2)};
  // ln 2 in two parts, the first so short that its products with exponents are exact.
  constexpr T ln2_high = wide ? T(0.693147180559663) : T(0.693115234375);
  constexpr T ln2_low = wide ? T(2.8235290563031577e-13) : T(3.194618329871446e-05);
  const Floating<T> n{x.b, x.b->convert(r.exponent.v, Floating<T>::dtype)};
  const Twofold<T> base = sum_ordered(n * ln2_high, n * ln2_low);
  return base + mantissa;
}

}  // namespace gnomon::math
