// shaders/passes/narrow.h -- 8- and 16-bit types in 32-bit values. Internal to legalize.
//
// An integer is carried sign- or zero-extended, a float as the f32 of the same value. Rounding
// works on bits, so that it is the same on devices that flush subnormals: those of f16 are normal
// numbers of f32, those of bf16 are never computed with here.
#pragma once
#include "shaders/kernel/builder.h"

namespace gnomon::kernel {

constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
constexpr bool is_narrow(DType t) { return t != DType::boolean && size_of(t) < 4; }
/// i32, u32 or f32 for the narrow types, any other type for itself.
constexpr DType carrier(DType t) {
  if (!is_narrow(t)) return t;
  return is_half(t) ? DType::f32 : is_signed(t) ? DType::i32 : DType::u32;
}

/// An i32 or u32 modulo 2^bits of `t`, as `t` is carried.
Value wrap(Builder&, Value, DType t);
/// The u32 whose low bits are those of a carried integer; the others are zero.
Value low_bits(Builder&, Value carried, DType t);

/// The nearest f16 or bf16, ties to even, carried.
Value round_half(Builder&, Value real, DType t);
/// Its bits as u32.
Value encode_half(Builder&, Value real, DType t);
/// The carried value of 16 bits in a u32.
Value decode_half(Builder&, Value bits, DType t);

/// An f32 between whose rounding to a 16-bit float and that of the i32, u32 or f64 operand there is
/// no difference: nothing is rounded twice.
///
/// Source: S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
/// using rounding to odd", IEEE Trans. Computers 57 (2008): to odd, then to nearest, is to nearest.
Value to_odd_f32(Builder&, Value);

}  // namespace gnomon::kernel
