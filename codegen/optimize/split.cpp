// codegen/optimize/split.cpp -- rewrites reductions and products over long axes.
#include "codegen/optimize/split.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/analysis/uses.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/window.h"
#include "codegen/optimize/split_conv.h"
#include "codegen/optimize/split_product.h"
#include "codegen/optimize/split_reduce.h"
#include "codegen/optimize/split_scatter.h"
#include "codegen/trace/trace.h"

namespace gnomon {

namespace {

/// One rewriting of a graph into the active trace.
class Splitter {
 public:
  Splitter(const Graph& g, const Target& target)
      : g_(g),
        target_(target),
        producer_(analyse_uses(g).producer),
        convolutions_(g, target, producer_) {}

  bool wants(const Equation& e) const {
    const Graph& g = g_;
    const Primitive* p = e.primitive;
    if (p == &conv_p) return wants_conv(g, e);
    if (wants_parts(g, e, target_) || wants_choices(g, e, producer_)) return true;
    const bool product = p == &dot_general_p;
    if (!product && p != &sum_p && p != &prod_p && p != &reduce_max_p && p != &reduce_min_p &&
        p != &argmax_p && p != &argmin_p)
      return false;
    const Shape& in = g.avals[e.inputs[0]].shape;
    const Dim out = g.avals[e.outputs[0]].shape.size();
    if (out == 0) return false;
    if (in_runs(*p, in, e)) return true;
    if (!product)
      return in.size() / out >= long_reduction &&
             (out < target_.parallel_lanes || target_.loop_budget > 0);
    return splits_product(g, e, producer_, target_);
  }

  /// A CPU's lanes read contiguous runs.
  bool in_runs(const Primitive& p, const Shape& in, const Equation& e) const {
    if (!target_.contiguous_per_lane ||
        (&p != &sum_p && &p != &prod_p && &p != &reduce_max_p && &p != &reduce_min_p))
      return false;
    const auto& axes = e.params.as<AxesParams>().axes;
    Dim n = 1;
    for (int a : axes) n *= in[a];
    return !axes.empty() && axes.front() + static_cast<int>(axes.size()) == in.rank() &&
           n > short_reduction;
  }

  Array split(const Equation& e, const Arrays& env) {
    Arrays in;
    for (ValueId v : e.inputs) in.push_back(env[v]);
    if (e.primitive == &dot_general_p) return split_product(g_, e, producer_, target_, env);
    if (wants_choices(g_, e, producer_)) return scatter_by_choice(e, in);
    if (e.primitive->lower.kind == Lowering::Kind::scatter) return scatter_in_parts(e, in, target_);
    if (e.primitive == &conv_p && arranged(e)) return convolutions_.arrange(e, env);
    if (e.primitive == &conv_p)
      return convolution(in[0], in[1], e.params.as<ConvParams>(),
                         g_.avals[e.outputs[0]].shape.size(), e.loc);
    if (e.primitive == &argmax_p)
      return position_in_stages(reduce_max_p, in[0], e.params.as<AxisParams>().axis, target_,
                                e.loc);
    if (e.primitive == &argmin_p)
      return position_in_stages(reduce_min_p, in[0], e.params.as<AxisParams>().axis, target_,
                                e.loc);
    return reduction(e, env);
  }

 private:
  static Dim products(const ConvParams& p, const Shape& rhs) {
    return rhs.part(p.batch_dims + 1, rhs.rank()).size();
  }
  /// Whether windows leave the image, so that reads have to be checked.
  static bool bordered(const ConvParams& p) {
    for (std::size_t i = 0; i < p.lo.size(); ++i)
      if (p.lo[i] > 0 || p.hi[i] > 0 || p.base[i] > 1) return true;
    return false;
  }
  bool arranged(const Equation& e) const {
    return conv_form(e.params.as<ConvParams>(), g_.avals[e.inputs[0]], g_.avals[e.inputs[1]],
                     target_) != ConvForm::plain;
  }
  bool long_sums(const ConvParams& p, const Shape& rhs, Dim out) const {
    const Dim n = products(p, rhs);
    return n >= long_reduction && lanes_for(n, out, target_, 1) > 1;
  }
  bool wants_conv(const Graph& g, const Equation& e) const {
    const Shape &lhs = g.avals[e.inputs[0]].shape, &rhs = g.avals[e.inputs[1]].shape;
    const auto& p = e.params.as<ConvParams>();
    const Dim out = g.avals[e.outputs[0]].shape.size();
    if (lhs.size() == 0 || rhs.size() == 0 || out == 0) return false;
    if (arranged(e)) return true;
    if (long_sums(p, rhs, out)) return true;
    // Checks at the border are shared by all output channels of a lane. For a single channel, many
    // of them take longer than a copy of the image: on lavapipe 25 five times as long for 9 x 9.
    const Dim window = rhs.part(p.batch_dims + 2, rhs.rank()).size();
    return bordered(p) && rhs[p.batch_dims] == 1 && window > 9 &&
           out * products(p, rhs) >= Dim{1} << 16;
  }

