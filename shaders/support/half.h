// shaders/support/half.h -- f16 and bf16 on the host, rounded to nearest even.
#pragma once
#include <cstdint>

namespace gnomon {

/// Rounds once, straight from f64: going through f32 first would round twice.
std::uint16_t f16_bits(double x);
std::uint16_t bf16_bits(double x);
/// Exact.
float f16_value(std::uint16_t bits);
float bf16_value(std::uint16_t bits);

}  // namespace gnomon
