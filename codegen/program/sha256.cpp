// codegen/program/sha256.cpp -- FIPS 180-4, word by word.
#include "codegen/program/sha256.h"

#include <bit>
#include <cstring>

namespace gnomon {
namespace {

using State = std::array<std::uint32_t, 8>;

// Section 4.2.2: of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::byte* bytes) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return word;
}

void compress(State& state, const std::byte* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t x = w[t - 15], y = w[t - 2];
    w[t] = w[t - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + w[t - 7] +
           (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State step = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += step[i];
}

}  // namespace

Sha256 sha256(std::span<const std::byte> bytes) {
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::size_t at = 0;
  for (; bytes.size() - at >= 64; at += 64) compress(state, bytes.data() + at);
  // A one, zeros, and the number of bits.
  std::array<std::byte, 128> tail{};
  const std::size_t rest = bytes.size() - at;
  if (rest > 0) std::memcpy(tail.data(), bytes.data() + at, rest);
  tail[rest] = std::byte{0x80};
  const std::size_t end = rest < 56 ? 64 : 128;
  const std::uint64_t bits = std::uint64_t{8} * bytes.size();
  for (std::size_t i = 0; i < 8; ++i) tail[end - 1 - i] = static_cast<std::byte>(bits >> 8 * i);
  for (std::size_t block = 0; block < end; block += 64) compress(state, tail.data() + block);
  Sha256 result;
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return result;
}

std::string hex(const Sha256& digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (const std::uint8_t byte : digest) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

}  // namespace gnomon