  Array convolution(const Array& lhs, const Array& rhs, const ConvParams& p, Dim out,
                    Loc loc) const {
    if (long_sums(p, rhs.shape(), out)) return as_product(lhs, rhs, p, loc);
    const auto front = static_cast<std::size_t>(p.batch_dims) + 2;
    const std::vector<Dim> no_border(front, 0);
    PadParams border{no_border, no_border, no_border};
    ConvParams inside = p;
    for (std::size_t i = 0; i < p.lo.size(); ++i) {
      border.lo.push_back(p.lo[i]);
      border.hi.push_back(p.hi[i]);
      border.interior.push_back(p.base[i] - 1);
      inside.lo[i] = inside.hi[i] = 0;
      inside.base[i] = 1;
    }
    const Array image = lax::pad(lhs, lax::scalar(lhs.dtype(), 0, loc), border, loc);
    return emit1(conv_p, inside, {image, rhs}, loc);
  }

  /// As the product of what the windows show with the kernel: sums over (channel, k).
  Array as_product(const Array& lhs, const Array& rhs, const ConvParams& p, Loc loc) const {
    const int b = p.batch_dims;
    const Array patches = conv_patches(p, lhs, rhs.shape(), loc);  // [B.., n, c, k, t]
    const Shape merged = rhs.shape().part(0, b + 2);
    Shape flat = merged;
    flat.append(rhs.shape().part(b + 2, rhs.rank()).size());
    DotParams q{{b + 1, b + 2}, {b + 1, b + 2}, {}, {}};
    for (int i = 0; i < b; ++i) {
      q.lhs_batch.push_back(i);
      q.rhs_batch.push_back(i);
    }
    Array y;  // [B.., n, t, o]
    const Dim depth = flat[b + 1] * flat[b + 2], results = patches.size() / depth * flat[b];
    const bool few_trips =
        target_.loop_budget == 0 || depth / 4 < static_cast<Dim>(target_.loop_budget) / 2;
    if (results >= static_cast<Dim>(target_.parallel_lanes) && few_trips) {
      // Enough results for all lanes, which share what they read when channels are neighbours.
      Shape one = flat.part(0, b + 1), rows = patches.shape().part(0, b + 1);
      one.append(depth);
      rows.append(depth);
      rows.append(patches.dim(-1));
      std::vector<int> order;
      for (int i = 0; i < b; ++i) order.push_back(i);
      order.insert(order.end(), {b + 1, b});
      q.lhs_contracting = {b + 1};
      q.rhs_contracting = {b};
      y = lax::dot_general(lax::reshape(patches, rows, loc),
                           lax::permute(lax::reshape(rhs, one, loc), order, loc), q, loc);
    } else {
      y = product_in_stages(patches, lax::reshape(rhs, flat, loc), q, target_, loc);
    }
    Shape out = lhs.shape().part(0, b + 1);
    out.append(rhs.shape()[b]);
    for (int i = 0; i + b + 2 < lhs.rank(); ++i)
      out.append(window_axis(p, lhs.shape(), rhs.shape(), i).count());
    return lax::reshape(lax::move_axis(y, b + 2, b + 1, loc), out, loc);
  }

  /// What lies side by side in memory tells how to go about it, so not through a permutation.
  Array reduction(const Equation& e, const Arrays& env) const {
    std::vector<int> axes = e.params.as<AxesParams>().axes;
    ValueId v = e.inputs[0];
    const std::uint32_t maker = producer_[v];
    if (target_.contiguous_per_lane && maker != Uses::none &&
        g_.equations[maker].primitive == &permute_p) {
      const Equation& permutation = g_.equations[maker];
      const auto& order = permutation.params.as<AxesParams>().axes;
      std::vector<int> kept;
      for (int a = 0; a < static_cast<int>(order.size()); ++a)
        if (std::count(axes.begin(), axes.end(), a) == 0)
          kept.push_back(order[static_cast<std::size_t>(a)]);
      if (std::is_sorted(kept.begin(), kept.end())) {
        for (int& a : axes) a = order[static_cast<std::size_t>(a)];
        std::sort(axes.begin(), axes.end());
        v = permutation.inputs[0];
      }
    }
    return reduce_in_stages(*e.primitive, env[v], axes, target_, e.loc);
  }

  const Graph& g_;
  const Target& target_;
  std::vector<std::uint32_t> producer_;
  ConvArranger convolutions_;
};

}  // namespace

Graph split_reductions(const Graph& g, const Target& target, Decisions* decisions) {
  Splitter splitter(g, target);
  std::set<const Equation*> wanted;
  for (const Equation& e : g.equations)
    if (splitter.wants(e) && decide(decisions, Question::split, g, e.outputs[0], true))
      wanted.insert(&e);
  if (wanted.empty()) return g;

  Trace t;
  Arrays env(g.avals.size());
  for (ValueId v : g.inputs) env[v] = t.input(g.avals[v]);
  for (const Equation& e : g.equations) {
    t.loc = e.loc;
    Arrays in;
    for (ValueId v : e.inputs) in.push_back(env[v]);
    const Arrays out = wanted.contains(&e) ? Arrays{splitter.split(e, env)}
                                           : emit(*e.primitive, e.params, in, e.loc);
    for (std::size_t i = 0; i < out.size(); ++i) env[e.outputs[i]] = out[i];
  }
  Arrays outputs;
  for (ValueId v : g.outputs) outputs.push_back(env[v]);
  return t.finish(outputs);
}

}  // namespace gnomon
