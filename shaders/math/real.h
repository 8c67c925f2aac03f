// shaders/math/real.h -- f32 kernel values that are written as formulas. Internal to
// shaders/math and shaders/passes.
#pragma once
#include <bit>
#include <concepts>
#include <initializer_list>
#include <iterator>
#include <limits>

#include "shaders/kernel/builder.h"

namespace gnomon::math {

using kernel::Builder;
using kernel::Op;
using kernel::Type;
using kernel::Value;

/// A kernel value of f32, i32, u32 or bool, and the builder it belongs to. Arithmetic with a C++
/// number takes that as a constant of the value's type.
struct Real {
  Builder* b = nullptr;
  Value v;

  Type type() const { return b->type(v); }
  Real like(float x) const {
    return {b, b->constant({DType::f32, type().width}, std::bit_cast<std::uint32_t>(x))};
  }
  Real like(int x) const {
    const DType t = type().scalar == DType::u32 ? DType::u32 : DType::i32;
    return {b, b->constant({t, type().width}, static_cast<std::uint32_t>(x))};
  }
  Real bits(DType t) const { return {b, b->bitcast(v, t)}; }
  Real to(DType t) const { return {b, b->convert(v, t)}; }
};

inline Real apply(Op op, Real a) { return {a.b, a.b->unary(op, a.v)}; }
inline Real apply(Op op, Real x, Real y) { return {x.b, x.b->binary(op, x.v, y.v)}; }
inline Real relate(Op op, Real x, Real y) { return {x.b, x.b->compare(op, x.v, y.v)}; }

template <class T>
concept Number = std::same_as<T, float> || std::same_as<T, int>;

#define GNOMON_REAL_OPERATOR(symbol, function, op)                                  \
  inline Real operator symbol(Real x, Real y) { return function(Op::op, x, y); }    \
  inline Real operator symbol(Real x, Number auto y) { return x symbol x.like(y); } \
  inline Real operator symbol(Number auto x, Real y) { return y.like(x) symbol y; }
GNOMON_REAL_OPERATOR(+, apply, add)
GNOMON_REAL_OPERATOR(-, apply, sub)
GNOMON_REAL_OPERATOR(*, apply, mul)
GNOMON_REAL_OPERATOR(/, apply, div)
GNOMON_REAL_OPERATOR(&, apply, band)
GNOMON_REAL_OPERATOR(|, apply, bor)
GNOMON_REAL_OPERATOR(^, apply, bxor)
GNOMON_REAL_OPERATOR(<<, apply, shl)
GNOMON_REAL_OPERATOR(>>, apply, shr)
GNOMON_REAL_OPERATOR(==, relate, eq)
GNOMON_REAL_OPERATOR(!=, relate, ne)
GNOMON_REAL_OPERATOR(<, relate, lt)
GNOMON_REAL_OPERATOR(<=, relate, le)
GNOMON_REAL_OPERATOR(>, relate, gt)
GNOMON_REAL_OPERATOR(>=, relate, ge)
#undef GNOMON_REAL_OPERATOR

inline Real operator-(Real x) { return apply(Op::neg, x); }
inline Real operator!(Real p) { return apply(Op::bnot, p); }

inline Real select(Real p, Real x, Real y) { return {p.b, p.b->select(p.v, x.v, y.v)}; }
inline Real select(Real p, Real x, float y) { return select(p, x, x.like(y)); }
inline Real select(Real p, float x, Real y) { return select(p, y.like(x), y); }
inline Real is_nan(Real x) { return apply(Op::is_nan, x); }
inline Real magnitude(Real x) { return apply(Op::abs, x); }
inline Real square_root(Real x) { return apply(Op::sqrt, x); }

/// The sign bit alone, as u32.
inline Real sign_bit(Real x) { return x.bits(DType::u32) & std::numeric_limits<int>::min(); }
/// `x` with the given sign bit (u32) flipped in.
inline Real flip(Real x, Real sign) { return (x.bits(DType::u32) ^ sign).bits(DType::f32); }

/// 2^n for an i32 n in [-126, 127].
inline Real power_of_two(Real n) { return ((n + 127) << 23).bits(DType::f32); }

/// `x` cut to its upper 12 bits: products of two such numbers are exact.
inline Real upper_half(Real x) {
  return (x.bits(DType::u32) & static_cast<int>(0xfffff000u)).bits(DType::f32);
}

/// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule.
inline Real polynomial(Real x, std::initializer_list<float> c) {
  auto next = std::rbegin(c);
  Real sum = x.like(*next++);
  while (next != std::rend(c)) sum = sum * x + *next++;
  return sum;
}

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Calls `f` on Reals with exact arithmetic. f16 and bf16 operands travel through f32.
template <class F, class... Values>
Value in_f32(Builder& b, F f, Value first, Values... more) {
  const DType t = b.type(first).scalar;
  const Builder::Exactly exactly(b);
  const Real y =
      f(Real{&b, b.convert(first, DType::f32)}, Real{&b, b.convert(more, DType::f32)}...);
  return b.convert(y.v, t);
}

}  // namespace gnomon::math
