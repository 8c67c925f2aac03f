// codegen/lower/split.cpp -- rewrites sum, prod, max and min over long axes.
#include "codegen/lower/split.h"

#include <algorithm>
#include <limits>

#include "codegen/primitives/lax.h"
#include "codegen/trace/trace.h"

namespace gnomon {

namespace {

constexpr Dim long_reduction = 8192;

Array identity(const Primitive& p, DType t, Loc loc) {
  if (&p == &sum_p) return lax::scalar(t, 0, loc);
  if (&p == &prod_p) return lax::scalar(t, 1, loc);
  const bool max = &p == &reduce_max_p;
  if (is_float(t)) {
    const double inf = std::numeric_limits<double>::infinity();
    return lax::scalar(t, max ? -inf : inf, loc);
  }
  if (t == DType::boolean) return lax::scalar_integer(t, max ? 0 : 1, loc);
  const unsigned bits = bits_of(t) - (is_signed(t) ? 1 : 0);
  const auto highest = static_cast<std::int64_t>(bits >= 64 ? ~0ull : (1ull << bits) - 1);
  return lax::scalar_integer(t, max ? (is_signed(t) ? -highest - 1 : 0) : highest, loc);
}

/// Reduces `axis` of x: partial results for `lanes` interleaved parts, then those.
Array in_stages(const Primitive& p, Array x, int axis, Dim lanes, Loc loc) {
  const Dim n = x.dim(axis);
  if (n < long_reduction) return emit1(p, AxesParams{{axis}}, {x}, loc);
  const Dim rows = (n + lanes - 1) / lanes;
  if (rows * lanes != n) {
    const auto rank = static_cast<std::size_t>(x.rank());
    PadParams pad{std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0)};
    pad.hi[static_cast<std::size_t>(axis)] = rows * lanes - n;
    x = lax::pad(x, identity(p, x.dtype(), loc), pad, loc);
  }
  Shape split = x.shape().with(axis, rows).with_inserted(axis + 1, lanes);
  x = emit1(p, AxesParams{{axis}}, {lax::reshape(x, split, loc)}, loc);
  // The second stage again, should it be long itself; 64 parts are few enough for the last lane.
  return lanes >= 1024 ? in_stages(p, emit1(p, AxesParams{{axis}},
                                            {lax::reshape(x, x.shape().with(axis, lanes / 64).with_inserted(axis + 1, 64), loc)},
                                            loc),
                                   axis, 64, loc)
                       : emit1(p, AxesParams{{axis}}, {x}, loc);
}

}  // namespace

Graph split_reductions(const Graph& g, const Target& target) {
  const auto wants = [&](const Equation& e) {
    if (e.primitive != &sum_p && e.primitive != &prod_p && e.primitive != &reduce_max_p && e.primitive != &reduce_min_p)
      return false;
    const Dim in = g.avals[e.inputs[0]].shape.size();
    const Dim out = g.avals[e.outputs[0]].shape.size();
    return out > 0 && in / out >= long_reduction && (out < target.parallel_lanes || target.loop_budget > 0);
  };
  if (std::none_of(g.equations.begin(), g.equations.end(), wants)) return g;

  Trace t;
  Arrays env(g.avals.size());
  for (ValueId v : g.inputs) env[v] = t.input(g.avals[v]);
  for (const Equation& e : g.equations) {
    t.loc = e.loc;
    Arrays in;
    for (ValueId v : e.inputs) in.push_back(env[v]);
    if (!wants(e)) {
      const Arrays out = emit(*e.primitive, e.params, in, e.loc);
      for (std::size_t i = 0; i < out.size(); ++i) env[e.outputs[i]] = out[i];
      continue;
    }
    // All reduced axes become one, in front of the rest where they are not neighbours already.
    const auto& axes = e.params.as<AxesParams>().axes;
    Array x = in[0];
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
        x = lax::permute(x, order, e.loc);
      }
      merged = x.shape().part(0, kept);
    }
    const Dim out = std::max<Dim>(1, merged.size());
    const Dim n = x.size() / out;
    merged.insert(axis, n);
    x = lax::reshape(x, merged, e.loc);
    Dim lanes = 64;
    while (lanes < 4096 && lanes * out < target.parallel_lanes && n / lanes > 128) lanes *= 2;
    while (target.loop_budget > 0 && n / lanes > static_cast<Dim>(target.loop_budget) / 2) lanes *= 2;
    env[e.outputs[0]] = in_stages(*e.primitive, x, axis, lanes, e.loc);
  }
  Arrays outputs;
  for (ValueId v : g.outputs) outputs.push_back(env[v]);
  return t.finish(outputs);
}

}  // namespace gnomon
