// codegen/optimize/split_conv.cpp -- see split_conv.h.
#include "codegen/optimize/split_conv.h"

#include <algorithm>
#include <numeric>

#include "codegen/analysis/uses.h"
#include "codegen/base/lists.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/work.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

namespace {

constexpr Dim texel = 4;
/// Running sums of a lane: as many as stay in a core's first cache for a SIMD group.
constexpr Dim most_sums = 72;

Dim up(Dim n, Dim multiple) { return (n + multiple - 1) / multiple * multiple; }
Shape from(const Shape& s, int axis) { return s.part(axis, s.rank()); }

/// An axis of an image with zeros around it: `lo` in front (or elements less), `length` altogether,
/// of which windows do not see the last -`hi`.
struct Border {
  Dim lo, length, hi;
};

/// For so many `results` of a window, and what else it has a border for. `rows` end with a texel.
Border border(const WindowAxis& w, Dim results, bool rows) {
  const Dim needed = (results - 1) * w.stride + (w.window - 1) * w.dilation + 1;
  const Dim all = std::max(w.length + w.lo + std::max<Dim>(w.hi, 0), needed);
  const Dim length = rows ? up(all, texel) : all;
  return {w.lo, length, needed - length};
}

/// Parts of a sum over `n` images for `lanes` lanes each: 1, or 4 and more, which the parts' sum
/// does not compute by itself.
Dim parts_of(Dim n, Dim lanes, Dim results, Dim trips_of_image, const Target& target) {
  const Dim wanted = target.parallel_lanes;
  const auto few_trips = [&](Dim parts) {
    return target.loop_budget == 0 ||
           n / parts * trips_of_image < static_cast<Dim>(target.loop_budget) / 2;
  };
  constexpr Dim most_memory = Dim{1} << 24;
  const bool in_step = lanes % simd_lanes == 0;
  Dim best = few_trips(1) ? 1 : 0;
  for (Dim parts = 4; parts <= n && parts * results <= most_memory; ++parts) {
    if (n % parts != 0 || !few_trips(parts)) continue;
    if (best > 0 && best * lanes >= wanted && (in_step || best % simd_lanes == 0)) break;
    best = parts;
  }
  return best;
}

}  // namespace

ConvTile sums_tile(const Shape& out, int batch_dims, Dim rows) {
  ConvTile t{rows, batch_dims + 2};
  while (t.whole < out.rank() && from(out, t.whole).size() > most_sums) ++t.whole;
  const Dim each = from(out, t.whole).size();
  t.channels =
      std::min(out[batch_dims + 1], std::max<Dim>(1, std::min(2 * rows, most_sums / each)));
  return t;
}

ConvForm conv_form(const ConvParams& p, const Aval& lhs, const Aval& rhs, const Target& target) {
  const int b = p.batch_dims, axes = lhs.shape.rank() - b - 2;
  if (!runs_on_cores(target) || target.tile_rows <= 1 || size_of(lhs.dtype) < 4 || axes == 0 ||
      lhs.shape.size() == 0 || rhs.shape.size() == 0)
    return ConvForm::plain;
  Shape positions;
  for (int i = 0; i < axes; ++i) {
    const WindowAxis w = window_axis(p, lhs.shape, rhs.shape, i);
    if (w.base > 1) return ConvForm::plain;
    positions.append(w.count());
  }
  const Dim results = positions.size();
  const Dim images = lhs.shape.part(0, b + 1).size(), channels = rhs.shape[b];
  const Dim window = from(rhs.shape, b + 2).size(), in = rhs.shape[b + 1];
  if (results * images * channels * in * window < static_cast<Dim>(target.arranged_products))
    return ConvForm::plain;
  if (sums_positions(from(rhs.shape, b + 2), positions)) {
    const Dim trips = up(rhs.shape[rhs.shape.rank() - 1], texel) / texel * window /
                      rhs.shape[rhs.shape.rank() - 1];
    return parts_of(in, lhs.shape[b] * channels / texel, images * channels * results, trips,
                    target) > 0
               ? ConvForm::sums
               : ConvForm::plain;
  }
  return positions[axes - 1] >= texel && channels > 1 ? ConvForm::images : ConvForm::plain;
}

ConvArranger::Source ConvArranger::source_of(ValueId v) const {
  Source s{v, std::vector<int>(at(g_.avals[v].shape.rank()))};
  std::iota(s.order.begin(), s.order.end(), 0);
  for (std::uint32_t p = producer_[v]; p != Uses::none && g_.equations[p].primitive == &permute_p;
       p = producer_[s.base]) {
    const auto& axes = g_.equations[p].params.as<AxesParams>().axes;
    for (int& a : s.order) a = axes[at(a)];
    s.base = g_.equations[p].inputs[0];
  }
  return s;
}

/// `base` with zeros around it: `lo` in front, or elements less, and `length` altogether, along the
/// axes of the operand.
Array ConvArranger::bordered(const Source& s, const std::vector<Array>& env,
                             const std::vector<Dim>& lo, const std::vector<Dim>& length, Loc loc) {
  const Array& x = env[s.base];
  const std::vector<Dim> zeros(at(x.rank()), 0);
  PadParams pad{zeros, zeros, zeros};
  bool changed = false;
  std::vector<Dim> key;
  for (int a = 0; a < x.rank(); ++a) {
    const int base = s.order[at(a)];
    pad.lo[at(base)] = lo[at(a)];
    pad.hi[at(base)] = length[at(a)] - x.dim(base) - lo[at(a)];
  }
  for (int a = 0; a < x.rank(); ++a) {
    key.insert(key.end(), {pad.lo[at(a)], pad.hi[at(a)]});
    changed |= pad.lo[at(a)] != 0 || pad.hi[at(a)] != 0;
  }
  if (!changed) return x;
  const auto known = copies_.find({s.base, key});
  if (known != copies_.end()) return known->second;
  const Array copy = lax::pad(x, lax::scalar(x.dtype(), 0, loc), pad, loc);
  copies_.emplace(std::pair{s.base, key}, copy);
  return copy;
}

