// shaders/include/gnomon/dtype.h -- the element types of arrays and of kernel values.
#pragma once
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace gnomon {

/// Element type of an array. `boolean` is one byte (0 or 1) in memory.
enum class DType : std::uint8_t {
  boolean,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  bf16,
  f32,
  f64
};

constexpr std::string_view name(DType t) {
  switch (t) {
    case DType::boolean:
      return "bool";
    case DType::i8:
      return "i8";
    case DType::u8:
      return "u8";
    case DType::i16:
      return "i16";
    case DType::u16:
      return "u16";
    case DType::i32:
      return "i32";
    case DType::u32:
      return "u32";
    case DType::i64:
      return "i64";
    case DType::u64:
      return "u64";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
  }
  return "?";
}

/// Bytes of one element in device memory and in host arrays of this library.
constexpr std::uint32_t size_of(DType t) {
  switch (t) {
    case DType::boolean:
    case DType::i8:
    case DType::u8:
      return 1;
    case DType::i16:
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i32:
    case DType::u32:
    case DType::f32:
      return 4;
    case DType::i64:
    case DType::u64:
    case DType::f64:
      return 8;
  }
  return 0;
}

constexpr bool is_float(DType t) {
  return t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::f64;
}
constexpr bool is_signed(DType t) {
  return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64;
}
constexpr bool is_unsigned(DType t) {
  return t == DType::u8 || t == DType::u16 || t == DType::u32 || t == DType::u64;
}
constexpr bool is_integer(DType t) { return is_signed(t) || is_unsigned(t); }
/// Bits that carry the value: 1 for bool.
constexpr std::uint32_t bits_of(DType t) { return t == DType::boolean ? 1 : 8 * size_of(t); }

}  // namespace gnomon
#pragma GCC visibility pop
