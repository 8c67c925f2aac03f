// engine/include/gnomon/ode/brownian.h -- paths that drive differential equations: Brownian ones,
// and what a solver asks of any of them.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/random.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// What a Brownian path knows of a step besides its change.
enum class LevyArea : std::uint8_t {
  none,
  space_time,  // H: the mean of the path over the step, less that of its ends
};

/// What a Brownian path W does from s to t, by h = t - s: w = W(t) - W(s) of variance |h| and, with
/// LevyArea::space_time, h = (integral of W over the step) / h - (W(s) + W(t)) / 2 of variance
/// |h| / 12, independent of w.
template <class W>
struct BrownianIncrement {
  W w;
  std::optional<W> h;
};

namespace detail {

using PathArrays = std::vector<Array>;

/// A step of the user's time.
struct Stretch {
  Array t0, t1;
  std::optional<Array> index;  // i32[]
};

/// What a path does in a step.
struct Noise {
  PathArrays w, h;  // h: empty where nobody knows it
};

/// A path as solvers see it.
class Drive {
 public:
  virtual ~Drive() = default;
  virtual bool is_brownian() const { return false; }
  virtual bool has_area() const { return false; }
  virtual bool needs_index() const { return false; }
  /// Of times that are numbers: f64 where an array of the path is.
  virtual DType time_dtype() const { return DType::f32; }
  /// The times it is known at.
  virtual std::optional<std::pair<double, double>> range() const { return {}; }
  /// What a path remembers of a time, so that steps that meet there look it up once.
  virtual PathArrays at(const Array&) const { return {}; }
  /// The same of the first of its times.
  virtual PathArrays at_start() const { return {}; }
  virtual Noise between(const Stretch&, const PathArrays& start, const PathArrays& end) const = 0;
};

enum class Calculus : std::uint8_t { unsaid, ito, stratonovich };

struct Driven {
  std::shared_ptr<const Drive> drive;  // null: time
  Calculus calculus = Calculus::unsaid;
};

std::shared_ptr<const Drive> brownian_tree(double t0, double t1, double tol, const PathArrays& like,
                                           Key key, LevyArea, Loc);
std::shared_ptr<const Drive> indexed_path(const PathArrays& like, Key key, LevyArea, Loc);
/// The increments of a path between two times.
Noise noise_between(const Drive&, const Operand& t0, const Operand& t1);
Noise noise_of_step(const Drive&, const Operand& index, const Operand& length);
PathArrays change_between(const PathArrays& start, const PathArrays& end);
/// The first array that `at` remembers of each array of a tree.
PathArrays values_at(const Drive&, const Operand& t);

/// What g makes of the change w of a path, array by array as ControlTerm says, in shapes and dtypes
/// of y.
PathArrays product(const PathArrays& g, const PathArrays& w, const PathArrays& y);

template <class W>
BrownianIncrement<W> increment_of(const W& like, const Noise& noise) {
  BrownianIncrement<W> all{tree::with_slots(like, noise.w), {}};
  if (!noise.h.empty()) all.h.emplace(tree::with_slots(like, noise.h));
  return all;
}
template <class W>
W holes(const W& like) {
  return tree::map([](const Array&) { return Array::hole(); }, like);
}

}  // namespace detail

/// A Brownian path between t0 and t1 as a function of time: whatever steps ask for it, in whatever
/// order and how often, they see the same path. What steps of changing lengths need.
///
/// like: a tree of f32 or f64 arrays of which shapes and dtypes count: independent Brownian motions
/// for all their elements. The path is bisected down to intervals of at most `tol`, inside of which
/// values at different times are drawn from one number: steps have to be longer. At most 30 times.
/// Derivatives take the path for a constant.
/// Cost: a value is log2((t1 - t0) / tol) rounds of one block of Threefry and one or, with an
/// area, two normal numbers each. A step takes one value: where it ends.
/// Unchecked: NaN at traced times outside of [t0, t1]. In f32 areas of steps below 1e-4 of the
/// path's length have an error of a per cent or more.
/// Throws UsageError unless t0 < t1 and `tol` is above 2^-30 of their distance.
/// Source: X. Li, T.-K. L. Wong, R. Chen, D. Duvenaud, Scalable gradients for stochastic
/// differential equations, AISTATS 2020; with areas: J. Foster, Numerical approximations for
/// stochastic differential equations, 2020, theorem 6.1.4.
template <class W>
class VirtualBrownianTree {
 public:
  VirtualBrownianTree(double t0, double t1, double tol, const W& like, Key key,
                      LevyArea levy_area = LevyArea::none, Loc loc = Loc::here())
      : like_(detail::holes(like)),
        drive_(detail::brownian_tree(t0, t1, tol, tree::leaves(like), std::move(key), levy_area,
                                     loc)) {}

