// shaders/passes/packed.cpp -- whole words where an access covers them, parts of words elsewhere.
#include "shaders/passes/packed.h"

#include <functional>

namespace gnomon::kernel {
namespace {

/// Consecutive elements that fill whole words.
bool covers_words(Builder& b, const PackedAccess& a) {
  return a.aligned && a.width >= a.per_word() && b.type(a.index).width == 1;
}

Value number(Builder& b, std::uint8_t width, std::uint32_t x) {
  return b.constant({DType::u32, width}, x);
}

Value word_index(Builder& b, const PackedAccess& a, Value index) {
  return b.binary(Op::shr, index, number(b, b.type(index).width, a.bytes == 1 ? 2 : 1));
}

/// How many bits of its word lie below an element.
Value bits_below(Builder& b, const PackedAccess& a, Value index) {
  const std::uint8_t width = b.type(index).width;
  const Value part = b.land(index, number(b, width, a.per_word() - 1));
  return b.binary(Op::shl, part, number(b, width, a.bytes == 1 ? 3 : 4));
}

/// The n-th element of every word.
Value every(Builder& b, const PackedAccess& a, Value elements, std::uint32_t n) {
  Values parts;
  for (std::uint32_t k = n; k < a.width; k += a.per_word()) parts.push_back(b.extract(elements, k));
  return b.construct(parts);
}

/// One value per word out of those of its elements.
Value combined(Builder& b, const PackedAccess& a, Value elements, Op op) {
  Value all = every(b, a, elements, 0);
  for (std::uint32_t n = 1; n < a.per_word(); ++n)
    all = b.binary(op, all, every(b, a, elements, n));
  return all;
}

bool is_wide(Builder& b, Value mask) { return mask.valid() && b.type(mask).width > 1; }

/// Index of each component.
Value indices(Builder& b, const PackedAccess& a) {
  if (b.type(a.index).width == a.width) return a.index;
  Values parts;
  for (std::uint32_t k = 0; k < a.width; ++k) parts.push_back(b.u32(k));
  return b.add(b.splat(a.index, a.width), b.construct(parts));
}

/// The component's index when the access has one for all.
Value index_of(Builder& b, const PackedAccess& a, std::uint32_t component) {
  if (b.type(a.index).width > 1) return b.extract(a.index, component);
  return b.add(a.index, b.u32(component));
}

void when(Builder& b, Value mask, const std::function<void()>& store) {
  if (!mask.valid()) return store();
  b.if_(
      mask,
      [&] {
        store();
        return Values{};
      },
      [] { return Values{}; });
}

void store_part(Builder& b, const PackedAccess& a, Value index, Value bits, bool alone) {
  const Value at = word_index(b, a, index), below = bits_below(b, a, index);
  const Value ones = b.u32(a.bytes == 1 ? 0xffu : 0xffffu);
  const Value others = b.unary(Op::bnot, b.binary(Op::shl, ones, below));
  const Value moved = b.binary(Op::shl, bits, below);
  if (alone) {
    b.store(a.buffer, at, b.lor(b.land(b.load(a.buffer, at), others), moved));
  } else {
    b.atomic(Op::atomic_and, a.buffer, at, others);
    b.atomic(Op::atomic_or, a.buffer, at, moved);
  }
}

void store_parts(Builder& b, const PackedAccess& a, Value bits, bool alone) {
  b.kernel().buffers[a.buffer].access = Access::read_write;
  for (std::uint32_t k = 0; k < a.width; ++k) {
    const Value mask = is_wide(b, a.mask) ? b.extract(a.mask, k) : a.mask;
    const auto store = [&] { store_part(b, a, index_of(b, a, k), b.extract(bits, k), alone); };
    when(b, mask, store);
  }
}

/// Words at `at`, read by atomics that change nothing. Where the mask is false, the first word: it
/// is there.
Value read_shared(Builder& b, const PackedAccess& a, Value at) {
  const Value none = number(b, b.type(at).width, 0);
  if (a.mask.valid()) at = b.select(b.splat(a.mask, b.type(at).width), at, none);
  return b.atomic(Op::atomic_or, a.buffer, at, none);
}

}  // namespace

Value load_packed(Builder& b, const PackedAccess& a) {
  if (a.shared || !covers_words(b, a)) {
    const Value index = indices(b, a);
    const Value at = word_index(b, a, index);
    const Value words = a.shared ? read_shared(b, a, at) : b.load(a.buffer, at, 1, a.mask);
    return b.binary(Op::shr, words, bits_below(b, a, index));
  }
  const auto count = static_cast<std::uint8_t>(a.width / a.per_word());
  const Value mask = is_wide(b, a.mask) ? combined(b, a, a.mask, Op::bor) : a.mask;
  const Value words = b.load(a.buffer, word_index(b, a, a.index), count, mask);
  Values spread, below;
  for (std::uint32_t k = 0; k < a.width; ++k) {
    spread.push_back(b.extract(words, k / a.per_word()));
    below.push_back(b.u32(k % a.per_word() * 8 * a.bytes));
  }
  return b.binary(Op::shr, b.construct(spread), b.construct(below));
}

void store_packed(Builder& b, const PackedAccess& a, Value bits, bool alone) {
  if (!covers_words(b, a)) {
    store_parts(b, a, bits, alone);
    return;
  }
  const auto whole = [&] {
    Value words = every(b, a, bits, 0);
    const std::uint8_t count = b.type(words).width;
    for (std::uint32_t n = 1; n < a.per_word(); ++n) {
      const Value moved =
          b.binary(Op::shl, every(b, a, bits, n), number(b, count, 8 * a.bytes * n));
      words = b.lor(words, moved);
    }
    b.store(a.buffer, word_index(b, a, a.index), words, is_wide(b, a.mask) ? Value{} : a.mask);
  };
  if (!is_wide(b, a.mask)) {
    whole();
    return;
  }
  // Nearly always all components are there: only the last group of lanes ends early.
  b.if_(
      b.all(a.mask),
      [&] {
        whole();
        return Values{};
      },
      [&] {
        store_parts(b, a, bits, alone);
        return Values{};
      });
}

}  // namespace gnomon::kernel
