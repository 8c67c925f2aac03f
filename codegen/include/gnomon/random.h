// codegen/include/gnomon/random.h -- random numbers from keys: Threefry-2x32, JAX's default
// streams.
//
// A key gives one draw. It is move-only so that using it twice does not compile by accident:
// functions that draw take it by value. `split` makes new keys; `clone` repeats a stream on
// purpose. Integer draws are bit for bit those of JAX (64 bits off) for the same seed and mode; so
// are uniform floats; other distributions up to the rounding of log, sqrt and their like, and those
// drawn by rejection (gamma, poisson and what is made of them) unless that rounding turns a
// decision.
//
// Parameters of distributions broadcast to `shape`; draws are f32 or f64, those of uniform and
// normal any float: f16 of 16 random bits and bf16 of 8, as JAX draws them.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gnomon/array.h"

#pragma GCC visibility push(default)
namespace gnomon {

struct TreeAccess;
class Keys;

namespace random {

/// Which counters an array of draws encrypts. Two modes, two streams.
enum class Mode : std::uint8_t {
  partitionable,  // element i encrypts i: JAX's default since 0.5
  original,       // the first half of the words with the second: JAX before
};
std::string_view name(Mode);

}  // namespace random

/// A key: two words, and the mode of everything drawn from it, which is static. Part of any tree (a
/// jit argument, a loop carry).
class Key {
 public:
  Key() = default;  // empty; drawing from it throws UsageError
  /// From u32[2].
  explicit Key(const Array& words, Loc loc = Loc::here());
  Key(const Array& words, random::Mode mode, Loc loc = Loc::here());
  Key(Key&&) noexcept = default;
  Key& operator=(Key&&) noexcept = default;
  // Compilers show this line, and what it says, where a key is copied.
  Key(const Key&) = delete;  // used twice? random::split makes new keys, clone() the same draws
  template <class K>
  requires std::is_same_v<K, Key> Key(K&) {  // NOLINT: implicit, as copies are
    static_assert(
        always_false<K>,
        "gnomon::Key: a key gives one draw, and this would be its second use. Make as many "
        "keys as there are draws: `auto [a, b] = random::split<2>(std::move(key))`; to "
        "draw the same numbers again on purpose pass key.clone(); the last use may take "
        "std::move(key)");
  }

  /// The same key again: the same draws.
  Key clone() const {
    Key same;
    same.words_ = words_;
    same.mode_ = mode_;
    return same;
  }
  const Array& words() const { return words_; }
  random::Mode mode() const { return mode_; }

  /// What `vmap` and `scan` make of the keys a function returns; its words are still to come.
  Keys as_stacked() const;

 private:
  friend struct TreeAccess;
  friend class Keys;
  template <class K>
  static auto fields(K& key) {
    return std::tie(key.words_, key.mode_);
  }
  static constexpr std::array<std::string_view, 2> field_names{"words", "mode"};
  Array words_;
  random::Mode mode_ = random::Mode::partitionable;
};

/// An array of keys, u32[n,2]: the axis to `vmap` or `scan` over.
class Keys {
 public:
  Keys() = default;
  /// From u32[n,2].
  explicit Keys(const Array& words, Loc loc = Loc::here());
  Keys(const Array& words, random::Mode mode, Loc loc = Loc::here());
  Keys(Keys&&) noexcept = default;
  Keys& operator=(Keys&&) noexcept = default;
  Keys(const Keys&) = delete;  // used twice? random::split makes new keys, clone() the same draws

  /// The same keys again: the same draws.
  Keys clone() const {
    Keys same;
    same.words_ = words_;
    same.mode_ = mode_;
    return same;
  }

  Dim size() const { return words_.dim(0); }
  /// Key number `i`; negative ones count from the end.
  Key operator[](Dim i) const;
  const Array& words() const { return words_; }
  random::Mode mode() const { return mode_; }

  /// What a function mapped over keys by `vmap` or `scan` gets; its words are still to come.
  Key as_element() const;

