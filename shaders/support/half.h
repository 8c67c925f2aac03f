// shaders/support/half.h -- f16 and bf16 on the host, rounded to nearest even.
#pragma once
#include <cmath>
#include <cstdint>

namespace gnomon {

/// Rounds once, straight from f64: going through f32 first would round twice.
std::uint16_t f16_bits(double x);
std::uint16_t bf16_bits(double x);
/// A double that rounds to both formats as the integer does. Past 2^53 the nearest double would
/// round twice: the bits it has no room for become one sticky bit.
template <class T>
double half_source(T x) {
  if constexpr (sizeof(T) < 8) {
    return static_cast<double>(x);
  } else {
    const bool negative = x < T{0};
    const std::uint64_t m =
        negative ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
    if (m < (std::uint64_t{1} << 53)) return static_cast<double>(x);
    const double kept = std::ldexp(static_cast<double>((m >> 11) | ((m & 2047) != 0)), 11);
    return negative ? -kept : kept;
  }
}
/// Exact.
float f16_value(std::uint16_t bits);
float bf16_value(std::uint16_t bits);

}  // namespace gnomon
