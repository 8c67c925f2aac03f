// engine/include/gnomon/ode/data.h -- data as functions of time: what drives a controlled equation.
#pragma once
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/ode/brownian.h"
#include "gnomon/ode/controller.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// What becomes of NaN, which stands for a value that is missing, at both ends of data. Those
/// between two values are always taken from the values around them.
struct MissingData {
  bool fill_forward_nans_at_end = false;              // with the last value; else they stay NaN
  std::optional<Operand> replace_nans_at_start = {};  // with this; else they stay NaN
};

namespace detail {

/// Where data is, for the messages of what it is given to.
struct DataOf {
  const char* name;
  const PathArrays& ys;
  std::vector<std::string> paths;
};
/// Times as an array. Throws UsageError unless they are of rank 1, ascend, and are `more` more than
/// rows of each array.
Array knots(const DataOf&, const Times& ts, Dim more, Loc);

/// sum_k powers[k] (t - start of the piece)^k, array by array; the outermost pieces go on outside.
PathArrays piece_at(const Array& ts, const std::vector<PathArrays>& powers, const Operand& t,
                    bool derivative);
PathArrays line_at(const Array& ts, const PathArrays& ys, const Operand& t, bool derivative);
PathArrays difference(const PathArrays& to, const PathArrays& from);

PathArrays fill_linearly(const Array& ts, const PathArrays& ys, const MissingData&);
PathArrays fill_rectilinearly(const PathArrays& ys, const MissingData&);
Array twice(const Array& ts);
/// From the highest power to the lowest one.
std::vector<PathArrays> hermite_powers(const Array& ts, const PathArrays& ys,
                                       const std::optional<PathArrays>& deriv0, const MissingData&);

/// A path that is a function of time: steps that meet look it up once there.
template <class P>
class SmoothDrive final : public Drive {
 public:
  explicit SmoothDrive(const P& path) : path_(path) {}
  PathArrays at(const Array& t) const override { return tree::leaves(path_.evaluate(t)); }
  Noise between(const Stretch&, const PathArrays& start, const PathArrays& end) const override {
    return {change_between(start, end), {}};
  }

 private:
  P path_;
};

}  // namespace detail

/// Straight lines between the points (ts, ys): a path for ControlTerm, and a tree like any other.
///
/// ts f32[n] or f64[n], ascending; ys: any tree of float arrays [n, ..]. Outside of the times the
/// outermost lines go on. Differentiable in ys, ts and t; at a point the derivative by t is that of
/// the line before it. O(log n) a value.
/// Unchecked: that arrays of times ascend.
/// Throws UsageError when lengths disagree, and when times that are C++ numbers do not ascend.
template <class Y>
struct LinearInterpolation {
  Array ts;
  Y ys;

  LinearInterpolation(const Times& times, Y values, Loc loc = Loc::here()) : ys(std::move(values)) {
    ts = detail::knots({"LinearInterpolation", tree::leaves(ys), tree::leaf_paths(ys, "ys")}, times,
                       0, loc);
  }
  Y evaluate(const Operand& t) const {
    return like(detail::line_at(ts, tree::leaves(ys), t, false));
  }
  /// What changes between two times.
  Y evaluate(const Operand& from, const Operand& to) const {
    const auto all = tree::leaves(ys);
    return like(detail::difference(detail::line_at(ts, all, to, false),
                                   detail::line_at(ts, all, from, false)));
  }
  Y derivative(const Operand& t) const {
    return like(detail::line_at(ts, tree::leaves(ys), t, true));
  }

  std::shared_ptr<const detail::Drive> drive() const {
    return std::make_shared<detail::SmoothDrive<LinearInterpolation>>(*this);
  }
  template <class Self>
  static auto fields(Self& self) {
    return std::tie(self.ts, self.ys);
  }

 private:
  Y like(const detail::PathArrays& arrays) const { return tree::with_leaves(ys, arrays); }
};

/// a + x (b + x (c + x d)) with x the time since the piece began; arrays of a tree: [n - 1, ..].
template <class Y>
struct CubicCoefficients {
  Y d, c, b, a;
};

