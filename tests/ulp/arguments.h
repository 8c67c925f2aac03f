// tests/ulp/arguments.h -- pseudo-random and structured arguments, each a pure function of its
// number.
#pragma once
#include <array>
#include <cstdint>
#include <utility>

#include "functions.h"

namespace ulp {

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014): the i-th output.
constexpr std::uint64_t random_bits(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Where something changes: signed zeros, infinities, NaN, ends of the normal and subnormal
/// numbers, small integers and halves.
extern const std::array<float, 40> special_values;

/// The i-th pair of a kind. The first ones are all pairs of special values.
std::pair<float, float> pair(Pairs, std::uint64_t i);

/// The i-th argument in [low, high], by magnitude; low < 0 means -high <= x <= high.
double argument(double low, double high, std::uint64_t i);

}  // namespace ulp
