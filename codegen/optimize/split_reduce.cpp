// codegen/optimize/split_reduce.cpp -- a lane's vector and a GPU's wave both read neighbours.
#include "codegen/optimize/split_reduce.h"

#include <algorithm>
#include <limits>

#include "codegen/cost/device_model.h"
#include "codegen/lax/lax.h"
#include "codegen/trace/trace.h"

namespace gnomon {

Array identity(const Primitive& p, DType t, Loc loc) {
  if (&p == &sum_p) return lax::scalar(t, 0, loc);
  if (&p == &prod_p) return lax::scalar(t, 1, loc);
  return &p == &reduce_max_p ? lax::lowest(t, loc) : lax::highest(t, loc);
}

Array padded(const Array& x, const Array& value, int axis, Dim parts, Loc loc) {
  const Dim n = x.dim(axis), rest = (n + parts - 1) / parts * parts - n;
  if (rest == 0) return x;
  const auto rank = static_cast<std::size_t>(x.rank());
  PadParams pad{std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0)};
  pad.hi[static_cast<std::size_t>(axis)] = rest;
  return lax::pad(x, value, pad, loc);
}

Dim lanes_for(Dim n, Dim out, const Target& target, Dim lanes) {
  const Dim few = device_model(target).elements_per_stage;
  while (lanes < 4096 && lanes * out < target.parallel_lanes && n / lanes > few) lanes *= 2;
  while (target.loop_budget > 0 && n / lanes > static_cast<Dim>(target.loop_budget) / 2) lanes *= 2;
  return lanes;
}

Array finish_reduction(const Primitive& p, Array x, int axis, Loc loc) {
  const Dim n = x.dim(axis);
  if (n >= 1024) {
    x = lax::reshape(x, x.shape().with(axis, n / 64).with_inserted(axis + 1, 64), loc);
    x = emit1(p, AxesParams{{axis}}, {x}, loc);
  }
  return emit1(p, AxesParams{{axis}}, {x}, loc);
}

namespace {

/// Neighbours that one lane adds up side by side where it does nothing else: enough to hide the
/// latency of an addition.
constexpr Dim longest_run = 16;
/// And where computing them needs registers as well. A trip of a loop then adds four of each.
constexpr Dim run = 4;

/// Invocations of a CPU that share a reduction of `n` neighbours to each of `out` results. One
/// reads some 600 elements per microsecond, a SIMD group of eight ten times as many, and a stage
/// more costs eight microseconds on lavapipe. Several groups per core are enough to fill it.
Dim invocations_for(Dim n, Dim out, const Target& target) {
  constexpr Dim alone = 16384, each = 2048;
  if (n < alone || out >= target.parallel_lanes) return 1;
  Dim r = simd_lanes;
  while (simd_lanes * r * out < target.parallel_lanes && n / r > each) r *= 2;
  return std::max(r, lanes_for(n / longest_run, out, target, r));
}

/// Reduces `axis` of x: partial results for `lanes` interleaved parts, then those.
Array in_stages(const Primitive& p, Array x, int axis, Dim lanes, Loc loc) {
  const Dim n = x.dim(axis);
  const Dim rows = (n + lanes - 1) / lanes;
  x = padded(x, identity(p, x.dtype(), loc), axis, lanes, loc);
  x = emit1(p, AxesParams{{axis}},
            {lax::reshape(x, x.shape().with(axis, rows).with_inserted(axis + 1, lanes), loc)}, loc);
  return finish_reduction(p, x, axis, loc);
}

const Primitive& combining(const Primitive& p) {
  return &p == &sum_p ? add_p : &p == &prod_p ? mul_p : &p == &reduce_max_p ? max_p : min_p;
}

/// Reduces the last axis, every lane a row: in parts of every 4th element, side by side in one loop
/// that reads neighbours, then those; what is left over at the end.
Array by_rows(const Primitive& p, const Array& x, Loc loc) {
  const int last = x.rank() - 1;
  const Dim n = x.dim(last), rows = n / (4 * run) * 4;
  if (n <= short_reduction) return emit1(p, AxesParams{{last}}, {x}, loc);
  Array y = lax::slice_axis(x, last, 0, rows * run, loc);
  y = lax::reshape(y, y.shape().with(last, rows).with_inserted(last + 1, run), loc);
  y = emit1(p, AxesParams{{last}}, {y}, loc);
  y = emit1(p, AxesParams{{last}}, {y}, loc);
  if (n == rows * run) return y;
  const Array rest = lax::slice_axis(x, last, rows * run, n, loc);
  return emit1(combining(p), {}, {y, emit1(p, AxesParams{{last}}, {rest}, loc)}, loc);
}

/// Reduces the last axis by so many invocations: blocks that a SIMD group of them reads side by
/// side, one after another, so that every core follows one stream; then what its lanes are left
/// with.
Array by_blocks(const Primitive& p, const Array& x, Dim invocations, Loc loc) {
  constexpr Dim block = simd_lanes * longest_run;
  const int last = x.rank() - 1;
  const Dim n = x.dim(last), parts = std::max<Dim>(1, invocations * longest_run / block);
  const Dim trips = n / (parts * block), whole = parts * trips * block;
  if (invocations <= 1 || trips <= 1) return by_rows(p, x, loc);
  Array y = lax::slice_axis(x, last, 0, whole, loc);
  y = lax::reshape(
      y, y.shape().with(last, parts).with_inserted(last + 1, trips).with_inserted(last + 2, block),
      loc);
  y = emit1(p, AxesParams{{last + 1}}, {y}, loc);
  y = by_rows(p, lax::reshape(y, x.shape().with(last, parts * block), loc), loc);
  if (n == whole) return y;
  return emit1(combining(p), {}, {y, by_rows(p, lax::slice_axis(x, last, whole, n, loc), loc)},
               loc);
}

/// Reduces the last axis in parts that a workgroup each takes in one go, then those.
Array by_teams(const Primitive& p, Array x, const Target& target, Loc loc) {
  const int last = x.rank() - 1;
  const Dim n = x.dim(last), team = target.team, out = std::max<Dim>(1, x.size() / n);
  Dim parts = 1;
  while (2 * parts * out * team <= static_cast<Dim>(target.parallel_lanes) &&
         n / (2 * parts) >= 8 * team)
    parts *= 2;
  // Fewer would be reduced where their sum is asked for.
  if (parts >= 4) {
    x = padded(x, identity(p, x.dtype(), loc), last, parts, loc);
    x = lax::reshape(x, x.shape().with(last, parts).with_inserted(last + 1, x.dim(last) / parts),
                     loc);
    x = emit1(p, AxesParams{{last + 1}}, {x}, loc);
  }
  return emit1(p, AxesParams{{last}}, {x}, loc);
}

}  // namespace

