// codegen/lower/split.cpp -- rewrites reductions and products over long axes.
#include "codegen/lower/split.h"

#include <algorithm>
#include <limits>
#include <utility>

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

/// `x` with `value` behind it along `axis` until its length is a multiple of `parts`.
Array padded(const Array& x, const Array& value, int axis, Dim parts, Loc loc) {
  const Dim n = x.dim(axis), rest = (n + parts - 1) / parts * parts - n;
  if (rest == 0) return x;
  const auto rank = static_cast<std::size_t>(x.rank());
  PadParams pad{std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0)};
  pad.hi[static_cast<std::size_t>(axis)] = rest;
  return lax::pad(x, value, pad, loc);
}

/// Lanes that share a reduction of `n` elements to each of `out` results, at least `lanes`.
Dim lanes_for(Dim n, Dim out, const Target& target, Dim lanes) {
  while (lanes < 4096 && lanes * out < target.parallel_lanes && n / lanes > 128) lanes *= 2;
  while (target.loop_budget > 0 && n / lanes > static_cast<Dim>(target.loop_budget) / 2) lanes *= 2;
  return lanes;
}

/// Reduces `axis`, which holds partial results; 64 parts are few enough for the last lane.
Array finish(const Primitive& p, Array x, int axis, Loc loc) {
  const Dim n = x.dim(axis);
  if (n >= 1024) {
    x = lax::reshape(x, x.shape().with(axis, n / 64).with_inserted(axis + 1, 64), loc);
    x = emit1(p, AxesParams{{axis}}, {x}, loc);
  }
  return emit1(p, AxesParams{{axis}}, {x}, loc);
}

/// Reduces `axis` of x: partial results for `lanes` interleaved parts, then those.
Array in_stages(const Primitive& p, Array x, int axis, Dim lanes, Loc loc) {
  const Dim n = x.dim(axis);
  const Dim rows = (n + lanes - 1) / lanes;
  x = padded(x, identity(p, x.dtype(), loc), axis, lanes, loc);
  x = emit1(p, AxesParams{{axis}},
            {lax::reshape(x, x.shape().with(axis, rows).with_inserted(axis + 1, lanes), loc)}, loc);
  return finish(p, x, axis, loc);
}

/// One rewriting of a graph into the active trace.
class Splitter {
 public:
  explicit Splitter(const Target& target) : target_(target) {}

  bool wants(const Graph& g, const Equation& e) const {
    const Primitive* p = e.primitive;
    const bool product = p == &dot_general_p;
    if (!product && p != &sum_p && p != &prod_p && p != &reduce_max_p && p != &reduce_min_p &&
        p != &argmax_p && p != &argmin_p)
      return false;
    const Shape& in = g.avals[e.inputs[0]].shape;
    const Dim out = g.avals[e.outputs[0]].shape.size();
    if (out == 0) return false;
    if (!product)
      return in.size() / out >= long_reduction &&
             (out < target_.parallel_lanes || target_.loop_budget > 0);
    Dim n = 1;
    for (int a : e.params.as<DotParams>().lhs_contracting) n *= in[a];
    return n >= long_reduction && lanes_for(n, out, target_, 1) > 1;
  }

  Array split(const Equation& e, const Arrays& in) const {
    if (e.primitive == &dot_general_p)
      return product(in[0], in[1], e.params.as<DotParams>(), e.loc);
    if (e.primitive == &argmax_p)
      return extremum(reduce_max_p, in[0], e.params.as<AxisParams>().axis, e.loc);
    if (e.primitive == &argmin_p)
      return extremum(reduce_min_p, in[0], e.params.as<AxisParams>().axis, e.loc);
    return reduction(*e.primitive, in[0], e.params.as<AxesParams>().axes, e.loc);
  }

 private:
  /// All reduced axes become one, behind the rest where they are not in front already.
  Array reduction(const Primitive& p, Array x, const std::vector<int>& axes, Loc loc) const {
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
    return in_stages(p, lax::reshape(x, merged, loc), axis, lanes_for(n, out, target_, 64), loc);
  }

