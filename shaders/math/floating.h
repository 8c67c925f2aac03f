// shaders/math/floating.h -- kernel values of a float type known at compile time, as formulas.
// Internal to shaders/math and shaders/passes.
//
// `Real` (real.h) serves f32 alone and carries the words and truth values of all of them; here one
// template writes a function for f32 and f64.
#pragma once
#include <span>

#include "shaders/kernel/scalar.h"
#include "shaders/math/real.h"

namespace gnomon::math {

/// A kernel value of f32 (T = float) or f64 (T = double). Arithmetic with a C++ number takes that
/// as a constant.
template <class T>
struct Floating {
  static constexpr DType dtype = sizeof(T) == 8 ? DType::f64 : DType::f32;

  Builder* b = nullptr;
  Value v;

  Floating like(T x) const {
    return {b, b->constant({dtype, b->type(v).width}, kernel::from_double(dtype, x))};
  }
  /// The word that holds sign, exponent and the first bits of the mantissa, as u32.
  Real high_word() const {
    if constexpr (sizeof(T) == 8)
      return {b, b->high_word(v)};
    else
      return {b, b->bitcast(v, DType::u32)};
  }
  Real to(DType t) const { return {b, b->convert(v, t)}; }
};

using Real64 = Floating<double>;

/// A C++ number where the other operand says which type is meant.
template <class T>
using Plain = std::type_identity_t<T>;

// `flip` and `select` of real.h, operators and classification.
#define GNOMON_FLOATING_OPERATOR(symbol, op)                  \
  template <class T>                                          \
  Floating<T> operator symbol(Floating<T> x, Floating<T> y) { \
    return {x.b, x.b->binary(Op::op, x.v, y.v)};              \
  }                                                           \
  template <class T>                                          \
  Floating<T> operator symbol(Floating<T> x, Plain<T> y) {    \
    return x symbol x.like(y);                                \
  }                                                           \
  template <class T>                                          \
  Floating<T> operator symbol(Plain<T> x, Floating<T> y) {    \
    return y.like(x) symbol y;                                \
  }
GNOMON_FLOATING_OPERATOR(+, add)
GNOMON_FLOATING_OPERATOR(-, sub)
GNOMON_FLOATING_OPERATOR(*, mul)
GNOMON_FLOATING_OPERATOR(/, div)
#undef GNOMON_FLOATING_OPERATOR

#define GNOMON_FLOATING_RELATION(symbol, op)           \
  template <class T>                                   \
  Real operator symbol(Floating<T> x, Floating<T> y) { \
    return {x.b, x.b->compare(Op::op, x.v, y.v)};      \
  }                                                    \
  template <class T>                                   \
  Real operator symbol(Floating<T> x, Plain<T> y) {    \
    return x symbol x.like(y);                         \
  }
GNOMON_FLOATING_RELATION(==, eq)
GNOMON_FLOATING_RELATION(!=, ne)
GNOMON_FLOATING_RELATION(<, lt)
GNOMON_FLOATING_RELATION(<=, le)
GNOMON_FLOATING_RELATION(>, gt)
GNOMON_FLOATING_RELATION(>=, ge)
#undef GNOMON_FLOATING_RELATION

template <class T>
Floating<T> apply(Op op, Floating<T> x) {
  return {x.b, x.b->unary(op, x.v)};
}
template <class T>
Floating<T> operator-(Floating<T> x) {
  return apply(Op::neg, x);
}
template <class T>
Floating<T> magnitude(Floating<T> x) {
  return apply(Op::abs, x);
}
template <class T>
Floating<T> square_root(Floating<T> x) {
  return apply(Op::sqrt, x);
}
template <class T>
Real is_nan(Floating<T> x) {
  return {x.b, x.b->unary(Op::is_nan, x.v)};
}
template <class T>
Floating<T> select(Real p, Floating<T> x, Floating<T> y) {
  return {x.b, x.b->select(p.v, x.v, y.v)};
}
template <class T>
Floating<T> select(Real p, Floating<T> x, Plain<T> y) {
  return select(p, x, x.like(y));
}
template <class T>
Floating<T> select(Real p, Plain<T> x, Floating<T> y) {
  return select(p, y.like(x), y);
}
/// `x`, no more than `limit`; NaN stays.
template <class T>
Floating<T> at_most(Floating<T> x, Plain<T> limit) {
  return select(x > limit, limit, x);
}
template <class T>
Floating<T> at_least(Floating<T> x, Plain<T> limit) {
  return select(x < limit, limit, x);
}

inline Real64 from_words(Real low, Real high) {
  return {low.b, low.b->from_words(low.v, high.v, DType::f64)};
}
inline Real low_word(Real64 x) { return {x.b, x.b->low_word(x.v)}; }

/// The float whose high word is `word` (u32), the rest being zero.
template <class T>
Floating<T> from_high_word(Real word) {
  if constexpr (sizeof(T) == 8)
    return from_words(word ^ word, word);
  else
    return {word.b, word.b->bitcast(word.v, DType::f32)};
}
/// `x` with another high word.
template <class T>
Floating<T> with_high_word(Floating<T> x, Real word) {
  if constexpr (sizeof(T) == 8)
    return from_words(low_word(x), word);
  else
    return {word.b, word.b->bitcast(word.v, DType::f32)};
}

/// The sign bit alone, in its place in the high word.
template <class T>
Real sign_bit(Floating<T> x) {
  return x.high_word() & std::numeric_limits<int>::min();
}
/// `x` with the given sign bit flipped in.
template <class T>
Floating<T> flip(Floating<T> x, Real sign) {
  return with_high_word(x, x.high_word() ^ sign);
}
/// `x` with the sign of `from`, for x >= 0.
template <class T>
Floating<T> with_sign(Floating<T> x, Floating<T> from) {
  return flip(x, sign_bit(from));
}

/// How floats of type T are laid out.
template <class T>
struct Layout {
  static constexpr int bias = sizeof(T) == 8 ? 1023 : 127;
  static constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;
  static constexpr int shift = mantissa_bits % 32;  // of the exponent in the high word
};

/// 2^n for an i32 n whose power is normal.
template <class T>
Floating<T> power_of_two(Real n) {
  return from_high_word<T>(((n + Layout<T>::bias) << Layout<T>::shift).bits(DType::u32));
}
/// x 2^n for any i32 n with |n| <= 2 bias, rounded once: only the second product can round.
template <class T>
Floating<T> scaled(Floating<T> x, Real n) {
  const Real half = n >> 1;
  return x * power_of_two<T>(half) * power_of_two<T>(n - half);
}

/// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule.
template <class T>
Floating<T> polynomial(Floating<T> x, std::span<const Plain<T>> c) {
  Floating<T> sum = x.like(c.back());
  for (std::size_t k = c.size() - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}
template <class T>
Floating<T> polynomial(Floating<T> x, std::initializer_list<Plain<T>> c) {
  return polynomial(x, std::span(c.begin(), c.size()));
}

}  // namespace gnomon::math
