// tests/ulp/arguments.cpp -- see arguments.h.
#include "arguments.h"

#include <bit>
#include <cmath>
#include <limits>

namespace ulp {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// In [0, 1).
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Positive and finite, every exponent as often.
float magnitude(std::uint32_t bits) { return from_bits(bits % 0x7f800000); }

std::pair<float, float> power(std::uint64_t kind, std::uint64_t r, std::uint64_t s) {
  const auto low = static_cast<std::uint32_t>(r), high = static_cast<std::uint32_t>(r >> 32);
  float x = magnitude(low);
  switch (kind) {
    case 0: {  // the result in or near the range of f32
      const double y = (unit(s) * 300 - 150) / std::log2(double{x});
      return {x, static_cast<float>(y)};
    }
    case 1: {  // next to one, to the power of what that stands
      x = from_bits(0x3f800000 - (1u << 16) + low % (1u << 17));
      const double y = (unit(s) * 300 - 150) / std::log2(double{x});
      return {x, static_cast<float>(std::fmin(std::fmax(y, -3e38), 3e38))};
    }
    case 2:  // whole and half exponents, bases of both signs
      return {high & 1 ? -x : x,
              static_cast<float>(static_cast<std::int32_t>(s % 257) - 128) * (high & 2 ? 0.5f : 1)};
    default:  // moderate bases and exponents
      return {from_bits(0x3c000000 + low % 0x08000000), static_cast<float>(unit(s) * 40 - 20)};
  }
}

std::pair<float, float> ratio(std::uint64_t kind, std::uint64_t r, std::uint64_t s) {
  const auto low = static_cast<std::uint32_t>(r), high = static_cast<std::uint32_t>(s);
  const float x = from_bits(low);
  switch (kind) {
    case 0:  // of about the same size
      return {x, from_bits((low & 0x7fffffff) / 2 * 2 % 0x7f000000 + high % 0x02000000)};
    case 1:  // nearly equal or opposite
      return {x, from_bits((low ^ (high & 0x80000000)) + high % 64 - 32)};
    default:  // moderate
      return {static_cast<float>(unit(r) * 20 - 10), static_cast<float>(unit(s) * 20 - 10)};
  }
}

std::pair<float, float> sum(std::uint64_t kind, std::uint64_t r, std::uint64_t s) {
  const double size = kind == 0 ? 200 : kind == 1 ? 20 : 1;
  return {static_cast<float>((unit(r) - 0.5) * size), static_cast<float>((unit(s) - 0.5) * size)};
}

}  // namespace

const std::array<float, 40> special_values{0.0f,
                                           -0.0f,
                                           infinity,
                                           -infinity,
                                           nan,
                                           1.0f,
                                           -1.0f,
                                           2.0f,
                                           -2.0f,
                                           3.0f,
                                           -3.0f,
                                           4.0f,
                                           0.5f,
                                           -0.5f,
                                           1.5f,
                                           -1.5f,
                                           2.5f,
                                           -2.5f,
                                           10.0f,
                                           100.0f,
                                           -100.0f,
                                           1e10f,
                                           -1e10f,
                                           16777215.0f,
                                           16777216.0f,
                                           16777217.0f,
                                           -16777215.0f,
                                           8388607.5f,
                                           3.40282347e38f,
                                           -3.40282347e38f,
                                           1.17549435e-38f,
                                           -1.17549435e-38f,
                                           1.17549421e-38f,
                                           -1.17549421e-38f,
                                           1.4e-45f,
                                           -1.4e-45f,
                                           0.99999994f,
                                           1.00000012f,
                                           -0.99999994f,
                                           -1.00000012f};

std::pair<float, float> pair(Pairs pairs, std::uint64_t i) {
  constexpr std::uint64_t specials = special_values.size();
  if (i < specials * specials) return {special_values[i / specials], special_values[i % specials]};
  const std::uint64_t r = random_bits(2 * i), s = random_bits(2 * i + 1);
  if (i % 8 < 2)
    return {from_bits(static_cast<std::uint32_t>(r)), from_bits(static_cast<std::uint32_t>(s))};
  if (i % 64 == 7) return {special_values[r % specials], from_bits(static_cast<std::uint32_t>(s))};
  if (i % 64 == 15) return {from_bits(static_cast<std::uint32_t>(r)), special_values[s % specials]};
  const std::uint64_t kind = i % 4;
  switch (pairs) {
    case Pairs::powers:
      return power(kind, r, s);
    case Pairs::ratios:
      return ratio(kind, r, s);
    case Pairs::sums:
      return sum(kind, r, s);
  }
  return {};
}

double argument(double low, double high, std::uint64_t i) {
  const std::uint64_t r = random_bits(2 * i), s = random_bits(2 * i + 1);
  const bool both = low < 0;
  if (i % 4 == 3)
    return (both ? -high : low) + unit(r) * ((both ? 2 : 1) * high - (both ? 0 : low));
  const double least = both ? std::fmin(high, 1) * 0x1p-60 : std::fmax(low, 0x1p-1022);
  const auto first = std::bit_cast<std::uint64_t>(least), last = std::bit_cast<std::uint64_t>(high);
  const auto x = std::bit_cast<double>(first + r % (last - first + 1));
  return both && (s & 1) != 0 ? -x : x;
}

}  // namespace ulp
