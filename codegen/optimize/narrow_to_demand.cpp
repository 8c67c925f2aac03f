// codegen/optimize/narrow_to_demand.cpp -- products and reductions compute what is asked of them.
//
// Slices that are known when compiling ask for a part of an array: `matmul(x, w)[-1]` for one row
// of a product, whose other rows nobody reads. The parts are boxes, with strides, and found from
// the outputs backwards, as LLVM finds demanded bits: all readers of a value ask for the smallest
// box that holds what each asks for. Pointwise operations, views, reductions and products hand it
// on to their operands; others ask for all of theirs. The graph is then recorded anew on boxes.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/analysis/lane_axes.h"
#include "codegen/base/lists.h"
#include "codegen/graph/primitive.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/simplify.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

/// Positions along an axis: `count` of them from `begin` on, `stride` apart.
struct Range {
  Dim begin = 0, count = 0, stride = 1;
  bool operator==(const Range&) const = default;
  Dim last() const { return begin + (count - 1) * stride; }
};
using Box = std::vector<Range>;

Range range(Dim begin, Dim count, Dim stride) { return {begin, count, count > 1 ? stride : 1}; }

/// The smallest range that holds both.
Range hull(const Range& a, const Range& b) {
  if (a.count == 0 || b.count == 0) return a.count == 0 ? b : a;
  const Dim begin = std::min(a.begin, b.begin), last = std::max(a.last(), b.last());
  const Dim stride = std::gcd(std::gcd(a.count > 1 ? a.stride : 0, b.count > 1 ? b.stride : 0),
                              std::max(a.begin, b.begin) - begin);
  return stride == 0 ? a : range(begin, (last - begin) / stride + 1, stride);
}

Box whole(const Shape& s) {
  Box b;
  for (Dim n : s) b.push_back({0, n});
  return b;
}

Shape shape_of(const Box& b) {
  Shape s;
  for (const Range& r : b) s.append(r.count);
  return s;
}

/// An equation of one result, by what it needs of its operands for a box of that.
class Narrowing {
 public:
  Narrowing(const Graph& g, const Equation& e) : g_(g), e_(e) {}

  /// Whether fewer elements are less to compute, rather than to move.
  bool pays() const {
    return is(dot_general_p, sum_p, prod_p, reduce_max_p, reduce_min_p, argmax_p, argmin_p);
  }

  /// The least that holds `asked` and can be computed alone. However little less it is than all: a
  /// product that a slice alone reads is a kernel of tiles if the slice is gone, and worked out
  /// element by element if not.
  Box computed(Box asked) const {
    for (int a = 0; a < result().rank(); ++a)
      if (asked[at(a)].count == 0 || !narrows(a)) asked[at(a)] = {0, result()[a]};
    return asked;
  }

  /// What operand `i` has to have for `box` of the result, which is one that `computed` gives.
  Box operand(std::size_t i, const Box& box) const {
    const Shape& shape = g_.avals[e_.inputs[i]].shape;
    Box r = whole(shape);
    for (int a = 0; a < shape.rank(); ++a)
      if (const int to = axis_of_result(i, a); to >= 0) r[at(a)] = taken(a, box[at(to)]);
    return r;
  }

  /// `box` of the result, from operands that are what `operand` says of them.
  Array emitted(const Arrays& in, const Box& box) const {
    if (is(broadcast_p))
      return lax::broadcast(in[0], shape_of(box), e_.params.as<BroadcastParams>().axes, e_.loc);
    if (is(reshape_p)) return lax::reshape(in[0], shape_of(box), e_.loc);
    if (is(slice_p)) return in[0];
    return emit1(*e_.primitive, e_.params, in, e_.loc);
  }

 private:
  template <class... P>
  bool is(const P&... one_of) const {
    return ((e_.primitive == &one_of) || ...);
  }
  const Shape& result() const { return g_.avals[e_.outputs[0]].shape; }
  const Shape& first() const { return g_.avals[e_.inputs[0]].shape; }

  /// Whether a part of the result along its axis `a` can be computed alone.
  bool narrows(int a) const {
    if (result().size() == 0) return false;  // any axis might be any other
    if (is(broadcast_p)) return true;
    for (std::size_t i = 0; i < e_.inputs.size(); ++i)
      for (int own = 0; own < g_.avals[e_.inputs[i]].shape.rank(); ++own)
        if (axis_of_result(i, own) == a) return true;
    return false;
  }

  /// The axis of the result that goes with axis `a` of operand `i`; -1: none, all of it is needed.
  int axis_of_result(std::size_t i, int a) const {
    if (is(reverse_p, slice_p)) return a;
    if (is(argmax_p, argmin_p)) {
      const int along = e_.params.as<AxisParams>().axis;
      return a == along ? -1 : a - (a > along);
    }
    // Sizes of others are among their parameters.
    if (!pays() && !is(broadcast_p, permute_p, reshape_p, concatenate_p, pad_p) &&
        !is_pointwise(g_, e_))
      return -1;
    std::vector<int> axes(e_.inputs.size(), -1);
    axes[i] = a;
    return axis_of_results(g_, e_, axes).value_or(-1);
  }

