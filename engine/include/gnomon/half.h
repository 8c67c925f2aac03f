// engine/include/gnomon/half.h -- 16-bit floats on the host: what arrays of f16 and bf16 are made
// from and read into.
#pragma once
#include <cstdint>

#pragma GCC visibility push(default)
namespace gnomon {

/// IEEE 754 binary16. Holds the bits; for arithmetic convert it to float and back.
struct float16 {
  std::uint16_t bits = 0;

  float16() = default;
  /// Rounded to nearest even, once.
  float16(double x);       // NOLINT: implicit, as between the C++ floats
  operator float() const;  // NOLINT: likewise; exact
};

/// The upper half of a float: its range with 8 significant bits.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  bfloat16(double x);      // NOLINT: as above
  operator float() const;  // NOLINT
};

// Arrays of them are the elements of device memory.
static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);

}  // namespace gnomon
#pragma GCC visibility pop
