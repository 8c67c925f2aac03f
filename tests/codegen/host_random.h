// tests/codegen/host_random.h -- Threefry keys and draws written down a second time in plain C++,
// for tests of the traced ones.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gnomon/random.h"

namespace gnomon::test {

using Word = std::uint32_t;

/// Salmon et al., SC 2011: 20 rounds of Threefry-2x32.
inline void threefry(Word k0, Word k1, Word& x0, Word& x1) {
  const int rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const Word key[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
  x0 += key[0];
  x1 += key[1];
  for (int round = 0; round < 20; ++round) {
    x0 += x1;
    x1 = std::rotl(x1, rotations[round % 8]) ^ x0;
    if (round % 4 != 3) continue;
    const Word block = static_cast<Word>(round / 4 + 1);
    x0 += key[block % 3];
    x1 += key[(block + 1) % 3] + block;
  }
}

struct HostKey {
  Word k0 = 0, k1 = 0;
  random::Mode mode = random::Mode::partitionable;

  explicit HostKey(Word seed, random::Mode m = random::Mode::partitionable) : k1(seed), mode(m) {}
  HostKey(Word a, Word b, random::Mode m) : k0(a), k1(b), mode(m) {}

  /// Original mode: counters 0 ... n - 1, padded to an even number; the halves are the two words.
  std::vector<Word> hash(std::size_t n) const {
    const std::size_t half = (n + 1) / 2;
    std::vector<Word> x(2 * half, 0);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<Word>(i);
    for (std::size_t i = 0; i < half; ++i) threefry(k0, k1, x[i], x[half + i]);
    x.resize(n);
    return x;
  }
  std::vector<HostKey> split(std::size_t n) const {
    std::vector<HostKey> keys;
    const std::vector<Word> words = hash(2 * n);
    for (std::size_t i = 0; i < n; ++i) {
      Word a = 0, b = static_cast<Word>(i);
      threefry(k0, k1, a, b);
      if (mode == random::Mode::original) a = words[2 * i], b = words[2 * i + 1];
      keys.emplace_back(a, b, mode);
    }
    return keys;
  }
  std::vector<Word> bits(std::size_t n) const {
    if (mode == random::Mode::original) return hash(n);
    std::vector<Word> r;
    for (std::size_t i = 0; i < n; ++i) {
      Word a = 0, b = static_cast<Word>(i);
      threefry(k0, k1, a, b);
      r.push_back(a ^ b);
    }
    return r;
  }
  std::vector<float> uniform(std::size_t n, float lo = 0, float hi = 1) const {
    std::vector<float> r;
    for (Word w : bits(n)) {
      const float unit = std::bit_cast<float>((w >> 9) | 0x3F800000u) - 1;
      r.push_back(std::fmax(lo, unit * (hi - lo) + lo));
    }
    return r;
  }
  std::vector<float> normal(std::size_t n) const {
    std::vector<float> r;
    for (float u : uniform(n, std::nextafter(-1.0f, 0.0f), 1))
      r.push_back(1.41421356f * erf_inv(u));
    return r;
  }

  /// Giles, "Approximating the erfinv function", single precision.
  static float erf_inv(float x) {
    const float central[9] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                              -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                              -0.00417768164f,  0.246640727f,    1.50140941f};
    const float tail[9] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                           -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                           0.00943887047f,   1.00167406f,     2.83297682f};
    const float w = -std::log1p(-x * x);
    const bool near = w < 5;
    const float at = near ? w - 2.5f : std::sqrt(w) - 3;
    float p = 0;
    for (int i = 0; i < 9; ++i) p = p * at + (near ? central[i] : tail[i]);
    return p * x;
  }
};

}  // namespace gnomon::test
