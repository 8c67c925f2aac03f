// codegen/ops/statistics.cpp -- order statistics, reductions without NaN, moments and
// counts.
#include "gnomon/statistics.h"
#include "codegen/base/lists.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "codegen/lax/align.h"
#include "codegen/lax/positions.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/eager.h"
#include "gnomon/indexing.h"
#include "gnomon/numeric.h"
#include "gnomon/sorting.h"

namespace gnomon {
namespace {

using align::infinity;
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

Array is_number(const Array& a, Loc loc) {
  return lax::unary(not_p, lax::unary(isnan_p, a, loc), loc);
}

/// `a` with `x` in place of NaN.
Array nan_as(const Array& a, double x, Loc loc) {
  return lax::select(lax::unary(isnan_p, a, loc), lax::full_like(a, x, loc), a, loc);
}

/// How many elements are not NaN, in a's dtype.
Array number_count(const Array& a, const Axes& axes, ReduceOptions options, Loc loc) {
  return sum({lax::convert(is_number(a, loc), a.dtype(), loc), loc}, axes, options);
}

// ---- quantiles

/// An array as rows [kept..., n] of what is reduced.
struct Rows {
  Array values;
  Shape kept;      // without the reduced axes
  Shape with_one;  // with length 1 in their place
};
Rows rows_of(const Array& a, const std::vector<int>& over, Loc loc) {
  Rows r;
  std::vector<int> order;
  for (int axis = 0; axis < a.rank(); ++axis) {
    const bool reduced = contains(over, axis);
    r.with_one.append(reduced ? 1 : a.shape()[axis]);
    if (reduced) continue;
    order.push_back(axis);
    r.kept.append(a.shape()[axis]);
  }
  order.insert(order.end(), over.begin(), over.end());
  Shape reduced;
  for (int axis : over) reduced.append(a.shape()[axis]);
  const Dim n = reduced.size();
  r.values = lax::reshape(lax::permute(a, order, loc), r.kept.with_inserted(r.kept.rank(), n), loc);
  return r;
}

/// Between a and b, of one shape, at `fraction`.
Array between(Between how, const Array& a, const Array& b, const Array& fraction, Loc loc) {
  const auto half = [&] { return lax::full_like(fraction, 0.5, loc); };
  switch (how) {
    case Between::lower:
      return a;
    case Between::higher:
      return b;
    case Between::nearest:
      return lax::select(lax::lt(half(), fraction, loc), b, a, loc);
    case Between::midpoint:
      return lax::mul(lax::add(a, b, loc), 0.5, loc);
    case Between::linear:
      break;
  }
  // At an element itself the other one must not spoil it: 0 times infinity is NaN.
  const Array mixed =
      lax::add(lax::mul(a, lax::sub_from(1, fraction, loc), loc), lax::mul(b, fraction, loc), loc);
  return lax::select(lax::eq(fraction, lax::zeros_like(fraction, loc), loc), a, mixed, loc);
}

Array quantile_in(std::string_view op, const Operand& x, const Operand& q, double whole,
                  const Axes& axes, QuantileOptions options, bool skip_nan) {
  const Loc loc = x.loc();
  const Array a = align::as_float(op, x);
  const Rows rows = rows_of(a, align::resolved(op, axes, a, loc), loc);
  const int last = rows.kept.rank();
  const Dim n = rows.values.shape()[last], batch = rows.kept.size();
  if (n == 0) usage_error(op, "of no elements: " + to_string(a.aval()), loc);
  const Array sorted = sort({rows.values, loc}, last);
  const Shape& out = options.keepdims ? rows.with_one : rows.kept;

  // NaN comes last: one look tells whether there is any.
  const Array greatest = lax::reshape(lax::slice_axis(sorted, last, n - 1, n, loc), out, loc);
  const auto spoiled = [&](const Array& y, const Array& top) {
    if (skip_nan) return y;
    return lax::select(lax::unary(isnan_p, top, loc), top, y, loc);
  };

  if (!q.is_array() && !skip_nan) {
    // The position is known: two slices.
    const double position = q.scalar().floating / whole * static_cast<double>(n - 1);
    if (!(position >= 0 && position <= static_cast<double>(n - 1)))
      usage_error(op,
                  std::to_string(q.scalar().floating) + " is not in [0, " +
                      std::to_string(static_cast<int>(whole)) + "]",
                  loc);
    const auto element = [&](double at) {
      const Dim i = static_cast<Dim>(at);
      return lax::reshape(lax::slice_axis(sorted, last, i, i + 1, loc), out, loc);
    };
    const Array low = element(std::floor(position)), high = element(std::ceil(position));
    const Array fraction = lax::full_like(low, position - std::floor(position), loc);
    return spoiled(between(options.between, low, high, fraction, loc), greatest);
  }

  Array fractions = align::in_dtype(op, q, a.dtype());
  if (fractions.rank() > 1)
    usage_error(op, "q has rank 0 or 1, got " + to_string(fractions.aval()), loc);
  const bool several = fractions.rank() == 1;
  const Dim m = fractions.size();
  const Shape pairs{batch, m};
  fractions = lax::broadcast(lax::reshape(fractions, {m}, loc), pairs, {1}, loc);
  if (whole != 1) fractions = lax::mul(fractions, 1 / whole, loc);
  const Array table = lax::reshape(sorted, {batch, n}, loc);
  Array steps = lax::full({a.dtype(), pairs}, static_cast<double>(n - 1), loc);
  if (skip_nan) {
    const Array count = number_count(table, 1, {}, loc);
    const Array most =
        emit1(max_p, {}, {lax::add(count, -1, loc), lax::zeros_like(count, loc)}, loc);
    steps = lax::broadcast(most, pairs, {0}, loc);
  }
  const Array position = lax::mul(fractions, steps, loc);
  const Array floor = lax::unary(floor_p, position, loc);
  const auto element = [&](const Array& at) {
    return emit1(gather_p, GatherParams{1, 1, GatherMode::clip},
                 {table, lax::convert(at, DType::i32, loc)}, loc);
  };
  const Array y =
      between(options.between, element(floor), element(lax::unary(ceil_p, position, loc)),
              lax::sub(position, floor, loc), loc);
  Shape shape = out;
  if (several) shape.insert(0, m);
  const Array arranged = lax::reshape(lax::permute(y, {1, 0}, loc), shape, loc);
  return spoiled(arranged, align::broadcast(op, greatest, shape, loc));
}

/// One program where it runs at once.
Array quantile_of(std::string_view op, const Operand& x, const Operand& q, double whole,
                  const Axes& axes, QuantileOptions options, bool skip_nan) {
  return at_once(op, x.loc(),
                 [&] { return quantile_in(op, x, q, whole, axes, options, skip_nan); });
}

// ---- counts

/// counts[i] = the sum of `weights` [n] (or ones) over all ids [n] equal to i.
Array counted(const Array& ids, const std::optional<Array>& weights, Dim length, Loc loc) {
  // Comparisons of everything with everything run in parallel and are quick for few bins; many bins
  // are counted in sorted ids.
  constexpr Dim few = 512;
  const Dim n = ids.size();
  if (length <= few) {
    const Shape pairs{length, n};
    const Array hit =
        lax::eq(lax::broadcast(ids, pairs, {1}, loc), lax::iota(DType::i32, pairs, 0, loc), loc);
    if (!weights) return lax::sum(lax::convert(hit, DType::i32, loc), {1}, loc);
    const Array spread = lax::broadcast(*weights, pairs, {1}, loc);
    return lax::sum(lax::select(hit, spread, lax::zeros_like(spread, loc), loc), {1}, loc);
  }
  if (weights) return segment_sum({*weights, loc}, {ids, loc}, length);
  const Array sorted = sort({ids, loc});
  const Array bins = lax::iota(DType::i32, {length}, 0, loc);
  return lax::sub(searchsorted({sorted, loc}, {bins, loc}, Side::right),
                  searchsorted({sorted, loc}, {bins, loc}, Side::left), loc);
}

Array bin_ids(std::string_view op, const Operand& x, Dim length, Loc loc) {
  const Array a = align::as_array(op, x);
  if (length < 0) usage_error(op, "a length of " + std::to_string(length), loc);
  if (!is_integer(a.dtype())) usage_error(op, "counts integers, got " + to_string(a.aval()), loc);
  const Array ids = positions::cut_to_i32(lax::reshape(a, {a.size()}, loc), loc);
  return is_unsigned(a.dtype()) ? ids : emit1(max_p, {}, {ids, lax::zeros_like(ids, loc)}, loc);
}

/// A histogram by `f`, one program where it runs at once.
template <class F>
Histogram histogram_by(Loc loc, F&& f) {
  Arrays r = at_once("histogram", loc, std::forward<F>(f));
  return {std::move(r[0]), std::move(r[1])};
}

/// The type of counts and edges.
DType counted_in(const Array& a) { return a.dtype() == DType::f64 ? DType::f64 : DType::f32; }

/// Counts, and the edges.
Arrays histogram_of(const Operand& x, const Array& edges, const std::optional<Array>& weights,
                    Loc loc) {
  const Array a = align::as_float("histogram", x);
  if (edges.rank() != 1 || edges.size() < 2)
    usage_error("histogram", "edges are at least two of rank 1, got " + to_string(edges.aval()),
                loc);
  const Dim bins = edges.size() - 1;
  const Array v = lax::reshape(a, {a.size()}, loc);
  const Array right = searchsorted({edges, loc}, {v, loc}, Side::right);
  // The last part holds its upper edge; NaN is behind it and dropped as well.
  const Array on_top = equal({v, loc}, {edges[bins], loc});
  const Array place =
      lax::select(on_top, lax::full_like(right, static_cast<double>(bins), loc), right, loc);
  const Array ones = lax::full({counted_in(a), v.shape()}, 1, loc);
  const Array w = weights ? lax::reshape(*weights, v.shape(), loc) : ones;
  return {counted(lax::add(place, -1, loc), w, bins, loc), edges};
}

/// Edges of equal parts as NumPy has them, i steps behind the first: numbers that a step in whole
/// numbers comes to are edges exactly.
Array equal_parts(const Array& first, const Array& last, Dim bins, Loc loc) {
  const Shape shape{bins + 1};
  const auto spread = [&](const Array& v) { return lax::broadcast(v, shape, {}, loc); };
  const Array number = lax::iota(first.dtype(), shape, 0, loc);
  const Array step = lax::div(lax::sub(last, first, loc),
                              lax::full_like(first, static_cast<double>(bins), loc), loc);
  const Array inner = lax::add(lax::mul(number, spread(step), loc), spread(first), loc);
  const Array end = lax::eq(number, lax::full_like(number, static_cast<double>(bins), loc), loc);
  return lax::select(end, spread(last), inner, loc);
}

/// With edges from the least element to the largest one.
Arrays histogram_of_all(const Operand& x, Dim bins, Loc loc) {
  const Array a = align::as_float("histogram", x);
  // Of nothing the edges that NumPy gives.
  const auto nothing = [&](double end) { return lax::full({a.dtype(), Shape{}}, end, loc); };
  const Array low = a.size() > 0 ? min({a, loc}) : nothing(0),
              high = a.size() > 0 ? max({a, loc}) : nothing(1);
  // A range of no width gets one.
  const Array flat = lax::eq(low, high, loc);
  const Array first = lax::select(flat, lax::add(low, -0.5, loc), low, loc);
  const Array last = lax::select(flat, lax::add(high, 0.5, loc), high, loc);
  const DType wide = counted_in(a);
  const Array edges =
      equal_parts(lax::convert(first, wide, loc), lax::convert(last, wide, loc), bins, loc);
  return histogram_of({a, loc}, lax::convert(edges, a.dtype(), loc), {}, loc);
}

}  // namespace

Array quantile(Operand x, Operand q, const Axes& axes, QuantileOptions options) {
  return quantile_of("quantile", x, q, 1, axes, options, false);
}
Array nanquantile(Operand x, Operand q, const Axes& axes, QuantileOptions options) {
  return quantile_of("nanquantile", x, q, 1, axes, options, true);
}
Array percentile(Operand x, Operand q, const Axes& axes, QuantileOptions options) {
  return quantile_of("percentile", x, q, 100, axes, options, false);
}
Array nanpercentile(Operand x, Operand q, const Axes& axes, QuantileOptions options) {
  return quantile_of("nanpercentile", x, q, 100, axes, options, true);
}
Array median(Operand x, const Axes& axes, ReduceOptions options) {
  return quantile_of("median", x, {0.5, x.loc()}, 1, axes, {.keepdims = options.keepdims}, false);
}
Array nanmedian(Operand x, const Axes& axes, ReduceOptions options) {
  return quantile_of("nanmedian", x, {0.5, x.loc()}, 1, axes, {.keepdims = options.keepdims}, true);
}

// ---- reductions without NaN

Array nansum(Operand x, const Axes& axes, ReduceOptions options) {
  const Array a = align::as_array("nansum", x);
  return sum({is_float(a.dtype()) ? nan_as(a, 0, x.loc()) : a, x.loc()}, axes, options);
}
Array nanprod(Operand x, const Axes& axes, ReduceOptions options) {
  const Array a = align::as_array("nanprod", x);
  return prod({is_float(a.dtype()) ? nan_as(a, 1, x.loc()) : a, x.loc()}, axes, options);
}
Array nanmean(Operand x, const Axes& axes, ReduceOptions options) {
  const Loc loc = x.loc();
  const Array a = align::as_float("nanmean", x);
  return lax::div(sum({nan_as(a, 0, loc), loc}, axes, options), number_count(a, axes, options, loc),
                  loc);
}

namespace {

Array nan_extremum(std::string_view op, const Operand& x, const Axes& axes, ReduceOptions options,
                   double neutral, Array (*reduce)(Operand, const Axes&, ReduceOptions)) {
  const Loc loc = x.loc();
  const Array a = align::as_array(op, x);
  if (!is_float(a.dtype())) return reduce({a, loc}, axes, options);
  const Array y = reduce({nan_as(a, neutral, loc), loc}, axes, options);
  const Array nothing = all({lax::unary(isnan_p, a, loc), loc}, axes, options);
  return lax::select(nothing, lax::full_like(y, quiet_nan, loc), y, loc);
}

Array nan_arg(std::string_view op, const Operand& x, std::optional<int> axis, double neutral,
              Array (*find)(Operand, std::optional<int>)) {
  const Loc loc = x.loc();
  const Array a = align::as_array(op, x);
  if (!is_float(a.dtype())) return find({a, loc}, axis);
  // The neutral element may occur as well: the first number of that size counts, not a NaN.
  const Array is_nan = lax::unary(isnan_p, a, loc);
  const Array best =
      axis ? find({nan_as(a, neutral, loc), loc}, axis) : find({nan_as(a, neutral, loc), loc}, {});
  const Array first_number = argmin({lax::convert(is_nan, DType::i32, loc), loc}, axis);
  const Axes over = axis ? Axes(*axis) : Axes();
  const Array top = neutral < 0 ? nan_extremum(op, x, over, {}, neutral, max)
                                : nan_extremum(op, x, over, {}, neutral, min);
  const Array only_neutral = lax::eq(top, lax::full_like(top, neutral, loc), loc);
  const Array nothing = all({is_nan, loc}, over);
  const Array found = lax::select(only_neutral, first_number, best, loc);
  return lax::select(nothing, lax::full_like(found, -1, loc), found, loc);
}

}  // namespace

Array nanmax(Operand x, const Axes& axes, ReduceOptions options) {
  return nan_extremum("nanmax", x, axes, options, -infinity, max);
}
Array nanmin(Operand x, const Axes& axes, ReduceOptions options) {
  return nan_extremum("nanmin", x, axes, options, infinity, min);
}
Array nanargmax(Operand x, std::optional<int> axis) {
  return nan_arg("nanargmax", x, axis, -infinity, argmax);
}
Array nanargmin(Operand x, std::optional<int> axis) {
  return nan_arg("nanargmin", x, axis, infinity, argmin);
}

Array nanvar(Operand x, const Axes& axes, VarianceOptions options) {
  const Loc loc = x.loc();
  const Array a = align::as_float("nanvar", x);
  const Array center = nanmean({a, loc}, axes, {.keepdims = true});
  const Array off = lax::sub(a, align::broadcast("nanvar", center, a.shape(), loc), loc);
  const ReduceOptions keep{.keepdims = options.keepdims};
  const Array squares = lax::integer_pow(nan_as(off, 0, loc), 2, loc);
  const Array count = lax::add(number_count(a, axes, keep, loc), -options.ddof, loc);
  const Array y = lax::div(sum({squares, loc}, axes, keep), count, loc);
  const Array enough = lax::lt(lax::zeros_like(count, loc), count, loc);
  return lax::select(enough, y, lax::full_like(y, quiet_nan, loc), loc);
}
Array nanstd(Operand x, const Axes& axes, VarianceOptions options) {
  return lax::unary(sqrt_p, nanvar(x, axes, options), x.loc());
}

// ---- moments

Array ptp(Operand x, const Axes& axes, ReduceOptions options) {
  return lax::sub(max(x, axes, options), min(x, axes, options), x.loc());
}

Array average(Operand x, Operand weights, std::optional<int> axis) {
  const Loc loc = x.loc();
  return at_once("average", loc, [&]() -> Array {
    const std::array pair{x, weights};
    const DType t = align::float_dtype(align::common_dtype("average", pair));
    const Array a = align::in_dtype("average", x, t);
    Array w = align::in_dtype("average", weights, t);
    const Axes over = axis ? Axes(*axis) : Axes();
    if (axis && w.rank() == 1 && a.rank() > 1) {
      const int along = align::axis_of("average", *axis, a, loc);
      if (w.size() != a.shape()[along])
        usage_error("average",
                    to_string(w.aval()) + " are no weights for axis " + std::to_string(along) +
                        " of " + to_string(a.aval()),
                    loc);
      w = lax::broadcast(w, a.shape(), {along}, loc);
    }
    if (w.shape() != a.shape())
      usage_error("average",
                  to_string(w.aval()) + " are no weights for " + to_string(a.aval()) +
                      "; they have its shape, or that of its axis",
                  loc);
    return lax::div(sum({lax::mul(a, w, loc), loc}, over), sum({w, loc}, over), loc);
  });
}

Array cov(Operand x, CovarianceOptions options) {
  const Loc loc = x.loc();
  Array a = align::as_float("cov", x);
  if (a.rank() > 2 || a.rank() == 0)
    usage_error("cov", "takes rank 1 or 2, got " + to_string(a.aval()), loc);
  if (a.rank() == 2 && !options.rows_are_variables) a = lax::permute(a, {1, 0}, loc);
  const int last = a.rank() - 1;
  const double divisor = static_cast<double>(a.shape()[last] - options.ddof);
  const Array center = mean({a, loc}, last, {.keepdims = true});
  const Array off = lax::sub(a, align::broadcast("cov", center, a.shape(), loc), loc);
  const Array products = lax::dot_general(off, off, DotParams{{last}, {last}, {}, {}}, loc);
  return lax::div(products, lax::full_like(products, divisor, loc), loc);
}

Array corrcoef(Operand x, CovarianceOptions options) {
  const Loc loc = x.loc();
  const Array c = cov(x, options);
  if (c.rank() == 0) return lax::div(c, c, loc);
  const Dim n = c.shape()[0];
  const Array on_diagonal = lax::eq(lax::iota(DType::i32, c.shape(), 0, loc),
                                    lax::iota(DType::i32, c.shape(), 1, loc), loc);
  const Array variances =
      lax::sum(lax::select(on_diagonal, c, lax::zeros_like(c, loc), loc), {1}, loc);
  const Array deviations = lax::unary(sqrt_p, variances, loc);
  const auto along = [&](int axis) { return lax::broadcast(deviations, {n, n}, {axis}, loc); };
  return clip({lax::div(lax::div(c, along(0), loc), along(1), loc), loc}, -1, 1);
}

// ---- counts

Array bincount(Operand x, Dim length) {
  return counted(bin_ids("bincount", x, length, x.loc()), {}, length, x.loc());
}

Array bincount(Operand x, Dim length, Operand weights) {
  const Loc loc = x.loc();
  return at_once("bincount", loc, [&]() -> Array {
    const Array ids = bin_ids("bincount", x, length, loc);
    const Array w = align::as_array("bincount", weights);
    if (w.size() != ids.size())
      usage_error(
          "bincount",
          to_string(w.aval()) + " are no weights for " + std::to_string(ids.size()) + " elements",
          loc);
    return counted(ids, lax::reshape(w, ids.shape(), loc), length, loc);
  });
}

Histogram histogram(Operand x, Dim bins, std::optional<std::pair<double, double>> range) {
  const Loc loc = x.loc();
  if (bins < 1) usage_error("histogram", std::to_string(bins) + " bins", loc);
  if (range) {
    if (!(range->first < range->second))
      usage_error("histogram",
                  "the range from " + std::to_string(range->first) + " to " +
                      std::to_string(range->second) + " is empty",
                  loc);
    return histogram_by(loc, [&]() -> Arrays {
      const DType t = counted_in(align::as_float("histogram", x));
      const auto number = [&](double v) { return lax::full({t, Shape{}}, v, loc); };
      return histogram_of(x, equal_parts(number(range->first), number(range->second), bins, loc),
                          {}, loc);
    });
  }
  return histogram_by(loc, [&]() -> Arrays { return histogram_of_all(x, bins, loc); });
}

Histogram histogram(Operand x, const Array& edges, Loc) {
  return histogram_by(x.loc(), [&] { return histogram_of(x, edges, {}, x.loc()); });
}
Histogram histogram(Operand x, const Array& edges, Operand weights) {
  const Loc loc = x.loc();
  const Array w = align::as_array("histogram", weights);
  if (w.size() != align::as_array("histogram", x).size())
    usage_error("histogram",
                to_string(w.aval()) + " are no weights for " +
                    to_string(align::as_array("histogram", x).aval()),
                loc);
  return histogram_by(loc, [&] { return histogram_of(x, edges, w, loc); });
}

}  // namespace gnomon
