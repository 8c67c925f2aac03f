// engine/library/ode/brownian.cpp -- Brownian paths: bisected where they are asked for, or drawn
// step by step.
#include "gnomon/ode/brownian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "gnomon/control.h"
#include "gnomon/ops.h"

namespace gnomon::ode::detail {
namespace {

using Arrays = std::vector<Array>;

Array as(const Array& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

/// c[0] x^n + ... + c[n].
template <std::size_t n>
Array polynomial(const Array& x, const double (&c)[n]) {
  Array p = c[0] * x;
  for (std::size_t i = 1; i + 1 < n; ++i) p = (p + c[i]) * x;
  return p + c[n - 1];
}

/// -log(x) of a positive normal f32, within 3e-7: by a polynomial for the mantissa, in [sqrt(1/2),
/// sqrt(2)), from its Chebyshev series. `log` is correct to the last place also where numbers end,
/// and takes twice as long.
Array minus_log(const Array& x) {
  constexpr int half_root = 0x3F3504F3;
  const Array bits = bitcast(x, DType::i32) - half_root;
  const Array exponent = cast(bits >> 23, DType::f32);
  const Array t = bitcast((bits & 0x007FFFFF) + half_root, DType::f32) - 1;
  return exponent * -std::numbers::ln2 +
         polynomial(t, {-0.115895691, 0.188524388, -0.206553346, 0.248863783, -0.332995979,
                        0.50001993, -1.00000409, -6.43210146e-08});
}

/// A standard normal number in f32 from a random word, within 1e-6 of itself: the inverse of the
/// distribution function at the middle of one of 2^24 equal intervals, never infinite. Chebyshev
/// series of z / u in the variables of M. Giles, Approximating the erfinv function, GPU Computing
/// Gems, 2011, whose own ones are a term or two longer.
Array normal_of(const Array& word) {
  const Array u = cast(bitcast(word, DType::i32) >> 8, DType::f32) * 0x1p-23 + 0x1p-24;
  const Array w = minus_log((1 - u) * (1 + u));
  const Array central =
      polynomial(w - 2.5, {4.84403299e-07, -4.4862858e-06, -6.19939125e-06, 0.000307181201,
                           -0.00177306829, -0.00590571129, 0.348802705, 2.12331309});
  const Array tail = polynomial(sqrt(w) - 3, {0.00140245958, -0.00501357829, 0.00841167356,
                                              -0.0108412276, 0.0132909817, 1.41658557, 4.00643622});
  return u * where(w < 5, central, tail);
}

/// One array of a path: independent normal numbers by number of the draw.
class Leaf {
 public:
  Leaf(const Array& like, const Key& key)
      : shape_(like.shape()), dtype_(like.dtype()), words_(key.words()), mode_(key.mode()) {}

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }

  /// `count` standard normals, 1 or 2.
  Arrays draw(const Array& number, std::size_t count) const {
    Key drawn = random::fold_in(Key(words_, mode_), number);
    Arrays all;
    if (dtype_ == DType::f32 && shape_.size() == 1) {
      for (std::size_t i = 0; i < count; ++i)
        all.push_back(reshape(normal_of(drawn.words()[static_cast<Dim>(i)]), shape_));
      return all;
    }
    if (count == 1) return {random::normal(std::move(drawn), shape_, dtype_)};
    const Array both = random::normal(std::move(drawn), shape_.with_inserted(0, 2), dtype_);
    return {both[0], both[1]};
  }

 private:
  Shape shape_;
  DType dtype_;
  Array words_;
  random::Mode mode_;
};

std::vector<Leaf> leaves_of(const char* what, const Arrays& like, Key key, Loc loc) {
  if (like.empty())
    usage_error(what, "its tree has no arrays; give one like the noise, zeros({})", loc);
  for (const Array& a : like)
    if (a.dtype() != DType::f32 && a.dtype() != DType::f64)
      usage_error(what, "is to be like " + to_string(a.aval()) + "; paths are of f32 or f64", loc);
  std::vector<Leaf> leaves;
  if (like.size() == 1) {
    leaves.emplace_back(like[0], key);
    return leaves;
  }
  const Keys keys = random::split(std::move(key), static_cast<Dim>(like.size()), loc);
  for (std::size_t i = 0; i < like.size(); ++i)
    leaves.emplace_back(like[i], keys[static_cast<Dim>(i)]);
  return leaves;
}

DType widest(const std::vector<Leaf>& leaves) {
  const auto wide = [](const Leaf& leaf) { return leaf.dtype() == DType::f64; };
  return std::any_of(leaves.begin(), leaves.end(), wide) ? DType::f64 : DType::f32;
}

/// What is known of the interval around a time: the path where it begins, its change and area, and
/// the integral of the path up to there. Lengths are parts of the whole path, as are variances.
struct Cell {
  Array number, x, length;  // which one; where in it the time is, from 0 to 1; how long it is
  Arrays start, change, area, integral;
};

class Tree final : public Drive {
 public:
  Tree(double t0, double t1, double tol, const Arrays& like, Key key, LevyArea area, Loc loc)
      : t0_(t0), t1_(t1), area_(area == LevyArea::space_time) {
    const char* const name = "VirtualBrownianTree";
    if (!(t0 < t1) || !std::isfinite(t1 - t0))
      usage_error(name,
                  "goes from " + to_string(Scalar(t0)) + " to " + to_string(Scalar(t1)) +
                      "; t0 has to be below t1, also for solves that go backwards",
                  loc);
    const double depth = std::ceil(std::log2((t1 - t0) / tol));
    if (!(tol > 0) || depth > 30)
      usage_error(name,
                  "tol is " + to_string(Scalar(tol)) +
                      "; it has to be above 2^-30 of the path's length, and is best a little below "
                      "the shortest step",
                  loc);
    depth_ = std::max(0, static_cast<int>(depth));
    leaves_ = leaves_of(name, like, std::move(key), loc);
  }

