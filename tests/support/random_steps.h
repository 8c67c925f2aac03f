// tests/support/random_steps.h -- one function's values, and the straight-line steps that make more
// of them. Internal to the generator; the families of steps have a file each.
#pragma once
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "gnomon/ops.h"

namespace gnomon::testing {

/// Draws that do not depend on the standard library: its distributions differ between
/// implementations. Every draw is a statement of its own, because the order in which arguments are
/// evaluated differs as well.
class Random {
 public:
  /// Seeds that follow each other start far apart in the sequence: by its own step, they would
  /// give the same draws, one place on.
  explicit Random(std::uint64_t seed) : state_(mixed(seed)) {}
  std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15u); }
  /// 0 .. n - 1.
  Dim below(Dim n) { return static_cast<Dim>(next() % static_cast<std::uint64_t>(n)); }
  /// low .. high.
  Dim between(Dim low, Dim high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class T>
  const T& one_of(const std::vector<T>& v) {
    return v[static_cast<std::size_t>(below(static_cast<Dim>(v.size())))];
  }

 private:
  /// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: splitmix64.
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

/// How far two executions of a value may be apart.
enum class Trust : std::uint8_t {
  exact,    // not at all: it may be compared, rounded or branched on
  rounded,  // by the rounding of a few operations, which what is made of it may enlarge a little
  coarse,   // by units of f16 or bf16: it is moved and given out, not computed with
};

struct Value {
  Array array;
  Trust trust = Trust::exact;

  bool exact() const { return trust == Trust::exact; }
  DType dtype() const { return array.dtype(); }
  const Shape& shape() const { return array.shape(); }
  int rank() const { return array.rank(); }
  /// Of f32 and f64, which all functions take; f16 and bf16 round after every operation and have
  /// steps of their own, all exact but those that give something coarse.
  bool floating() const { return dtype() == DType::f32 || dtype() == DType::f64; }
  bool narrow() const { return dtype() == DType::f16 || dtype() == DType::bf16; }
  bool integer() const { return is_integer(dtype()); }
  bool boolean() const { return dtype() == DType::boolean; }
};

/// What a whole program has in common.
struct Setting {
  // Lengths that it uses again and again, so that shapes meet.
  Dim lanes = 4;
  std::vector<Dim> lengths;
  std::vector<DType> dtypes;
};

/// What one function may hold.
struct Style {
  bool smooth = false;  // no kinks where floats are not exact: two executions see one derivative
  int most_rank = 6;    // vmap and scan around it add axes, up to eight
};

/// A pool of values and the operations on them that hold no graphs. A step that finds no operands,
/// or draws what does not fit them, returns false and has added nothing.
class Steps {
 protected:
  Steps(std::uint64_t seed, int depth, Dim max_elements, const Setting& setting, Style style)
      : random_(seed),
        depth_(depth),
        max_elements_(max_elements),
        setting_(setting),
        style_(style) {}

  // ---- values (random_values.cpp)

  /// What functions take an arbitrary one of: whatever may be computed with.
  template <class F>
  std::optional<Value> pick(F wanted) {
    return pick_any([&](const Value& v) { return v.trust != Trust::coarse && wanted(v); });
  }
  /// Coarse values, too: for what moves elements.
  template <class F>
  std::optional<Value> pick_any(F wanted) {
    std::vector<std::size_t> fits;
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (wanted(values_[i])) fits.push_back(i);
    if (fits.empty()) return std::nullopt;
    const bool recent = random_.chance(60);
    const std::size_t from = recent && fits.size() > 3 ? fits.size() - 3 : 0;
    const auto span = static_cast<Dim>(fits.size() - from);
    return values_[fits[from + static_cast<std::size_t>(random_.below(span))]];
  }
  std::optional<Value> pick_array() {
    return pick([](const Value& v) { return v.rank() > 0; });
  }
  std::optional<Value> pick_float() {
    return pick([](const Value& v) { return v.floating(); });
  }
  std::optional<Value> pick_integer_scalar() {
    return pick([](const Value& v) { return v.integer() && v.rank() == 0; });
  }
  bool may_kink(const Value& v) const { return v.exact() || !style_.smooth; }

  bool add(Array a, Trust trust);
  bool exact(Array a) { return add(std::move(a), Trust::exact); }
  bool rounded(Array a) { return add(std::move(a), Trust::rounded); }
  bool coarse(Array a) { return add(std::move(a), Trust::coarse); }
  /// What is made of narrow floats by functions or in another order is coarse, of wider ones
  /// rounded, and exact of anything else.
  bool approximate(Array a);
  static Trust worse(const Value& a, const Value& b) { return std::max(a.trust, b.trust); }

  DType dtype() { return random_.one_of(setting_.dtypes); }
  Dim length();
  int axis(const Value& v) { return static_cast<int>(random_.below(v.rank())); }
  std::vector<int> order(int rank);
  static bool broadcasts(const Shape& from, const Shape& to);
  static bool convertible(const Value& v, DType to);
  static Array converted(const Value& v, DType to);
  /// The elements of a value, over and over, in another shape.
  static Array filled(const Value& v, const Shape& shape);
  /// A float array with values between -1 and 1.
  static Array squashed(const Array& x) { return tanh(x); }
  /// Two values of one dtype whose shapes broadcast.
  std::optional<std::pair<Value, Value>> two();

  // ---- elementwise (random_elements.cpp)
  bool convert();
  bool reinterpret();
  bool unary();
  bool binary();
  bool compare();
  bool choose();
  bool create();
  bool special_function();

  // ---- shapes, reductions, products (random_shapes.cpp)
  bool rearrange();
  bool cut();
  bool join();
  bool reduce();
  bool multiply();

  // ---- positions known only when the program runs (random_positions.cpp)
  bool read_at();
  bool read_elements();
  bool slice_at();
  bool write_at();
  bool write_elements();
  bool segments();
  bool random_draws();

  // ---- along axes (random_runs.cpp)
  bool sorted();
  bool searched();
  bool accumulate();
  bool windows();
  bool convolve();
  bool fourier();

  // ---- matrices (random_matrices.cpp)
  bool linear_algebra();

  Random random_;
  int depth_;
  Dim max_elements_;
  const Setting& setting_;
  const Style style_;
  std::vector<Value> values_;

 private:
  bool unary_integer(const Value&);
  bool unary_exact(const Value&);
  bool unary_narrow(const Value&);
  bool binary_integer(const Value&, const Value&);
  bool binary_narrow(const Value&, const Value&);
  bool reduce_narrow(const Value&, int axis);
  bool multiply_batched(const Value&);
  bool scaled(Array product, Dim terms);
  std::optional<Value> pick_indices();
  Array positions(const Value&, Dim n);
  std::vector<Operand> starts(const Value&);
  Array square_matrix(const Value&, const Shape& batch, Dim n);
};

}  // namespace gnomon::testing