Array ConvArranger::arrange(const Equation& e, const std::vector<Array>& env) {
  const Aval &lhs = g_.avals[e.inputs[0]], &rhs = g_.avals[e.inputs[1]];
  return conv_form(e.params.as<ConvParams>(), lhs, rhs, target_) == ConvForm::images
             ? by_images(e, env)
             : by_sums(e, env);
}

Array ConvArranger::by_images(const Equation& e, const std::vector<Array>& env) {
  const Loc loc = e.loc;
  ConvParams p = e.params.as<ConvParams>();
  const int b = p.batch_dims;
  const Shape &lhs = g_.avals[e.inputs[0]].shape, &rhs = g_.avals[e.inputs[1]].shape;
  std::vector<Dim> lo(at(b) + 2, 0), length(lhs.begin(), lhs.begin() + b + 2);
  const int axes = lhs.rank() - b - 2;
  Dim results = 0;
  for (int i = 0; i < axes; ++i) {
    const WindowAxis w = window_axis(p, lhs, rhs, i);
    results = w.count();
    // Results behind the last one complete the last vector, and are cut off.
    const bool last = i == axes - 1;
    const Border around = border(w, last ? up(results, texel) : results, last);
    lo.push_back(around.lo);
    length.push_back(around.length);
    p.lo[at(i)] = 0;
    p.hi[at(i)] = around.hi;
  }
  const Source images = source_of(e.inputs[0]);
  const Array x = lax::permute(bordered(images, env, lo, length, loc), images.order, loc);

  // [B.., c, k.., o], in whole texels; seen as it was.
  std::vector<int> order(at(b)), back(at(rhs.rank()));
  std::iota(order.begin(), order.end(), 0);
  for (int a = b + 1; a < rhs.rank(); ++a) order.push_back(a);
  order.push_back(b);
  for (int a = 0; a < rhs.rank(); ++a) back[at(order[at(a)])] = a;
  Array w = lax::permute(env[e.inputs[1]], order, loc);
  const std::vector<Dim> zeros(at(w.rank()), 0);
  PadParams pad{zeros, zeros, zeros};
  pad.hi.back() = up(rhs[b], texel) - rhs[b];
  w = lax::slice_axis(lax::pad(w, lax::scalar(w.dtype(), 0, loc), pad, loc), w.rank() - 1, 0,
                      rhs[b], loc);
  const Array y = emit1(conv_p, p, {x, lax::permute(w, back, loc)}, loc);
  return y.dim(-1) == results ? y : lax::slice_axis(y, y.rank() - 1, 0, results, loc);
}

Array ConvArranger::by_sums(const Equation& e, const std::vector<Array>& env) {
  const Loc loc = e.loc;
  ConvParams p = e.params.as<ConvParams>();
  const int b = p.batch_dims;
  const Shape &lhs = g_.avals[e.inputs[0]].shape, &rhs = g_.avals[e.inputs[1]].shape;
  const int axes = lhs.rank() - b - 2;
  std::vector<Dim> lo(at(b) + 2, 0), from_start(at(rhs.rank()), 0);
  std::vector<Dim> length(lhs.begin(), lhs.begin() + b + 2), window(rhs.begin(), rhs.end());
  window.back() = up(window.back(), texel);
  Dim trips = window.back() / texel;
  Shape out = lhs.part(0, b + 1);
  out.append(rhs[b]);
  for (int i = 0; i < axes; ++i) {
    WindowAxis w = window_axis(p, lhs, rhs, i);
    const bool last = i == axes - 1;
    const Dim results = w.count();
    out.append(results);
    if (!last) trips *= w.window;
    w.window = window[at(b) + 2 + at(i)];
    const Border around = border(w, results, last);
    lo.push_back(around.lo);
    length.push_back(around.length);
    p.lo[at(i)] = 0;
    p.hi[at(i)] = around.hi;
  }
  const Dim n = rhs[b + 1];
  const Dim rows = sums_tile(out, b, target_.tile_rows).channels;
  const Dim parts = parts_of(n, lhs[b] * ((rhs[b] + rows - 1) / rows), out.size(), trips, target_);
  const auto operand = [&](ValueId v, const std::vector<Dim>& before, const std::vector<Dim>& all) {
    const Source s = source_of(v);
    const Array x = bordered(s, env, before, all, loc);
    if (parts == 1) return lax::permute(x, s.order, loc);
    // Seen with the images of a part as an axis of their own, in front of the others.
    const int images = s.order[at(b + 1)];
    const Array divided =
        lax::reshape(x, x.shape().with(images, n / parts).with_inserted(images, parts), loc);
    std::vector<int> order;
    for (int a : s.order) order.push_back(a < images ? a : a + 1);
    order.insert(order.begin() + b, images);
    return lax::permute(divided, order, loc);
  };
  const Array x = operand(e.inputs[0], lo, length), ct = operand(e.inputs[1], from_start, window);
  if (parts > 1) p.batch_dims += 1;
  const Array y = emit1(conv_p, p, {x, ct}, loc);
  return parts > 1 ? emit1(sum_p, AxesParams{{b}}, {y}, loc) : y;
}

}  // namespace gnomon