  /// W(t), which is 0 at t0.
  W evaluate(const Operand& t) const {
    return tree::with_slots(like_, detail::values_at(*drive_, t));
  }
  BrownianIncrement<W> evaluate(const Operand& from, const Operand& to) const {
    return detail::increment_of(like_, detail::noise_between(*drive_, from, to));
  }
  const std::shared_ptr<const detail::Drive>& drive() const { return drive_; }

 private:
  W like_;
  std::shared_ptr<const detail::Drive> drive_;
};

/// Brownian increments drawn by the number of the step, one block of Threefry each: the fast path
/// for ConstantStepSize and StepTo. Steps taken again on the way back see the same numbers; another
/// choice of steps sees another path, and solves whose steps depend on errors are refused.
///
/// like: as for VirtualBrownianTree. One array of one element in f32 takes w from the first word of
/// `random::fold_in(key, index)` and the area from the second one.
template <class W>
class IndexedBrownianPath {
 public:
  IndexedBrownianPath(const W& like, Key key, LevyArea levy_area = LevyArea::none,
                      Loc loc = Loc::here())
      : like_(detail::holes(like)),
        drive_(detail::indexed_path(tree::leaves(like), std::move(key), levy_area, loc)) {}

  /// What the path does in step number `index`, which is `length` long.
  BrownianIncrement<W> step(const Operand& index, const Operand& length) const {
    return detail::increment_of(like_, detail::noise_of_step(*drive_, index, length));
  }
  const std::shared_ptr<const detail::Drive>& drive() const { return drive_; }

 private:
  W like_;
  std::shared_ptr<const detail::Drive> drive_;
};

namespace detail {

template <class P>
inline constexpr bool has_drive = requires(const P& path) {
  { path.drive() } -> std::convertible_to<std::shared_ptr<const Drive>>;
};

template <class T>
inline constexpr bool is_increment = false;
template <class W>
inline constexpr bool is_increment<BrownianIncrement<W>> = true;

/// A path of the user's.
template <class P>
class OwnPath final : public Drive {
 public:
  explicit OwnPath(const P& path) : path_(path) {}
  bool is_brownian() const override { return gives_increments(); }
  bool has_area() const override { return gives_increments(); }
  PathArrays at(const Array& t) const override {
    if constexpr (two_times)
      return {};
    else
      return tree::leaves(path_.evaluate(t));
  }
  Noise between(const Stretch& s, const PathArrays& start, const PathArrays& end) const override {
    if constexpr (gives_increments()) {
      const auto all = path_.evaluate(s.t0, s.t1);
      return {tree::leaves(all.w), all.h ? tree::leaves(*all.h) : PathArrays{}};
    } else if constexpr (two_times) {
      return {tree::leaves(path_.evaluate(s.t0, s.t1)), {}};
    } else {
      return {change_between(start, end), {}};
    }
  }

 private:
  static constexpr bool two_times = requires(const P& path, const Array& t) {
    path.evaluate(t, t);
  };
  static constexpr bool gives_increments() {
    if constexpr (two_times)
      return is_increment<std::remove_cvref_t<decltype(std::declval<const P&>().evaluate(
          std::declval<const Array&>(), std::declval<const Array&>()))>>;
    else
      return false;
  }
  static_assert(
      two_times || requires(const P& path, const Array& t) { path.evaluate(t); },
      "gnomon::ode::ControlTerm: a path has evaluate(t0, t1), its change between two "
      "times, or evaluate(t): VirtualBrownianTree, Interpolation or a type of your own");
  P path_;
};

template <class P>
std::shared_ptr<const Drive> drive_of(const P& path) {
  if constexpr (has_drive<P>)
    return path.drive();
  else
    return std::make_shared<OwnPath<P>>(path);
}

}  // namespace detail
}  // namespace gnomon::ode
#pragma GCC visibility pop
