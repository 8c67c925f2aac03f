// shaders/passes/pair_memory.cpp -- neighbours in as few accesses as there can be.
#include "shaders/passes/pair_memory.h"

#include <algorithm>

namespace gnomon::kernel {
namespace {

/// Word `part` of the pairs at `index`, which is wide or alone.
Value word_index(Builder& b, Value index, std::uint32_t part) {
  const Type t = b.type(index);
  return b.add(b.mul(index, b.constant(t, 2)), b.constant(t, part));
}

bool each_alone(Builder& b, Value index, std::uint8_t count) {
  return count == 1 || b.type(index).width > 1;
}

/// Calls f(first, n) for neighbours that one access has: no value is wider than sixteen words.
template <class F>
void for_runs(std::uint8_t count, F f) {
  constexpr std::uint8_t most = 8;
  for (std::uint8_t first = 0; first < count; first += most)
    f(first, std::min<std::uint8_t>(static_cast<std::uint8_t>(count - first), most));
}

/// For both words of the `n` elements from `first` on.
Value doubled(Builder& b, Value mask, std::uint32_t first, std::uint32_t n) {
  if (!mask.valid() || b.type(mask).width == 1) return mask;
  Values parts;
  for (std::uint32_t k = 0; k < 2 * n; ++k) parts.push_back(b.extract(mask, first + k / 2));
  return b.construct(parts);
}

}  // namespace

Pair load_pairs(Builder& b, std::uint32_t buffer, Value index, std::uint8_t count, Value mask) {
  if (each_alone(b, index, count))
    return {b.load(buffer, word_index(b, index, 0), count, mask),
            b.load(buffer, word_index(b, index, 1), count, mask)};
  Values lows, highs;
  for_runs(count, [&](std::uint32_t first, std::uint8_t n) {
    const Value at = word_index(b, b.add(index, b.u32(first)), 0);
    const Value words =
        b.load(buffer, at, static_cast<std::uint8_t>(2 * n), doubled(b, mask, first, n));
    for (std::uint32_t k = 0; k < n; ++k) {
      lows.push_back(b.extract(words, 2 * k));
      highs.push_back(b.extract(words, 2 * k + 1));
    }
  });
  return {b.construct(lows), b.construct(highs)};
}

void store_pairs(Builder& b, std::uint32_t buffer, Value index, Pair p, std::uint8_t count,
                 Value mask) {
  if (each_alone(b, index, count)) {
    b.store(buffer, word_index(b, index, 0), p.low, mask);
    b.store(buffer, word_index(b, index, 1), p.high, mask);
    return;
  }
  for_runs(count, [&](std::uint32_t first, std::uint8_t n) {
    Values words;
    for (std::uint32_t k = first; k < first + n; ++k) {
      words.push_back(b.extract(p.low, k));
      words.push_back(b.extract(p.high, k));
    }
    b.store(buffer, word_index(b, b.add(index, b.u32(first)), 0), b.construct(words),
            doubled(b, mask, first, n));
  });
}

}  // namespace gnomon::kernel