  /// The first position of the largest (smallest) element: the value in stages, then where it is. A
  /// NaN is the value when there is one, and equal to nothing.
  Array extremum(const Primitive& p, const Array& x, int axis, Loc loc) const {
    const Array best = lax::insert_axis(reduction(p, x, {axis}, loc), axis, x.dim(axis), loc);
    Array hit = lax::eq(x, best, loc);
    if (is_float(x.dtype())) hit = emit1(or_p, {}, {hit, lax::unary(isnan_p, x, loc)}, loc);
    const Array position = lax::iota(DType::i32, x.shape(), axis, loc);
    const Array none = lax::full_like(position, std::numeric_limits<std::int32_t>::max(), loc);
    return reduction(reduce_min_p, lax::select(hit, position, none, loc), {axis}, loc);
  }

  /// Neighbours along the summed axes in parts, as a batch axis; then the sum of the parts.
  Array product(Array a, Array b, const DotParams& p, Loc loc) const {
    const auto arrange = [&](const Array& x, const std::vector<int>& batch,
                             const std::vector<int>& summed) {
      std::vector<int> order = batch;
      for (int axis = 0; axis < x.rank(); ++axis)
        if (std::count(batch.begin(), batch.end(), axis) +
                std::count(summed.begin(), summed.end(), axis) ==
            0)
          order.push_back(axis);
      const auto front = static_cast<int>(order.size());
      order.insert(order.end(), summed.begin(), summed.end());
      const Array y = lax::permute(x, order, loc);
      Shape merged = y.shape().part(0, front);
      merged.append(y.shape().part(front, y.rank()).size());
      return lax::reshape(y, merged, loc);
    };
    a = arrange(a, p.lhs_batch, p.lhs_contracting);
    b = arrange(b, p.rhs_batch, p.rhs_contracting);
    const auto batches = static_cast<int>(p.lhs_batch.size());
    const Dim n = a.dim(-1);
    const Dim out = std::max<Dim>(
        1, a.size() / n * (b.size() / n) / std::max<Dim>(1, a.shape().part(0, batches).size()));
    const Dim parts =
        lanes_for(n, out, target_, 1);  // every part costs memory of the size of the result
    const auto in_parts = [&](const Array& x) {
      const int last = x.rank() - 1;
      const Array y = padded(x, lax::scalar(x.dtype(), 0, loc), last, parts, loc);
      return lax::reshape(
          y, y.shape().with(last, y.dim(last) / parts).with_inserted(last + 1, parts), loc);
    };
    a = in_parts(a);
    b = in_parts(b);
    DotParams q;
    for (int i = 0; i < batches; ++i) {
      q.lhs_batch.push_back(i);
      q.rhs_batch.push_back(i);
    }
    q.lhs_batch.push_back(a.rank() - 1);
    q.rhs_batch.push_back(b.rank() - 1);
    q.lhs_contracting = {a.rank() - 2};
    q.rhs_contracting = {b.rank() - 2};
    const Array partial = lax::dot_general(a, b, q, loc);
    return finish(sum_p, partial, batches, loc);
  }

  const Target& target_;
};

}  // namespace

Graph split_reductions(const Graph& g, const Target& target) {
  const Splitter splitter(target);
  if (std::none_of(g.equations.begin(), g.equations.end(),
                   [&](const Equation& e) { return splitter.wants(g, e); }))
    return g;

  Trace t;
  Arrays env(g.avals.size());
  for (ValueId v : g.inputs) env[v] = t.input(g.avals[v]);
  for (const Equation& e : g.equations) {
    t.loc = e.loc;
    Arrays in;
    for (ValueId v : e.inputs) in.push_back(env[v]);
    const Arrays out = splitter.wants(g, e) ? Arrays{splitter.split(e, in)}
                                            : emit(*e.primitive, e.params, in, e.loc);
    for (std::size_t i = 0; i < out.size(); ++i) env[e.outputs[i]] = out[i];
  }
  Arrays outputs;
  for (ValueId v : g.outputs) outputs.push_back(env[v]);
  return t.finish(outputs);
}

}  // namespace gnomon