 private:
  friend struct TreeAccess;
  friend class Key;
  template <class K>
  static auto fields(K& keys) {
    return std::tie(keys.words_, keys.mode_);
  }
  static constexpr std::array<std::string_view, 2> field_names{"words", "mode"};
  Array words_;
  random::Mode mode_ = random::Mode::partitionable;
};

namespace random {

/// The key of a seed: a C++ integer, or a traced i32[] or u32[].
/// The two words of the key that `key(seed)` makes.
std::array<std::uint32_t, 2> seed_words(std::int64_t seed);
Key key(std::int64_t seed, Mode mode, Loc loc = Loc::here());
Key key(std::int64_t seed, Loc loc = Loc::here());
Key key(const Array& seed, Mode mode, Loc loc = Loc::here());
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

// ---- bits and integers

/// Random bits of an unsigned dtype.
Array bits(Key key, const Shape& shape, DType dtype = DType::u32, Loc loc = Loc::here());
/// Integers in [lo, hi); lo where hi <= lo. Slightly uneven when hi - lo is no power of two: by
/// less than one part in 2^32.
Array randint(Key key, const Shape& shape, Operand lo, Operand hi, DType dtype = DType::i32);
/// true with probability p.
Array bernoulli(Key key, Operand p, const Shape& shape);
/// -1 or 1 with equal probability.
Array rademacher(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// The number of trials up to the first success of probability p, from 1 on: i32, its largest
/// number for more than that.
Array geometric(Key key, Operand p, const Shape& shape);

// ---- floats by a formula

/// Floats in [lo, hi).
Array uniform(Key key, const Shape& shape, Operand lo = 0.0, Operand hi = 1.0,
              DType dtype = DType::f32);
/// The standard normal distribution.
Array normal(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// The standard normal distribution given that it falls strictly between lo and hi.
Array truncated_normal(Key key, Operand lo, Operand hi, const Shape& shape,
                       DType dtype = DType::f32);
/// exp(sigma z) with z standard normal.
Array lognormal(Key key, Operand sigma, const Shape& shape, DType dtype = DType::f32);
/// Rate 1: density exp(-x).
Array exponential(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// Density exp(-x - exp(-x)).
Array gumbel(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// Density exp(-|x|) / 2.
Array laplace(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// Distribution function 1 / (1 + exp(-x)).
Array logistic(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// Density 1 / (pi (1 + x^2)).
Array cauchy(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// Distribution function 1 - x^-b from 1 on.
Array pareto(Key key, Operand b, const Shape& shape, DType dtype = DType::f32);
/// Distribution function 1 - exp(-x^2 / (2 scale^2)).
Array rayleigh(Key key, Operand scale, const Shape& shape, DType dtype = DType::f32);
/// Distribution function 1 - exp(-(x / scale)^concentration).
Array weibull(Key key, Operand scale, Operand concentration, const Shape& shape,
              DType dtype = DType::f32);
/// The length of a vector of three standard normals.
Array maxwell(Key key, const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
/// The same with a random sign, times `scale`, around `center`.
Array double_sided_maxwell(Key key, Operand center, Operand scale, const Shape& shape,
                           DType dtype = DType::f32);
/// Density that rises linearly from `left` to `mode` and falls to `right`.
Array triangular(Key key, Operand left, Operand mode, Operand right, const Shape& shape,
                 DType dtype = DType::f32);

// ---- floats and integers by rejection: one loop per element with a bound that is never reached in
// practice. Gamma draws, and all that is made of them, move with their parameters as draws of a
// constant probability do (Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients", 2018):
// differentiable once. Counts are constants of a gradient.

/// Density x^(a-1) exp(-x) / Gamma(a), a > 0; NaN otherwise. At most 64 rounds, each taken again
/// with probability below 0.05.
/// Source: Marsaglia, Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26 (2000).
Array gamma(Key key, Operand a, const Shape& shape, DType dtype = DType::f32);
/// The logarithm of such a draw, which stays finite where a draw of small `a` would underflow.
Array loggamma(Key key, Operand a, const Shape& shape, DType dtype = DType::f32);
/// The number of events where `rate` are expected: i32, its largest number for more than that. Up
/// to a rate of 10 by products of uniform draws, beyond by transformed rejection, 64 rounds at
/// most. Source: Knuth, The Art of Computer Programming 2, 3rd edition, 3.4.1, algorithm Q;
/// Hörmann, "The Transformed Rejection Method for Generating Poisson Random Variables", Insurance:
/// Mathematics and Economics 12 (1993), algorithm PTRS.
Array poisson(Key key, Operand rate, const Shape& shape);
/// The number of successes in `n` trials of probability p each; NaN unless n >= 0 is finite and
/// 0 <= p <= 1. A fractional n counts as its whole part; beyond 2^24 (2^53 in f64) counts round.
/// Where fewer than 10 of the rarer outcome are expected by its waiting times, elsewhere by
/// transformed rejection, 64 rounds at most. Draws are not those of JAX.
/// Source: L. Devroye, Non-Uniform Random Variate Generation (1986), X.4.3, second waiting time
/// algorithm; W. Hörmann, "The generation of binomial random variates", J. Statist. Comput. Simul.
/// 46 (1993), algorithm BTRS.
Array binomial(Key key, Operand n, Operand p, const Shape& shape, DType dtype = DType::f32);
/// Density proportional to x^(a-1) (1-x)^(b-1) on [0, 1].
Array beta(Key key, Operand a, Operand b, const Shape& shape, DType dtype = DType::f32);
/// Vectors that sum to 1 along the last axis, for `shape` vectors: alpha[..., n] gives
/// [shape..., n].
Array dirichlet(Key key, Operand alpha, const Shape& shape, DType dtype = DType::f32);
/// The sum of the squares of `df` standard normals.
Array chisquare(Key key, Operand df, const Shape& shape, DType dtype = DType::f32);
/// Student's distribution with `df` degrees of freedom.
Array student_t(Key key, Operand df, const Shape& shape, DType dtype = DType::f32);
/// Fisher's distribution: the ratio of two mean squares of dfnum and dfden standard normals.
Array fisher_f(Key key, Operand dfnum, Operand dfden, const Shape& shape, DType dtype = DType::f32);
/// Sign times Gamma(1/p)^(1/p): density proportional to exp(-|x|^p).
Array generalized_normal(Key key, double p, const Shape& shape, DType dtype = DType::f32,
                         Loc loc = Loc::here());
/// Points in the unit ball of `dimension` dimensions under the p-norm: [shape..., dimension].
Array ball(Key key, Dim dimension, double p, const Shape& shape, DType dtype = DType::f32,
           Loc loc = Loc::here());
/// Points on the unit sphere in `dimension` dimensions: normals scaled to length 1.
Array sphere(Key key, Dim dimension, const Shape& shape, DType dtype = DType::f32,
             Loc loc = Loc::here());

// ---- vectors and matrices

/// Normal vectors with a mean [.., n] and a covariance [.., n, n], positive definite (unchecked):
/// [shape.., n], to which the leading axes of both broadcast. Differentiable in both.
Array multivariate_normal(Key key, Operand mean, Operand covariance, const Shape& shape,
                          DType dtype = DType::f32);
/// Orthogonal matrices [shape.., n, n], uniform in the sense of Haar.
/// Source: Mezzadri, "How to Generate Random Matrices from the Classical Compact Groups", Notices
/// of the AMS 54 (2007).
Array orthogonal(Key key, Dim n, const Shape& shape, DType dtype = DType::f32,
                 Loc loc = Loc::here());

// ---- choices

/// 0 ... n - 1 (i32) in random order.
Array permutation(Key key, Dim n, Loc loc = Loc::here());
/// `x` in random order along `axis`: rows stay whole.
Array permutation(Key key, Operand x, int axis = 0);
/// `x` with every row along `axis` in an order of its own.
Array shuffle(Key key, Operand x, int axis = 0);

struct ChoiceOptions {
  bool replace = true;          // else nothing is drawn twice
  std::optional<Array> p = {};  // weight of each element: non-negative, not all 0 (unchecked)
};
/// Integers (i32) below n. Throws UsageError when more are asked for than there are and none is
/// drawn twice.
Array choice(Key key, Dim n, const Shape& shape, ChoiceOptions options = {}, Loc loc = Loc::here());
/// Elements of `x` along `axis`, which the axes of `shape` replace.
Array choice(Key key, Operand x, const Shape& shape, ChoiceOptions options = {}, int axis = 0);

/// An index (i32) along `axis` of logits, each with probability softmax(logits). `shape` is that of
/// the logits without the axis, with any number of axes in front; empty: without any.
Array categorical(Key key, Operand logits, int axis = -1, const std::optional<Shape>& shape = {});

}  // namespace random
}  // namespace gnomon
#pragma GCC visibility pop