  /// Positions along axis `a` of the operand for those of the result.
  Range taken(int a, const Range& r) const {
    if (is(reverse_p) && contains(e_.params.as<AxesParams>().axes, a))
      return {first()[a] - 1 - r.last(), r.count, r.stride};
    if (is(slice_p)) {
      const auto& p = e_.params.as<SliceParams>();
      const Dim stride = p.strides[at(a)];
      return range(p.starts[at(a)] + r.begin * stride, r.count, r.stride * stride);
    }
    return r;
  }

  const Graph& g_;
  const Equation& e_;
};

/// The box of each value that is computed.
class Demand {
 public:
  explicit Demand(const Graph& g) : g_(g), boxes_(g.avals.size()), asked_(g.avals.size(), false) {
    for (ValueId v : g.outputs) ask(v, whole(g.avals[v].shape));
    for (auto e = g.equations.rbegin(); e != g.equations.rend(); ++e) settle(*e);
    for (ValueId v : g.inputs) boxes_[v] = whole(g.avals[v].shape);
  }

  /// Whether a product or a reduction computes less.
  bool narrows() const { return narrows_; }

  /// The equation on boxes, in the active trace.
  Arrays emitted(const Equation& e, const Params& params, Arrays in) const {
    const bool one = e.outputs.size() == 1;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const ValueId v = e.inputs[i];
      in[i] =
          part(in[i], boxes_[v],
               one ? Narrowing(g_, e).operand(i, boxes_[e.outputs[0]]) : whole(g_.avals[v].shape));
    }
    if (!one || !params.graphs().empty()) return emit(*e.primitive, params, in, e.loc);
    return {Narrowing(g_, e).emitted(in, boxes_[e.outputs[0]])};
  }

 private:
  void ask(ValueId v, const Box& box) {
    Box& all = boxes_[v];
    if (!asked_[v]) all = box;
    asked_[v] = true;
    for (std::size_t a = 0; a < box.size(); ++a) all[a] = hull(all[a], box[a]);
  }

  /// What is computed of an equation's results, of which all readers have asked, and what that asks
  /// of its operands. Several results are computed whole.
  void settle(const Equation& e) {
    for (ValueId v : e.outputs)
      if (!asked_[v] || e.outputs.size() > 1) boxes_[v] = whole(g_.avals[v].shape);
    if (e.outputs.size() != 1) {
      for (ValueId v : e.inputs) ask(v, whole(g_.avals[v].shape));
      return;
    }
    const Narrowing n(g_, e);
    Box& box = boxes_[e.outputs[0]];
    box = n.computed(std::move(box));
    narrows_ |= n.pays() && box != whole(g_.avals[e.outputs[0]].shape);
    for (std::size_t i = 0; i < e.inputs.size(); ++i) ask(e.inputs[i], n.operand(i, box));
  }

  /// `box` of an array that has `of`.
  static Array part(const Array& a, const Box& of, const Box& box) {
    std::vector<Dim> starts, limits, strides;
    for (std::size_t i = 0; i < box.size(); ++i) {
      const auto [begin, count, stride] = box[i];
      strides.push_back(count > 1 ? stride / of[i].stride : 1);
      starts.push_back(count > 0 ? (begin - of[i].begin) / of[i].stride : 0);
      limits.push_back(count > 0 ? starts[i] + (count - 1) * strides[i] + 1 : 0);
    }
    return lax::slice(a, std::move(starts), std::move(limits), std::move(strides));
  }

  const Graph& g_;
  std::vector<Box> boxes_;
  std::vector<bool> asked_;
  bool narrows_ = false;
};

bool may_narrow(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(), [](const Equation& e) {
    const auto graphs = e.params.graphs();
    return e.primitive == &slice_p || std::any_of(graphs.begin(), graphs.end(),
                                                  [](const GraphPtr& s) { return may_narrow(*s); });
  });
}

}  // namespace

/// The same with sub-graphs, whose inputs and results stay whole. Nothing where no product or
/// reduction would compute less.
std::optional<Graph> narrow_to_demand(const Graph& g) {
  if (!may_narrow(g)) return std::nullopt;
  const Demand demand(g);
  std::map<const Equation*, Params> inside;
  for (const Equation& e : g.equations) {
    std::vector<GraphPtr> graphs = e.params.graphs();
    bool any = false;
    for (GraphPtr& sub : graphs)
      if (auto made = narrow_to_demand(*sub)) {
        sub = std::make_shared<const Graph>(std::move(*made));
        any = true;
      }
    if (any) inside.emplace(&e, e.params.with_graphs(graphs));
  }
  if (!demand.narrows() && inside.empty()) return std::nullopt;
  return simplify(replay(g, [&](const Equation& e, const Arrays& in) {
    const auto changed = inside.find(&e);
    const Params& params = changed == inside.end() ? e.params : changed->second;
    return demand.narrows() ? demand.emitted(e, params, in) : emit(*e.primitive, params, in, e.loc);
  }));
}

}  // namespace gnomon