/// Cubic pieces between the times `ts`, as LinearInterpolation in all else.
///
/// ts f32[n] or f64[n]; coefficients: trees of arrays [n - 1, ..], such as those of
/// `backward_hermite_coefficients`.
template <class Y>
struct CubicInterpolation {
  Array ts;
  CubicCoefficients<Y> coefficients;

  CubicInterpolation(const Times& times, CubicCoefficients<Y> of, Loc loc = Loc::here())
      : coefficients(std::move(of)) {
    ts = detail::knots({"CubicInterpolation", tree::leaves(coefficients),
                        tree::leaf_paths(coefficients, "coefficients")},
                       times, 1, loc);
  }
  Y evaluate(const Operand& t) const { return at(t, false); }
  Y evaluate(const Operand& from, const Operand& to) const {
    return like(detail::difference(tree::leaves(at(to, false)), tree::leaves(at(from, false))));
  }
  Y derivative(const Operand& t) const { return at(t, true); }

  std::shared_ptr<const detail::Drive> drive() const {
    return std::make_shared<detail::SmoothDrive<CubicInterpolation>>(*this);
  }
  template <class Self>
  static auto fields(Self& self) {
    return std::tie(self.ts, self.coefficients);
  }

 private:
  Y like(const detail::PathArrays& arrays) const {
    return tree::with_leaves(coefficients.a, arrays);
  }
  Y at(const Operand& t, bool derivative) const {
    return like(detail::piece_at(ts,
                                 {tree::leaves(coefficients.a), tree::leaves(coefficients.b),
                                  tree::leaves(coefficients.c), tree::leaves(coefficients.d)},
                                 t, derivative));
  }
};

/// Cubic Hermite pieces through the points (ts, ys) whose slope at a point is that of the line from
/// the point before it: smooth enough to drive an equation, and what comes later changes nothing
/// before it (but for the piece that it ends).
///
/// ts [n], ys [n, ..] as for LinearInterpolation; NaN are values that are missing. deriv0: the
/// slope at the first point, arrays [..]; without it the first piece is a straight line.
/// Differentiable in all.
/// Source: J. Morrill, P. Kidger, L. Yang and T. Lyons, Neural controlled differential equations
/// for online prediction tasks, 2021.
template <class Y>
CubicCoefficients<Y> backward_hermite_coefficients(const Times& ts, const Y& ys,
                                                   const std::optional<Y>& deriv0 = {},
                                                   const MissingData& missing = {},
                                                   Loc loc = Loc::here()) {
  const detail::PathArrays all = tree::leaves(ys);
  const Array times =
      detail::knots({"backward_hermite_coefficients", all, tree::leaf_paths(ys, "ys")}, ts, 0, loc);
  std::optional<detail::PathArrays> first;
  if (deriv0) first = tree::leaves(*deriv0);
  const auto powers = detail::hermite_powers(times, all, first, missing);
  return {tree::with_leaves(ys, powers[0]), tree::with_leaves(ys, powers[1]),
          tree::with_leaves(ys, powers[2]), tree::with_leaves(ys, powers[3])};
}

/// ys with NaN between two values replaced by the straight line through these.
template <class Y>
Y linear_interpolation(const Times& ts, const Y& ys, const MissingData& missing = {},
                       Loc loc = Loc::here()) {
  const detail::PathArrays all = tree::leaves(ys);
  const Array times =
      detail::knots({"linear_interpolation", all, tree::leaf_paths(ys, "ys")}, ts, 0, loc);
  return tree::with_leaves(ys, detail::fill_linearly(times, all, missing));
}

/// Points between which first time moves and then the values: {[2 n - 1], [2 n - 1, ..]}, NaN
/// replaced by the last value before them. A path in both that never knows of what comes later;
/// give it a clock of its own: LinearInterpolation(0 .. 2 n - 2, {ts, ys}).
template <class Y>
std::pair<Array, Y> rectilinear_interpolation(const Times& ts, const Y& ys,
                                              const MissingData& missing = {},
                                              Loc loc = Loc::here()) {
  const detail::PathArrays all = tree::leaves(ys);
  const Array times =
      detail::knots({"rectilinear_interpolation", all, tree::leaf_paths(ys, "ys")}, ts, 0, loc);
  return {detail::twice(times), tree::with_leaves(ys, detail::fill_rectilinearly(all, missing))};
}

}  // namespace gnomon::ode
#pragma GCC visibility pop
