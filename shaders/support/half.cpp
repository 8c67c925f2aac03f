// shaders/support/half.cpp -- one rounding routine for both 16-bit formats.
#include "shaders/support/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gnomon {
namespace {

/// `mantissa` stored bits and `exponent` bits, IEEE layout with one sign bit.
std::uint16_t encode(double x, int mantissa, int exponent) {
  const std::uint32_t sign = std::signbit(x) ? 1u << (mantissa + exponent) : 0u;
  const std::uint32_t infinity = ((1u << exponent) - 1u) << mantissa;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | infinity | (1u << (mantissa - 1)));
  const double magnitude = std::fabs(x);
  const int bias = (1 << (exponent - 1)) - 1;
  const int lowest = 1 - bias;  // exponent of the smallest normal number, shared by subnormals
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  if (std::isinf(magnitude) || std::ilogb(magnitude) > bias) {
    return static_cast<std::uint16_t>(sign | infinity);
  }
  const int scale = std::max(std::ilogb(magnitude), lowest);
  const auto steps =
      static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, mantissa - scale)));
  // `steps` counts units of the last place with the hidden bit included. A carry out of the
  // mantissa lands in the exponent field, which is just the next binade (or infinity).
  const std::uint32_t field = static_cast<std::uint32_t>(scale - lowest) << mantissa;
  return static_cast<std::uint16_t>(sign | (field + steps));
}

}  // namespace

std::uint16_t f16_bits(double x) { return encode(x, 10, 5); }
std::uint16_t bf16_bits(double x) { return encode(x, 7, 8); }

float f16_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31u;
  const std::uint32_t mantissa = bits & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace gnomon
