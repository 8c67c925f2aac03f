// codegen/include/gnomon/random.h -- random numbers from keys: Threefry-2x32, JAX's default
// streams.
//
// A key gives one draw. It is move-only so that using it twice does not compile by accident:
// functions that draw take it by value. `split` makes new keys; `clone` repeats a stream on
// purpose. Integer draws are bit for bit those of JAX (`jax_threefry_partitionable`, 64 bits off)
// for the same seed; so are uniform floats; normal ones up to the rounding of log1p and sqrt.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "gnomon/array.h"

namespace gnomon {

struct TreeAccess;

/// A key: two words. Part of any tree (a jit argument, a loop carry).
class Key {
 public:
  Key() = default;  // empty; drawing from it throws UsageError
  /// From u32[2].
  explicit Key(const Array& words, Loc loc = Loc::here());
  Key(Key&&) noexcept = default;
  Key& operator=(Key&&) noexcept = default;

  /// The same key again: the same draws.
  Key clone() const { return *this; }
  const Array& words() const { return words_; }

 private:
  friend struct TreeAccess;
  Key(const Key&) = default;
  template <class K>
  static auto fields(K& key) {
    return std::tie(key.words_);
  }
  static constexpr std::array<std::string_view, 1> field_names{"words"};
  Array words_;
};

/// An array of keys, u32[n,2]: the axis to `vmap` or `scan` over.
class Keys {
 public:
  /// What a function mapped over keys by `vmap` gets.
  using Element = Key;
  Keys() = default;
  /// From u32[n,2].
  explicit Keys(const Array& words, Loc loc = Loc::here());
  Keys(Keys&&) noexcept = default;
  Keys& operator=(Keys&&) noexcept = default;

  Dim size() const { return words_.dim(0); }
  /// Key number `i`; negative ones count from the end.
  Key operator[](Dim i) const;
  const Array& words() const { return words_; }

 private:
  friend struct TreeAccess;
  Keys(const Keys&) = default;
  template <class K>
  static auto fields(K& keys) {
    return std::tie(keys.words_);
  }
  static constexpr std::array<std::string_view, 1> field_names{"words"};
  Array words_;
};

namespace random {

/// The key of a seed: a C++ integer, or a traced i32[] or u32[].
Key key(std::int64_t seed, Loc loc = Loc::here());
Key key(const Array& seed, Loc loc = Loc::here());
/// `count` new keys.
Keys split(Key key, Dim count = 2, Loc loc = Loc::here());
/// As separate keys: `auto [a, b] = random::split<2>(std::move(key));`
template <std::size_t count>
std::array<Key, count> split(Key key, Loc loc = Loc::here()) {
  const Keys keys = split(std::move(key), static_cast<Dim>(count), loc);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Key, count>{keys[static_cast<Dim>(I)]...};
  }
  (std::make_index_sequence<count>{});
}
/// A new key from a key and an integer (C++, i32[] or u32[]). Does not use the key up.
Key fold_in(const Key& key, Operand data);

/// Random bits of an unsigned dtype.
Array bits(Key key, const Shape& shape, DType dtype = DType::u32, Loc loc = Loc::here());
/// Floats in [lo, hi), f32 or f64.
Array uniform(Key key, const Shape& shape, Operand lo = 0.0, Operand hi = 1.0,
              DType dtype = DType::f32);
/// The standard normal distribution, f32 or f64.
Array normal(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// true with probability p, of p's shape or a given one.
Array bernoulli(Key key, Operand p, const Shape& shape);
/// -1 or 1 with equal probability.
Array rademacher(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// Integers in [lo, hi); lo where hi <= lo. Slightly uneven when hi - lo is no power of two: by
/// less than one part in 2^32.
Array randint(Key key, const Shape& shape, Operand lo, Operand hi, DType dtype = DType::i32);

}  // namespace random
}  // namespace gnomon