  bool is_brownian() const override { return true; }
  bool has_area() const override { return area_; }
  DType time_dtype() const override { return widest(leaves_); }
  std::optional<std::pair<double, double>> range() const override { return {{t0_, t1_}}; }
  double scale() const { return std::sqrt(t1_ - t0_); }

  Arrays at_start() const override {
    Arrays all;
    for (const Leaf& leaf : leaves_)
      for (std::size_t i = 0; i < draws(); ++i) all.push_back(zeros(leaf.shape(), leaf.dtype()));
    return all;
  }

  /// W of each array and, with areas, its integral.
  Arrays at(const Array& t) const override {
    const Array x = stop_gradient((t - t0_) * (1 / (t1_ - t0_)));
    Cell cell = whole(where(t >= t1_, 1, minimum(x, 1)));
    cell = fori_loop(
        0, depth_, [&](const Array&, Cell c) { return half(std::move(c)); }, std::move(cell));
    Arrays all = inside(cell);
    const Array outside = (t < t0_) || (t > t1_);
    for (Array& a : all) a = where(outside, std::numeric_limits<double>::quiet_NaN(), a);
    return all;
  }

  Noise between(const Stretch& s, const Arrays& start, const Arrays& end) const override {
    Noise noise;
    const std::size_t each = area_ ? 2 : 1;
    const Array length = stop_gradient(s.t1 - s.t0) * (1 / (t1_ - t0_));
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const Array &from = start[each * i], &to = end[each * i];
      noise.w.push_back(scale() * (to - from));
      if (!area_) continue;
      const Array none = length == 0;
      const Array mean = (end[each * i + 1] - start[each * i + 1]) /
                         as(where(none, 1, length), leaves_[i].dtype());
      noise.h.push_back(where(none, 0, scale() * (mean - 0.5 * (from + to))));
    }
    return noise;
  }

 private:
  std::size_t draws() const { return area_ ? 2 : 1; }

  Cell whole(const Array& x) const {
    Cell c{zeros({}, DType::u32) + 1, x, ones_like(x), {}, {}, {}, {}};
    for (const Leaf& leaf : leaves_) {
      const Arrays z = leaf.draw(zeros({}, DType::u32), draws());
      const Array zero = zeros(leaf.shape(), leaf.dtype());
      c.start.push_back(zero);
      c.change.push_back(z[0]);
      if (!area_) continue;
      c.area.push_back(std::sqrt(1.0 / 12) * z[1]);
      c.integral.push_back(zero);
    }
    return c;
  }

  /// The half with the time in it, by the distribution of the middle given both ends.
  Cell half(Cell c) const {
    const Array twice = 2 * c.x;
    const Array right = twice >= 1;
    const Array root = sqrt(c.length);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const Leaf& leaf = leaves_[i];
      const Arrays z = leaf.draw(c.number, draws());
      const Array deviation = as(root, leaf.dtype());
      Array &start = c.start[i], &change = c.change[i];
      if (!area_) {
        const Array left = 0.5 * change + (0.5 * deviation) * z[0];
        start = where(right, start + left, start);
        change = where(right, change - left, left);
        continue;
      }
      Array &area = c.area[i], &integral = c.integral[i];
      const Array first = (0.25 * deviation) * z[0];
      const Array second = (0.5 * std::sqrt(1.0 / 12) * deviation) * z[1];
      const Array left = 0.5 * change + (1.5 * area + first);
      const Array common = 0.25 * area - 0.5 * first;
      const Array left_area = common + second;
      const Array mean = start + 0.5 * left + left_area;
      integral = where(right, integral + as(0.5 * c.length, leaf.dtype()) * mean, integral);
      start = where(right, start + left, start);
      change = where(right, change - left, left);
      area = where(right, common - second, left_area);
    }
    c.number = 2 * c.number + cast(right, DType::u32);
    c.x = where(right, twice - 1, twice);
    c.length = 0.5 * c.length;
    return c;
  }

