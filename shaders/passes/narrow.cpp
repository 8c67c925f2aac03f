// shaders/passes/narrow.cpp -- integers are cut, floats rounded on their bits.
#include "shaders/passes/narrow.h"

#include "shaders/math/real.h"

namespace gnomon::kernel {

using math::Real;

namespace {

constexpr int all_but_sign = 0x7fffffff;
constexpr int f32_infinity = 0x7f800000;
constexpr int quiet = 0x00400000;
// f16 within f32: 13 fewer mantissa bits, a bias that is 112 lower.
constexpr int f16_least_normal = 0x38800000;  // 2^-14
constexpr int f16_overflow = 0x47800000;      // 2^16
// Between 1/2 and 1 an f32 counts in steps of 2^-24, the smallest f16: adding 1/2 rounds to it.
constexpr float half = 0.5f;
constexpr int half_bits = 0x3f000000;

/// A magnitude plus half a unit of bit `dropped`, less one when that bit is even.
Real nudged(Real bits, int dropped) {
  return bits + ((1 << (dropped - 1)) - 1) + ((bits >> dropped) & 1);
}

/// The magnitude of an integer that no f32 holds, with a sticky last bit.
Real odd_integer(Real magnitude) {
  const Real large = magnitude >= (1 << 24);
  const Real rest = magnitude & 255;
  const Real shortened = (magnitude >> 8) | select(rest != 0, rest.like(1), rest.like(0));
  const Real f = select(large, shortened, magnitude).to(DType::f32);
  return f * select(large, f.like(256.0f), f.like(1.0f));
}

/// Rounding to nearest is undone by one unit where that left the last bit even.
Real odd_double(Real x) {
  const Real nearest = x.to(DType::f32), back = nearest.to(DType::f64),
             bits = nearest.bits(DType::u32);
  const Real wrong =
      (back != x) & ((bits & 1) == 0) & !is_nan(nearest) & (magnitude(nearest) < math::infinity);
  const Real away = magnitude(x) > magnitude(back);
  const Real odd = select(away, bits + 1, bits - 1);
  return select(wrong, odd, bits).bits(DType::f32);
}

}  // namespace

Value wrap(Builder& b, Value v, DType t) {
  const Real x{&b, v};
  const int unused = 32 - static_cast<int>(bits_of(t));
  if (is_signed(t)) return ((x << unused) >> unused).v;
  return (x & static_cast<int>((1u << bits_of(t)) - 1)).v;
}

Value low_bits(Builder& b, Value carried, DType t) {
  if (!is_signed(t)) return carried;
  return (Real{&b, carried}.bits(DType::u32) & static_cast<int>((1u << bits_of(t)) - 1)).v;
}

Value round_half(Builder& b, Value real, DType t) {
  const Builder::Exactly exactly(b);
  const Real x{&b, real}, bits = x.bits(DType::u32);
  const Real m = bits & all_but_sign;
  if (t == DType::bf16) {
    const Real rounded = select(m > f32_infinity, bits | quiet, nudged(bits, 16));
    return (rounded & static_cast<int>(0xffff0000u)).bits(DType::f32).v;
  }
  const Real n = nudged(m, 13) & static_cast<int>(0xffffe000u);
  const Real normal = select(n >= f16_overflow, n.like(f32_infinity), n);
  const Real small = ((m.bits(DType::f32) + half) - half).bits(DType::u32);
  const Real rounded = select(m < f16_least_normal, small, normal);
  return (select(m > f32_infinity, m | quiet, rounded) | (bits ^ m)).bits(DType::f32).v;
}

Value encode_half(Builder& b, Value real, DType t) {
  const Builder::Exactly exactly(b);
  const Real x{&b, real}, bits = x.bits(DType::u32);
  const Real m = bits & all_but_sign;
  if (t == DType::bf16) return (select(m > f32_infinity, bits | quiet, nudged(bits, 16)) >> 16).v;
  const Real normal = (nudged(m, 13) >> 13) - (112 << 10);
  const Real small = (m.bits(DType::f32) + half).bits(DType::u32) - half_bits;
  const Real infinite = normal.like(0x7c00);
  const Real finite = select(m < f16_least_normal, small, normal);
  const Real nan = ((m >> 13) & 0x3ff) | 0x7e00;
  const Real code = select(m > f32_infinity, nan, select(m >= f16_overflow, infinite, finite));
  return (code | ((bits >> 16) & 0x8000)).v;
}

Value decode_half(Builder& b, Value bits, DType t) {
  const Builder::Exactly exactly(b);
  const Real h{&b, bits};
  if (t == DType::bf16) return (h << 16).bits(DType::f32).v;
  const Real m = h & 0x7fff;
  const Real wide = (m << 13) + (112 << 23);
  const Real special = wide + (112 << 23);
  const Real small = ((m + half_bits).bits(DType::f32) - half).bits(DType::u32);
  const Real code = select(m < 0x400, small, select(m >= 0x7c00, special, wide));
  return (code | ((h & 0x8000) << 16)).bits(DType::f32).v;
}

Value to_odd_f32(Builder& b, Value v) {
  const Builder::Exactly exactly(b);
  const Real x{&b, v};
  switch (x.type().scalar) {
    case DType::u32:
      return odd_integer(x).v;
    case DType::i32: {
      const Real negative = x < 0;
      const Real f = odd_integer(select(negative, x.like(0) - x, x).bits(DType::u32));
      return select(negative, -f, f).v;
    }
    case DType::f64:
      return odd_double(x).v;
    default:
      return x.to(DType::f32).v;
  }
}

}  // namespace gnomon::kernel
