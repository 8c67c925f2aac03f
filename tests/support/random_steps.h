// tests/support/random_steps.h -- one function's values, and the straight-line steps that make more
// of them.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"

namespace gnomon::testing {

/// Draws that do not depend on the standard library: its distributions differ between
/// implementations. Every draw is a statement of its own, because the order in which arguments are
/// evaluated differs as well.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567) {}
  std::uint64_t next() {
    // Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: splitmix64.
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 .. n - 1.
  Dim below(Dim n) { return static_cast<Dim>(next() % static_cast<std::uint64_t>(n)); }
  /// low .. high.
  Dim between(Dim low, Dim high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

struct Value {
  Array array;
  bool exact = true;  // the same on every device: what may be compared, rounded or branched on

  DType dtype() const { return array.dtype(); }
  const Shape& shape() const { return array.shape(); }
  int rank() const { return array.rank(); }
  bool floating() const { return dtype() == DType::f32; }
  bool integer() const { return dtype() == DType::i32 || dtype() == DType::u32; }
  bool boolean() const { return dtype() == DType::boolean; }
};

constexpr std::array dtypes{DType::f32, DType::i32, DType::u32, DType::boolean};

/// Lengths that a program uses again and again, so that shapes meet.
struct Lengths {
  Dim lanes = 4;
  std::vector<Dim> others;
};

/// What a function may hold that will be differentiated.
struct Style {
  bool smooth = false;    // no kinks where floats are not exact: two executions see one derivative
  bool straight = false;  // no loops and branches: reverse mode stops there
};

/// A pool of values and the operations on them that hold no graphs. Internal to the generator.
class Steps {
 protected:
  Steps(std::uint64_t seed, int depth, Dim max_elements, const Lengths& lengths, Style style)
      : random_(seed),
        depth_(depth),
        max_elements_(max_elements),
        lengths_(lengths),
        style_(style) {}

  bool may_kink(const Value& v) const { return v.exact || !style_.smooth; }

  template <class F>
  std::optional<Value> pick(F wanted) {
    std::vector<std::size_t> fits;
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (wanted(values_[i])) fits.push_back(i);
    if (fits.empty()) return std::nullopt;
    const bool recent = random_.chance(60);
    const std::size_t from = recent && fits.size() > 3 ? fits.size() - 3 : 0;
    const auto span = static_cast<Dim>(fits.size() - from);
    return values_[fits[from + static_cast<std::size_t>(random_.below(span))]];
  }
  std::optional<Value> pick_integer_scalar() {
    return pick([](const Value& v) { return v.integer() && v.rank() == 0; });
  }

  bool add(Array a, bool exact) {
    if (a.size() > max_elements_) return false;
    values_.push_back({std::move(a), exact});
    return true;
  }
  /// Integers and bool always are.
  bool add_like(Array a, bool exact_float) {
    const bool exact = a.dtype() != DType::f32 || exact_float;
    return add(std::move(a), exact);
  }

  static bool broadcasts(const Shape& from, const Shape& to) {
    if (from.rank() > to.rank()) return false;
    for (int a = 1; a <= from.rank(); ++a)
      if (from[from.rank() - a] != 1 && from[from.rank() - a] != to[to.rank() - a]) return false;
    return true;
  }

  // ---- types

  static bool convertible(const Value& v, DType to) {
    return v.dtype() == to || to == DType::f32 || v.exact;
  }
  static Array converted(const Value& v, DType to) {
    if (v.dtype() == to) return v.array;
    if (v.boolean()) return cast(v.array, to);
    if (to == DType::f32) return cast(v.array % 9, DType::f32) * 0.25f - 1;
    if (to == DType::boolean) return v.floating() ? v.array > 0.25f : v.array % 3 == 1;
    if (v.floating()) return cast(cast(round(v.array * 4), DType::i32), to);
    return cast(v.array, to);  // i32 <-> u32 keeps the bits
  }

  bool convert() {
    const DType to = dtypes[static_cast<std::size_t>(random_.below(4))];
    const auto v = pick([&](const Value& x) { return x.dtype() != to && convertible(x, to); });
    if (!v) return false;
    if (v->integer() && to != DType::f32 && to != DType::boolean && random_.chance(50))
      return add(bitcast(v->array, to), true);
    return add(converted(*v, to), v->exact);
  }

  // ---- elementwise

  bool unary() {
    const auto v = pick([](const Value&) { return true; });
    if (!v) return false;
    const Array& x = v->array;
    if (v->boolean()) return add(!x, true);
    if (v->integer()) {
      switch (random_.below(9)) {
        case 0:
          return add(-x, true);
        case 1:
          return add(~x, true);
        case 2:
          return add(popcount(x), true);
        case 3:
          return add(abs(x), true);
        case 4:
          return add(sign(x), true);
        case 5:
          return add(x * x, true);
        case 6:
          return add(x % random_.between(1, 7), true);
        case 7:
          return add(x >> random_.between(0, 33), true);
        default:
          return add(floor_divide(x, random_.between(1, 5)), true);
      }
    }
    if (v->exact && random_.chance(30)) {
      switch (random_.below(4)) {
        case 0:
          return add(floor(x), true);
        case 1:
          return add(round(x), true);
        case 2:
          return add(sign(x), true);
        default:
          return add(trunc(x), true);
      }
    }
    const Dim kind = random_.below(22);
    const std::array kinks{1, 2, 3, 8, 9, 11, 12};
    if (!may_kink(*v) && std::find(kinks.begin(), kinks.end(), kind) != kinks.end()) return false;
    switch (kind) {
      case 0:
        return add(-x, v->exact);
      case 1:
        return add(abs(x), v->exact);
      case 2:
        return add(relu(x), v->exact);
      case 3:
        return add(clip(x, -0.5, 1.25), v->exact);
      case 4:
        return add(sin(x), false);
      case 5:
        return add(cos(x), false);
      case 6:
        return add(tanh(x), false);
      case 7:
        return add(atan(x), false);
      case 8:
        return add(exp(-abs(x)), false);
      case 9:
        return add(sqrt(abs(x) + 1), false);
      case 10:
        return add(rsqrt(square(x) + 0.5), false);
      case 11:
        return add(log1p(abs(x)), false);
      case 12:
        return add(log(abs(x) + 0.5), false);
      case 13:
        return add(sigmoid(x), false);
      case 14:
        return add(erf(x), false);
      case 15:
        return add(reciprocal(1 + x * x), false);
      case 16:
        return add(x * 0.5 + 0.25, false);
      case 17:
        return add(pow(x * 0.5, 3), false);
      case 18:
        return add(asinh(x), false);
      case 19:
        return add(expm1(tanh(x)), false);
      case 20:
        return add(softplus(x) - 1, false);
      default:
        return add(asin(tanh(x) * 0.75), false);
    }
  }

  /// Two values of one dtype whose shapes broadcast.
  std::optional<std::pair<Value, Value>> two() {
    const auto x = pick([](const Value&) { return true; });
    if (!x) return std::nullopt;
    const auto y = pick([&](const Value& v) {
      return v.dtype() == x->dtype() &&
             (broadcasts(v.shape(), x->shape()) || broadcasts(x->shape(), v.shape()));
    });
    if (!y) return std::nullopt;
    if (random_.chance(50)) return std::pair{*y, *x};
    return std::pair{*x, *y};
  }

  bool binary() {
    const auto both = two();
    if (!both) return false;
    const Array& x = both->first.array;
    const Array& y = both->second.array;
    if (both->first.boolean()) {
      switch (random_.below(3)) {
        case 0:
          return add(x && y, true);
        case 1:
          return add(x || y, true);
        default:
          return add(logical_xor(x, y), true);
      }
    }
    if (both->first.integer()) {
      switch (random_.below(12)) {
        case 0:
          return add(x + y, true);
        case 1:
          return add(x - y, true);
        case 2:
          return add(x * y, true);
        case 3:
          return add(maximum(x, y), true);
        case 4:
          return add(minimum(x, y), true);
        case 5:
          return add(x % y, true);
        case 6:
          return add(floor_divide(x, y), true);
        case 7:
          return add(x & y, true);
        case 8:
          return add(x | y, true);
        case 9:
          return add(x ^ y, true);
        case 10:
          return add(x << y, true);
        default:
          return add(x >> y, true);
      }
    }
    const bool exact = both->first.exact && both->second.exact;
    const Dim kind = random_.below(10);
    if (style_.smooth && !exact && (kind < 2 || kind == 8)) return false;
    switch (kind) {
      case 0:
        return add(maximum(x, y), exact);
      case 1:
        return add(minimum(x, y), exact);
      case 2:
        return add((x + y) * 0.5, false);
      case 3:
        return add((x - y) * 0.5, false);
      case 4:
        return add(x * y * 0.25, false);
      case 5:
        return add(atan2(x, y + 5), false);
      case 6:
        return add(hypot(x, y + 0.01) * 0.7, false);
      case 7:
        return add(x / (1 + y * y), false);
      case 8:
        return add(pow(abs(x) * 0.25 + 1, tanh(y)), false);
      default:
        return add(sin(x) + cos(y), false);
    }
  }

  bool compare() {
    const auto both = two();
    if (!both || !both->first.exact || !both->second.exact) return false;
    const Array& x = both->first.array;
    const Array& y = both->second.array;
    if (both->first.boolean()) return add(x == y, true);
    switch (random_.below(7)) {
      case 0:
        return add(x == y, true);
      case 1:
        return add(x != y, true);
      case 2:
        return add(x < y, true);
      case 3:
        return add(x <= y, true);
      case 4:
        return add(x > y, true);
      case 5:
        return add(both->first.floating() ? isfinite(x) : x >= 1, true);
      default:
        return add(x >= y, true);
    }
  }

  bool choose() {
    const auto condition = pick([](const Value& v) { return v.boolean(); });
    const auto both = two();
    if (!condition || !both) return false;
    const Shape& wide =
        both->first.rank() > both->second.rank() ? both->first.shape() : both->second.shape();
    if (!broadcasts(condition->shape(), wide)) return false;
    const bool exact = both->first.exact && both->second.exact;
    return add_like(where(condition->array, both->first.array, both->second.array), exact);
  }

  bool create() {
    const Dim n = length();
    const Dim kind = random_.below(5);
    const DType t = dtypes[static_cast<std::size_t>(random_.below(3))];
    if (kind == 0) return add(iota(Shape(n), 0, t) % 5, t != DType::f32);
    if (kind == 1) return add(full({n, 2}, 1, t), true);
    if (kind == 2) return add(arange(n) * 3 - 4, true);
    if (kind == 3) return add(eye(std::min<Dim>(n, 20)), true);
    return add(array({0.5, -1.0, 0.25, 1.5}), true);
  }

  // ---- shapes

  Dim length() {
    if (random_.chance(40)) return lengths_.lanes;
    const auto count = static_cast<Dim>(lengths_.others.size());
    return lengths_.others[static_cast<std::size_t>(random_.below(count))];
  }
  std::vector<int> order(int rank) {
    std::vector<int> r;
    for (int a = 0; a < rank; ++a) r.push_back(a);
    for (int a = rank - 1; a > 0; --a)
      std::swap(r[static_cast<std::size_t>(a)], r[static_cast<std::size_t>(random_.below(a + 1))]);
    return r;
  }
  int axis(const Value& v) { return static_cast<int>(random_.below(v.rank())); }
  std::optional<Value> pick_array() {
    return pick([](const Value& v) { return v.rank() > 0; });
  }

  bool rearrange() {
    const auto v = pick([](const Value& x) { return x.rank() < 5; });
    if (!v) return false;
    const Array& x = v->array;
    const Dim kind = random_.below(8);
    if (kind == 0 || v->rank() == 0) {
      const Dim n = length();
      Shape wide = v->shape();
      wide.insert(0, n);
      return v->rank() < 3 && add(broadcast_to(x, wide), v->exact);
    }
    const int a = axis(*v);
    switch (kind) {
      case 1:
        return v->rank() > 1 && add(transpose(x, order(v->rank())), v->exact);
      case 2:
        return add(ravel(x), v->exact);
      case 3:
        return add(flip(x, a), v->exact);
      case 4:
        return v->rank() < 4 && add(expand_dims(x, a), v->exact);
      case 5: {
        const Dim by = random_.between(-3, 5);
        return add(roll(x, by, a), v->exact);
      }
      case 6: {
        // One axis in two.
        for (Dim d = 2; d < 10; ++d) {
          if (x.dim(a) <= d || x.dim(a) % d != 0) continue;
          const Shape split = v->shape().with(a, d).with_inserted(a + 1, x.dim(a) / d);
          return v->rank() < 4 && add(reshape(x, split), v->exact);
        }
        return false;
      }
      default: {
        // Two axes in one.
        if (a + 1 >= v->rank()) return false;
        return add(reshape(x, v->shape().with(a, x.dim(a) * x.dim(a + 1)).without(a + 1)),
                   v->exact);
      }
    }
  }

  bool cut() {
    const auto v = pick_array();
    if (!v) return false;
    const Array& x = v->array;
    const int a = axis(*v);
    const Dim n = x.dim(a);
    switch (random_.below(4)) {
      case 0: {
        if (n == 0) return false;
        const Dim start = random_.below(n);
        const Dim limit = random_.between(start, n);
        const Dim stride = random_.between(1, 3);
        return add(slice_axis(x, a, start, limit, stride), v->exact);
      }
      case 1: {
        std::vector<std::pair<Dim, Dim>> widths;
        for (int i = 0; i < v->rank(); ++i) {
          const Dim before = random_.between(-1, 2);
          const Dim after = random_.between(-1, 2);
          if (x.dim(i) + before + after < 0 || x.dim(i) < 2)
            widths.emplace_back(0, 1);
          else
            widths.emplace_back(before, after);
        }
        if (v->boolean()) return add(pad(x, widths, true), true);
        return add(pad(x, widths, 1), v->exact);
      }
      case 2: {
        if (n == 0) return false;
        const Dim i = random_.below(n);
        std::vector<Dim> starts(static_cast<std::size_t>(v->rank()), 0), limits;
        for (Dim d : v->shape()) limits.push_back(d);
        starts[static_cast<std::size_t>(a)] = i;
        limits[static_cast<std::size_t>(a)] = i + 1;
        return add(squeeze(slice(x, starts, limits), a), v->exact);
      }
      default: {
        if (x.dim(0) == 0) return false;
        const Dim i = random_.between(-x.dim(0), x.dim(0) - 1);
        return add(x[i], v->exact);
      }
    }
  }

  bool join() {
    const auto x = pick([](const Value& v) { return v.rank() > 0 && v.rank() < 4; });
    if (!x) return false;
    const int a = axis(*x);
    const auto y = pick([&](const Value& v) {
      return v.dtype() == x->dtype() && v.rank() == x->rank() &&
             v.shape().without(a) == x->shape().without(a);
    });
    const auto same = pick([&](const Value& v) { return v.array.aval() == x->array.aval(); });
    const bool exact = x->exact && y->exact && same->exact;
    switch (random_.below(3)) {
      case 0:
        return add(concatenate({x->array, y->array}, a), exact);
      case 1:
        return add(concatenate({y->array, x->array, same->array}, a), exact);
      default:
        return add(stack({x->array, same->array}, a), exact);
    }
  }

  // ---- reductions and products

  bool reduce() {
    const auto v = pick_array();
    if (!v) return false;
    const Array& x = v->array;
    const int a = axis(*v);
    Axes axes = a;
    if (random_.chance(25)) axes = Axes();
    if (v->rank() > 1 && random_.chance(25)) {
      const int b = (a + 1) % v->rank();
      axes = Axes{a, b};
    }
    const bool keep = random_.chance(25);
    const ReduceOptions options{keep};
    Dim n = 1;
    if (axes.all()) {
      n = x.size();
    } else {
      for (int i : axes.list()) n *= x.dim(i);
    }
    if (v->boolean()) {
      switch (random_.below(3)) {
        case 0:
          return add(any(x, axes, options), true);
        case 1:
          return add(all(x, axes, options), true);
        default:
          return add(sum(x, axes, options), true);
      }
    }
    const Dim kind = random_.below(10);
    const bool empty = n == 0;
    if (kind < 2 && !may_kink(*v)) return false;
    if (kind == 0 && !empty) return add_like(max(x, axes, options), v->exact);
    if (kind == 1 && !empty) return add_like(min(x, axes, options), v->exact);
    if (kind == 2 && v->exact && x.dim(a) > 0) return add(argmax(x, a), true);
    if (kind == 3 && v->exact && x.dim(a) > 0) return add(argmin(x, a), true);
    if (v->integer()) {
      if (kind < 6) return add(prod(x, axes, options), true);
      return add(sum(x, axes, options), true);
    }
    if (empty) return add(sum(x, axes, options), true);
    switch (kind) {
      case 4:
        return add(prod(sin(x) + 0.25, axes, options), false);
      case 5:
        return add(mean(x, axes, options), false);
      case 6:
        return add(logsumexp(x, axes, options) * 0.25, false);
      case 7:
        return x.dim(a) > 0 && add(softmax(x, a), false);
      case 8:
        return add(var(x, axes, {0, keep}), false);
      default:
        return add(sum(x, axes, options) / static_cast<double>(n), false);
    }
  }

  bool multiply() {
    const auto number = [](const Value& v) { return !v.boolean() && v.rank() > 0 && v.rank() < 4; };
    const auto x = pick(number);
    if (!x) return false;
    const Dim n = x->array.dim(-1);
    const auto y = pick([&](const Value& v) {
      return number(v) && v.dtype() == x->dtype() && v.rank() <= 2 && v.array.dim(0) == n;
    });
    const auto scaled = [&](const Array& product) {
      if (!x->floating()) return add(product, true);
      return add(product * (1.0 / static_cast<double>(std::max<Dim>(1, n))), false);
    };
    if (!y || random_.chance(30)) {
      // With itself, over one or all axes but the first.
      if (x->rank() == 1) return scaled(dot(x->array, flip(x->array, 0)));
      if (x->rank() == 2) return scaled(matmul(x->array, transpose(x->array)));
      return scaled(einsum("bij,bkj->bik", x->array, x->array));
    }
    if (random_.chance(30)) return scaled(tensordot(x->array, y->array, {x->rank() - 1}, {0}));
    if (x->rank() == 1 && y->rank() == 1 && random_.chance(50)) {
      if (n * n > max_elements_) return false;
      return add_like(outer(x->array, y->array) * (x->floating() ? Operand(0.25) : Operand(1)),
                      false);
    }
    return scaled(matmul(x->array, y->array));
  }

  // ---- positions known only when the program runs

  std::optional<Value> pick_indices() {
    return pick([](const Value& v) { return v.integer() && v.rank() <= 2; });
  }

  /// Positions, some of them out of range.
  Array positions(const Value& v, Dim n) {
    const Dim slack = random_.between(0, 3);
    return v.array % (n + slack) - (v.dtype() == DType::i32 ? random_.between(0, 2) : 0);
  }

  bool read_at() {
    const auto x = pick_array();
    const auto i = pick_indices();
    if (!x || !i) return false;
    const int a = axis(*x);
    const Dim n = x->array.dim(a);
    if (n == 0 || x->array.size() / n * i->array.size() > max_elements_) return false;
    const Array at = positions(*i, n);
    const Dim kind = random_.below(4);
    if (kind == 0 && x->integer() && i->array.size() > 0)
      return add(take(x->array, at, a, {.mode = ReadMode::fill}), true);
    if (kind == 1)
      return x->boolean()
                 ? add(take(x->array, at, a), true)
                 : add(take(x->array, at, a, {.mode = ReadMode::fill, .fill_value = 1}), x->exact);
    if (kind == 2 && x->rank() == i->rank() && x->shape().without(a) == i->shape().without(a))
      return add(take_along_axis(x->array, at, a), x->exact);
    if (x->rank() + i->rank() > 4) return false;
    return add(take(x->array, at, a), x->exact);
  }

  std::optional<std::vector<Operand>> starts(const Value& x) {
    std::vector<Operand> r;
    for (int a = 0; a < x.rank(); ++a) {
      const auto at = pick_integer_scalar();
      const bool fixed = random_.chance(30);
      if (!at || fixed)
        r.emplace_back(0);
      else
        r.emplace_back(cast(positions(*at, x.array.dim(a) + 1), DType::i32));
    }
    return r;
  }

  bool slice_at() {
    const auto x = pick_array();
    if (!x || x->array.size() == 0) return false;
    Shape sizes;
    for (Dim d : x->shape()) {
      const bool whole = random_.chance(40);
      sizes.append(whole ? d : random_.between(1, d));
    }
    const Array part = dynamic_slice(x->array, *starts(*x), sizes);
    if (random_.chance(50)) return add(part, x->exact);
    const Array changed = x->boolean() ? !part : x->floating() ? part * 0.5 : part + 1;
    return add(dynamic_update_slice(x->array, changed, *starts(*x)), x->exact);
  }

  bool write_at() {
    const auto x = pick([](const Value& v) { return v.rank() > 0 && !v.boolean(); });
    if (!x) return false;
    const Dim n = x->array.dim(0);
    if (n == 0) return false;
    const Array& data = x->array;
    const Dim kind = random_.below(4);
    if (kind == 3) {
      const auto i = pick_integer_scalar();
      if (!i) return false;
      const Array row = x->array[-1];
      return add(at_set(data, positions(*i, n), x->floating() ? row * 0.5 : row + 3), x->exact);
    }
    // One index per row.
    const auto i = pick([&](const Value& v) { return v.integer() && v.rank() == 1; });
    if (!i || i->array.size() == 0) return false;
    const Dim m = i->array.dim(0);
    const Array scale = x->floating() ? data * (1.0 / static_cast<double>(m)) : data;
    const int columns = x->rank() - 1;
    Shape wide = data.shape().with(0, m);
    if (wide.size() > max_elements_) return false;
    if (kind == 0) {
      const Dim segments = random_.between(1, 9);
      const Array rows = m == n ? scale : broadcast_to(slice_axis(scale, 0, 0, 1), wide);
      return add(segment_sum(rows, positions(*i, segments), segments), !x->floating());
    }
    const Array rows = broadcast_to(slice_axis(scale, 0, 0, 1), wide);
    if (kind == 1)
      return add(at_add(data, positions(*i, n), rows) * (x->floating() ? Operand(0.5) : Operand(1)),
                 !x->floating());
    const int a = columns;  // the last axis
    const Array columns_of = swapaxes(data, 0, a);
    const Array updates = swapaxes(rows, 0, a);
    return add(scatter_add(columns_of, positions(*i, n), updates, a) *
                   (x->floating() ? Operand(0.5) : Operand(1)),
               !x->floating());
  }

  bool random_bits() {
    const auto seed = pick_integer_scalar();
    if (!seed) return false;
    const Dim n = length();
    const bool matrix = random_.chance(40);
    const Shape shape = matrix ? Shape(3, n) : Shape(n);
    if (shape.size() > max_elements_) return false;
    Key key = random::key(seed->array);
    switch (random_.below(4)) {
      case 0:
        return add(random::bits(std::move(key), shape), true);
      case 1:
        return add(random::uniform(std::move(key), shape), true);
      case 2:
        return add(random::randint(std::move(key), shape, -3, 12), true);
      default:
        return add(random::rademacher(std::move(key), shape), true);
    }
  }

  Random random_;
  int depth_;
  Dim max_elements_;
  const Lengths& lengths_;
  const Style style_;
  std::vector<Value> values_;
};

}  // namespace gnomon::testing
