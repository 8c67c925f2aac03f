// codegen/ops/sort.cpp -- public operations that sort, search and select by order.
#include <algorithm>

#include "codegen/lax/align.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/sort.h"
#include "codegen/trace/eager.h"
#include "gnomon/control.h"
#include "gnomon/sorting.h"

namespace gnomon {
namespace {

struct Sorted {
  Array values, permutation;
};

/// Descending is ascending backwards, from the back: equal elements keep their order.
Sorted sorted(const Array& a, int axis, SortOptions options, Loc loc) {
  const Array from = options.descending ? lax::reverse(a, {axis}, loc) : a;
  const Arrays y = emit(sort_p, SortParams{axis, 1}, {from}, loc);
  if (!options.descending) return {y[0], y[1]};
  const Array last = lax::full_like(y[1], static_cast<double>(a.shape()[axis] - 1), loc);
  return {lax::reverse(y[0], {axis}, loc), lax::reverse(lax::sub(last, y[1], loc), {axis}, loc)};
}

Array flat(const Array& a, Loc loc) { return lax::reshape(a, {a.size()}, loc); }

Array first_elements(const Array& a, int axis, Dim n, Loc loc) {
  return lax::slice_axis(a, axis, 0, n, loc);
}

Array truth_of(const Array& a, Loc loc) {
  if (a.dtype() == DType::boolean) return a;
  return emit1(ne_p, {}, {a, lax::zeros_like(a, loc)}, loc);
}

/// Elements `indices` (any shape) of an array of rank 1.
Array pick(const Array& a, const Array& indices, Loc loc) {
  const Array at = flat(indices, loc);
  return lax::reshape(emit1(gather_p, GatherParams{0, 0, GatherMode::clip}, {a, at}, loc),
                      indices.shape(), loc);
}

/// Cuts or fills rank 1 to `size` elements.
Array resized(const Array& a, Dim size, const Scalar& fill, Loc loc) {
  const Array filler = lax::scalar(a.dtype(), fill, loc);
  return lax::pad(a, filler, PadParams{{0}, {size - a.size()}, {0}}, loc);
}

/// Positions of the true elements of bool[n], ascending, n behind them: i32[size].
Array positions_of_true(const Array& mask, Dim size, Loc loc) {
  const Dim n = mask.size();
  const Array position = lax::iota(DType::i32, {n}, 0, loc);
  const Array end = lax::full({DType::i32, {n}}, static_cast<double>(n), loc);
  const Array chosen = lax::select(mask, position, end, loc);
  return resized(emit(sort_p, SortParams{0, 1}, {chosen}, loc)[0], size, static_cast<double>(n),
                 loc);
}

void require_size(std::string_view op, Dim size, Loc loc) {
  if (size < 0) usage_error(op, "a size of " + std::to_string(size), loc);
}

Dim checked_kth(std::string_view op, Dim kth, Dim n, Loc loc) {
  if (kth < -n || kth >= n)
    usage_error(
        op, "element " + std::to_string(kth) + " of an axis of " + std::to_string(n) + " elements",
        loc);
  return kth;
}

}  // namespace

Array sort(Operand x, int axis, SortOptions options) {
  const Array a = align::as_array("sort", x);
  return sorted(a, align::axis_of("sort", axis, a, x.loc()), options, x.loc()).values;
}

Array argsort(Operand x, int axis, SortOptions options) {
  const Array a = align::as_array("argsort", x);
  return sorted(a, align::axis_of("argsort", axis, a, x.loc()), options, x.loc()).permutation;
}

std::vector<Array> sort_together(const std::vector<Array>& operands, int num_keys, int axis,
                                 Loc loc) {
  if (operands.empty()) usage_error("sort_together", "needs at least one array", loc);
  const int along = align::axis_of("sort_together", axis, operands[0], loc);
  Arrays y = emit(sort_p, SortParams{along, num_keys}, operands, loc);
  y.pop_back();
  return y;
}

Array lexsort(const std::vector<Array>& keys, int axis, Loc loc) {
  if (keys.empty()) usage_error("lexsort", "needs at least one key", loc);
  const int along = align::axis_of("lexsort", axis, keys[0], loc);
  const Arrays by_weight(keys.rbegin(), keys.rend());
  return emit(sort_p, SortParams{along, static_cast<int>(keys.size())}, by_weight, loc).back();
}

Array partition(Operand x, Dim kth, int axis) {
  const Array a = align::as_array("partition", x);
  const int along = align::axis_of("partition", axis, a, x.loc());
  checked_kth("partition", kth, a.shape()[along], x.loc());
  return sorted(a, along, {}, x.loc()).values;
}

Array argpartition(Operand x, Dim kth, int axis) {
  const Array a = align::as_array("argpartition", x);
  const int along = align::axis_of("argpartition", axis, a, x.loc());
  checked_kth("argpartition", kth, a.shape()[along], x.loc());
  return sorted(a, along, {}, x.loc()).permutation;
}

TopK top_k(Operand x, Dim k, int axis) {
  const Loc loc = x.loc();
  const Array a = align::as_array("top_k", x);
  const int along = align::axis_of("top_k", axis, a, loc);
  if (k < 0 || k > a.shape()[along])
    usage_error("top_k",
                std::to_string(k) + " elements of axis " + std::to_string(along) + " of " +
                    to_string(a.aval()),
                loc);
  const Sorted all = sorted(a, along, {.descending = true}, loc);
  return {first_elements(all.values, along, k, loc),
          first_elements(all.permutation, along, k, loc)};
}

Array searchsorted(Operand sorted_values, Operand values, Side side) {
  const Loc loc = sorted_values.loc();
  return at_once("searchsorted", loc, [&]() -> Array {
    const std::array pair{sorted_values, values};
    const DType t = align::common_dtype("searchsorted", pair);
    const Array a = align::in_dtype("searchsorted", sorted_values, t);
    const Array v = align::in_dtype("searchsorted", values, t);
    if (a.rank() != 1)
      usage_error("searchsorted", "searches an array of rank 1, got " + to_string(a.aval()), loc);
    const Dim n = a.size();
    const Array wanted = sort_key(v, loc);
    if (n == 0) return lax::full({DType::i32, v.shape()}, 0, loc);
    // Whether an element is to stay in front of the wanted one.
    const auto in_front = [&](const Array& element) {
      return side == Side::left ? lax::lt(element, wanted, loc)
                                : lax::unary(not_p, lax::lt(wanted, element, loc), loc);
    };
    const auto full = [&](Dim x) {
      return lax::full({DType::i32, v.shape()}, static_cast<double>(x), loc);
    };
    Dim steps = 1;
    while ((Dim{1} << steps) < n + 1) ++steps;
    using Range = std::vector<Array>;
    return fori_loop(
        0, steps,
        [&](const Array&, const Range& range) {
          const Array &low = range[0], &high = range[1];
          const Array middle =
              emit1(shr_p, {}, {lax::add(low, high, loc), lax::full_like(low, 1, loc)}, loc);
          const Array less = in_front(sort_key(pick(a, middle, loc), loc));
          const Array open = lax::lt(low, high, loc);
          const Array up = lax::logical_and(open, less, loc);
          const Array down = lax::logical_and(open, lax::unary(not_p, less, loc), loc);
          return Range{lax::select(up, lax::add(middle, 1, loc), low, loc),
                       lax::select(down, middle, high, loc)};
        },
        Range{full(0), full(n)}, {}, loc)[0];
  });
}

Array digitize(Operand x, Operand edges, bool right) {
  const Loc loc = x.loc();
  return at_once("digitize", loc, [&]() -> Array {
    const Array bins = align::as_array("digitize", edges);
    const std::array pair{x, edges};
    const Array a = x.is_array()
                        ? x.array()
                        : align::in_dtype("digitize", x, align::common_dtype("digitize", pair));
    if (bins.rank() != 1)
      usage_error("digitize", "edges have rank 1, got " + to_string(bins.aval()), loc);
    const Dim n = bins.size();
    if (n == 0) return lax::full({DType::i32, a.shape()}, 0, loc);
    const Side side = right ? Side::left : Side::right;
    const Array up = searchsorted({bins, loc}, {a, loc}, side);
    const Array down =
        lax::sub_from(static_cast<double>(n),
                      searchsorted({lax::reverse(bins, {0}, loc), loc}, {a, loc}, side), loc);
    const Array first = bins[0], last = bins[n - 1];
    const Array descends = lax::lt(sort_key(last, loc), sort_key(first, loc), loc);
    return lax::select(lax::broadcast(descends, a.shape(), {}, loc), down, up, loc);
  });
}

Unique unique(Operand x, Dim size, std::optional<Scalar> fill) {
  const Loc loc = x.loc();
  require_size("unique", size, loc);
  const Array a = align::as_array("unique", x);
  const Dim n = a.size();
  if (n == 0) {
    const Array nothing = lax::full({DType::i32, {size}}, 0, loc);
    return {lax::full({a.dtype(), {size}}, fill.value_or(0), loc), nothing,
            lax::full({DType::i32, a.shape()}, 0, loc), nothing, lax::scalar(DType::i32, 0, loc)};
  }
  const Sorted order = sorted(flat(a, loc), 0, {}, loc);
  // A value begins where it differs from the one before.
  const Array key = sort_key(order.values, loc);
  const Array changed = emit1(
      ne_p, {}, {lax::slice_axis(key, 0, 1, n, loc), lax::slice_axis(key, 0, 0, n - 1, loc)}, loc);
  const Array yes = lax::full({DType::boolean, {1}}, 1, loc);
  const Array begins = lax::concatenate({yes, changed}, 0, loc);
  const Array starts = positions_of_true(begins, std::max(size, n) + 1, loc);
  const Array number = lax::sum(lax::convert(begins, DType::i32, loc), {0}, loc);

  const Array first = first_elements(starts, 0, size, loc);
  const Array next = lax::slice_axis(starts, 0, 1, size + 1, loc);
  const Array limit = lax::full({DType::i32, {size}}, static_cast<double>(n), loc);
  const Array exists = lax::lt(first, limit, loc);
  const Array place = lax::select(exists, first, lax::zeros_like(first, loc), loc);
  Array values = pick(order.values, place, loc);
  if (fill) {
    const Array filler = lax::full_like(values, *fill, loc);
    values = lax::select(exists, values, filler, loc);
  }
  // Elements in order of value, told the number of theirs, return to where they were.
  const Array ranks = lax::add(
      searchsorted({starts, loc}, {lax::iota(DType::i32, {n}, 0, loc), loc}, Side::right), -1, loc);
  const Array inverse = emit(sort_p, SortParams{0, 1}, {order.permutation, ranks}, loc)[1];
  return {values, pick(order.permutation, place, loc), lax::reshape(inverse, a.shape(), loc),
          lax::sub(next, first, loc), number};
}

Array isin(Operand x, Operand among) {
  const Loc loc = x.loc();
  return at_once("isin", loc, [&]() -> Array {
    const std::array pair{x, among};
    const DType t = align::common_dtype("isin", pair);
    const Array a = align::in_dtype("isin", x, t),
                set = flat(align::in_dtype("isin", among, t), loc);
    if (set.size() == 0) return lax::full({DType::boolean, a.shape()}, 0, loc);
    const Array ordered = sorted(set, 0, {}, loc).values;
    // NaN equals nothing, not even NaN: compared as floats.
    return lax::eq(pick(ordered, searchsorted({ordered, loc}, {a, loc}), loc), a, loc);
  });
}

Array union1d(Operand a, Operand b, Dim size, std::optional<Scalar> fill) {
  const Loc loc = a.loc();
  return at_once("union1d", loc, [&]() -> Array {
    const std::array pair{a, b};
    const DType t = align::common_dtype("union1d", pair);
    const Array both = lax::concatenate(
        {flat(align::in_dtype("union1d", a, t), loc), flat(align::in_dtype("union1d", b, t), loc)},
        0, loc);
    return unique({both, loc}, size, fill).values;
  });
}

namespace {

/// Distinct elements of `a` whose membership in `b` is `wanted`.
Array distinct_where(std::string_view op, const Operand& a, const Operand& b, bool wanted, Dim size,
                     std::optional<Scalar> fill) {
  const Loc loc = a.loc();
  return at_once(op, loc, [&]() -> Array {
    require_size(op, size, loc);
    const std::array pair{a, b};
    const DType t = align::common_dtype(op, pair);
    const Array x = flat(align::in_dtype(op, a, t), loc), y = align::in_dtype(op, b, t);
    const Dim n = x.size();
    if (n == 0) return lax::full({t, {size}}, fill.value_or(0), loc);
    const Unique all = unique({x, loc}, n, {});
    const Array member = isin({all.values, loc}, {y, loc});
    const Array exists = lax::lt(lax::zeros_like(all.counts, loc), all.counts, loc);
    const Array fits = wanted ? member : lax::unary(not_p, member, loc);
    const Array places = positions_of_true(lax::logical_and(exists, fits, loc), size, loc);
    const Array inside = lax::lt(places, lax::full_like(places, static_cast<double>(n), loc), loc);
    const Array chosen = pick(all.values, places, loc);
    if (size == 0) return chosen;
    const Array filler = fill ? lax::full_like(chosen, *fill, loc)
                              : lax::broadcast(chosen[0], chosen.shape(), {}, loc);
    return lax::select(inside, chosen, filler, loc);
  });
}

}  // namespace

Array intersect1d(Operand a, Operand b, Dim size, std::optional<Scalar> fill) {
  return distinct_where("intersect1d", a, b, true, size, fill);
}
Array setdiff1d(Operand a, Operand b, Dim size, std::optional<Scalar> fill) {
  return distinct_where("setdiff1d", a, b, false, size, fill);
}

Array flatnonzero(Operand x, Dim size, Dim fill) {
  const Loc loc = x.loc();
  require_size("flatnonzero", size, loc);
  const Array mask = flat(truth_of(align::as_array("flatnonzero", x), loc), loc);
  const Array at = positions_of_true(mask, size, loc);
  const Array inside = lax::lt(at, lax::full_like(at, static_cast<double>(mask.size()), loc), loc);
  return lax::select(inside, at, lax::full_like(at, static_cast<double>(fill), loc), loc);
}

std::vector<Array> nonzero(Operand x, Dim size, Dim fill) {
  const Loc loc = x.loc();
  require_size("nonzero", size, loc);
  const Array a = align::as_array("nonzero", x);
  const Array mask = flat(truth_of(a, loc), loc);
  const Array at = positions_of_true(mask, size, loc);
  const auto number = [&](Dim n) { return lax::full_like(at, static_cast<double>(n), loc); };
  const Array inside = lax::lt(at, number(mask.size()), loc);
  Arrays r;
  Dim below = a.size();
  for (Dim d : a.shape()) {
    below = d == 0 ? 0 : below / d;
    const Array along = emit1(
        rem_p, {},
        {lax::div(at, number(std::max<Dim>(below, 1)), loc), number(std::max<Dim>(d, 1))}, loc);
    r.push_back(lax::select(inside, along, number(fill), loc));
  }
  return r;
}

Array argwhere(Operand x, Dim size, Dim fill) {
  const Loc loc = x.loc();
  Arrays columns;
  for (const Array& a : nonzero(x, size, fill)) columns.push_back(lax::reshape(a, {size, 1}, loc));
  if (columns.empty()) return lax::full({DType::i32, {size, 0}}, 0, loc);
  return lax::concatenate(columns, 1, loc);
}

Array count_nonzero(Operand x, const Axes& axes, ReduceOptions options) {
  const Array mask = truth_of(align::as_array("count_nonzero", x), x.loc());
  return sum({lax::convert(mask, DType::i32, x.loc()), x.loc()}, axes, options);
}

}  // namespace gnomon
