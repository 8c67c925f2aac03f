// tests/bench/inputs.h -- numbers that problems begin with, each a hash of where it stands.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// Multiplications and shifts after https://github.com/skeeto/hash-prospector, "lowbias32".
inline uint32_t scrambled(uint32_t x) {
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  return x ^ x >> 16;
}
inline uint32_t scrambled(size_t index, uint32_t seed) {
  return scrambled(static_cast<uint32_t>(index) * 0x9E3779B9u + seed);
}

/// Multiples of 1/8 in [-1, 1].
inline std::vector<float> eighths(size_t n, uint32_t seed) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; i++)
    x[i] = static_cast<float>(static_cast<int>(scrambled(i, seed) % 17u) - 8) / 8.0f;
  return x;
}

/// In [-1, 1), in steps of 2^-23.
inline float signed_uniform(size_t index, uint32_t seed) {
  return std::ldexp(static_cast<float>(scrambled(index, seed) >> 8), -23) - 1.0f;
}

}  // namespace bench