Array reduce_in_stages(const Primitive& p, Array x, const std::vector<int>& axes,
                       const Target& target, Loc loc) {
  std::vector<int> order;
  for (int a = 0; a < x.rank(); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) order.push_back(a);
  const int kept = static_cast<int>(order.size());
  const bool trailing = axes.front() == kept && axes.back() == x.rank() - 1;
  const bool leading = axes.front() == 0 && axes.back() == static_cast<int>(axes.size()) - 1;
  Shape merged;
  int axis = kept;
  if (leading) {
    axis = 0;
    merged = x.shape().part(static_cast<int>(axes.size()), x.rank());
  } else {
    if (!trailing) {
      order.insert(order.end(), axes.begin(), axes.end());
      x = lax::permute(x, order, loc);
    }
    merged = x.shape().part(0, kept);
  }
  const Dim out = std::max<Dim>(1, merged.size());
  const Dim n = x.size() / out;
  merged.insert(axis, n);
  if (target.contiguous_per_lane && (trailing || !leading) && x.dtype() != DType::boolean)
    return by_blocks(p, lax::reshape(x, merged, loc), invocations_for(n, out, target), loc);
  if (target.team > 0 && (trailing || !leading))
    return by_teams(p, lax::reshape(x, merged, loc), target, loc);
  return in_stages(p, lax::reshape(x, merged, loc), axis, lanes_for(n, out, target, 64), loc);
}

Array position_in_stages(const Primitive& p, const Array& x, int axis, const Target& target,
                         Loc loc) {
  const Array best =
      lax::insert_axis(reduce_in_stages(p, x, {axis}, target, loc), axis, x.dim(axis), loc);
  Array hit = lax::eq(x, best, loc);
  if (is_float(x.dtype())) hit = emit1(or_p, {}, {hit, lax::unary(isnan_p, x, loc)}, loc);
  const Array position = lax::iota(DType::i32, x.shape(), axis, loc);
  const Array missed = lax::full_like(position, std::numeric_limits<std::int32_t>::max(), loc);
  return reduce_in_stages(reduce_min_p, lax::select(hit, position, missed, loc), {axis}, target,
                          loc);
}

}  // namespace gnomon