  /// The path inside a cell, by the distribution given both ends.
  Arrays inside(const Cell& c) const {
    const Array x = c.x, y = 1 - x;
    const Array cubes = sqrt(x * x * x + y * y * y), root = sqrt(c.length), xy = sqrt(x * y);
    Arrays all;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const Leaf& leaf = leaves_[i];
      const auto in = [&](const Array& a) { return as(a, leaf.dtype()); };
      const Arrays z = leaf.draw(c.number, draws());
      if (!area_) {
        all.push_back(c.start[i] + (in(x)*c.change[i] + in(root * xy) * z[0]));
        continue;
      }
      const Array change =
          in(x)*c.change[i] + in(6 * x * y) * c.area[i] + in(root * xy * cubes) * z[0];
      const Array area = in(x * x) * c.area[i] - in(root * (0.5 * x * x * xy / cubes)) * z[0] +
                         in(root * (std::sqrt(1.0 / 12) * y * xy / cubes)) * z[1];
      all.push_back(c.start[i] + change);
      all.push_back(c.integral[i] + in(c.length * x) * (c.start[i] + 0.5 * change + area));
    }
    return all;
  }

  double t0_, t1_;
  bool area_;
  int depth_ = 0;
  std::vector<Leaf> leaves_;
};

class Indexed final : public Drive {
 public:
  Indexed(const Arrays& like, Key key, LevyArea area, Loc loc)
      : area_(area == LevyArea::space_time), loc_(loc) {
    leaves_ = leaves_of("IndexedBrownianPath", like, std::move(key), loc);
  }
  bool is_brownian() const override { return true; }
  bool has_area() const override { return area_; }
  DType time_dtype() const override { return widest(leaves_); }
  bool needs_index() const override { return true; }

  Noise between(const Stretch& s, const Arrays&, const Arrays&) const override {
    if (!s.index)
      usage_error("diffeqsolve",
                  "IndexedBrownianPath draws by the number of the step, and these steps depend on "
                  "what they lead to or have no end; take ConstantStepSize or StepTo, or a "
                  "VirtualBrownianTree",
                  loc_);
    const Array length = stop_gradient(s.t1 - s.t0);
    // Backwards in time the path falls where it rose.
    const Array root = sqrt(abs(length)), change = where(length < 0, negative(root), root);
    Noise noise;
    for (const Leaf& leaf : leaves_) {
      const Arrays z = leaf.draw(*s.index, area_ ? 2 : 1);
      noise.w.push_back(as(change, leaf.dtype()) * z[0]);
      if (area_) noise.h.push_back(as(std::sqrt(1.0 / 12) * root, leaf.dtype()) * z[1]);
    }
    return noise;
  }

 private:
  bool area_;
  Loc loc_;
  std::vector<Leaf> leaves_;
};

Array time_of(const Drive& drive, const Operand& t) {
  return t.is_array() && is_float(t.array().dtype()) ? t.array() : cast(t, drive.time_dtype());
}

/// Two times in one dtype.
std::pair<Array, Array> times_of(const Drive& drive, const Operand& a, const Operand& b) {
  Array x = time_of(drive, a), y = time_of(drive, b);
  if (x.dtype() == y.dtype()) return {x, y};
  const DType wide = DType::f64;
  return {a.is_array() ? as(x, wide) : cast(a, wide), b.is_array() ? as(y, wide) : cast(b, wide)};
}

}  // namespace

std::shared_ptr<const Drive> brownian_tree(double t0, double t1, double tol, const Arrays& like,
                                           Key key, LevyArea area, Loc loc) {
  return std::make_shared<Tree>(t0, t1, tol, like, std::move(key), area, loc);
}

std::shared_ptr<const Drive> indexed_path(const Arrays& like, Key key, LevyArea area, Loc loc) {
  return std::make_shared<Indexed>(like, std::move(key), area, loc);
}

Noise noise_between(const Drive& drive, const Operand& t0, const Operand& t1) {
  const auto [from, to] = times_of(drive, t0, t1);
  return drive.between({from, to, {}}, drive.at(from), drive.at(to));
}

Arrays change_between(const Arrays& start, const Arrays& end) {
  Arrays all;
  for (std::size_t i = 0; i < start.size(); ++i) all.push_back(end[i] - start[i]);
  return all;
}

Noise noise_of_step(const Drive& drive, const Operand& index, const Operand& length) {
  const Array h = time_of(drive, length);
  const Array number = index.is_array() ? index.array() : cast(index, DType::i32);
  return drive.between({zeros_like(h), h, number}, {}, {});
}

Arrays values_at(const Drive& drive, const Operand& t) {
  const Arrays all = drive.at(time_of(drive, t));
  const std::size_t each = drive.has_area() ? 2 : 1;
  const double scale = static_cast<const Tree&>(drive).scale();
  Arrays values;
  for (std::size_t i = 0; i < all.size(); i += each) values.push_back(scale * all[i]);
  return values;
}

}  // namespace gnomon::ode::detail
