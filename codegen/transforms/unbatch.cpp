// codegen/transforms/unbatch.cpp -- replays a graph without the axis that its elements lie along.
#include "codegen/transforms/unbatch.h"

#include <algorithm>
#include <map>

#include "codegen/analysis/lane_axes.h"
#include "codegen/base/lists.h"
#include "codegen/graph/effects.h"
#include "codegen/operations/calls.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon {
namespace {

/// Thrown where there is no such graph.
struct ElementsMeet {};

int find(const std::vector<int>& axes, int axis) {
  const auto i = std::find(axes.begin(), axes.end(), axis);
  return i == axes.end() ? -1 : static_cast<int>(i - axes.begin());
}

/// Axes of an array as those of the array without `gone`.
std::vector<int> without(std::vector<int> axes, int gone) {
  std::erase(axes, gone);
  for (int& a : axes)
    if (a > gone) --a;
  return axes;
}

template <class T>
std::vector<T> erased(std::vector<T> v, int i) {
  v.erase(v.begin() + i);
  return v;
}

class Unbatcher {
 public:
  Unbatcher(const Graph& graph, const std::vector<bool>& inputs, Dim size)
      : g_(graph),
        size_(size),
        values_(graph.avals.size()),
        axes_(graph.avals.size()),
        makers_(graph.avals.size(), nullptr) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ValueId v = g_.inputs[i];
      Aval a = g_.avals[v];
      if (inputs[i]) {
        GNOMON_CHECK(a.shape.rank() > 0 && a.shape[0] == size, "elements along axis 0");
        a.shape.erase(0);
        axes_[v] = 0;
      }
      values_[v] = trace_.input(a);
    }
  }

  Graph run() {
    for (const Equation& e : g_.equations) {
      if (has_effects(e)) throw ElementsMeet{};
      for (ValueId v : e.outputs) makers_[v] = &e;
      trace_.loc = e.loc;
      const bool varies = std::any_of(e.inputs.begin(), e.inputs.end(),
                                      [&](ValueId v) { return axes_[v].has_value(); });
      const Arrays results = varies ? single(e) : emit(*e.primitive, e.params, whole(e), e.loc);
      for (std::size_t i = 0; i < results.size(); ++i) values_[e.outputs[i]] = results[i];
    }
    Arrays outputs;
    for (ValueId v : g_.outputs) outputs.push_back(without_axis(v, 0));
    return trace_.finish(outputs);
  }

 private:
  const Shape& shape(ValueId v) const { return g_.avals[v].shape; }

  Arrays whole(const Equation& e) const {
    Arrays r;
    for (ValueId v : e.inputs) r.push_back(values_[v]);
    return r;
  }

  const Array& shared(ValueId v) const {
    if (axes_[v]) throw ElementsMeet{};
    return values_[v];
  }

  /// `v` for one element, which lies along `axis` of it.
  Array without_axis(ValueId v, int axis) {
    if (axes_[v]) {
      if (*axes_[v] != axis) throw ElementsMeet{};
      return values_[v];
    }
    // Shared by all: it has to be the same along that axis.
    const auto [known, fresh] = dropped_.try_emplace({v, axis});
    if (fresh) known->second = repeated_once(v, axis);
    return known->second;
  }

  Array repeated_once(ValueId v, int axis) {
    const Equation* e = makers_[v];
    if (!e) throw ElementsMeet{};
    const Shape out = shape(v).without(axis);
    if (e->primitive == &broadcast_p) {
      const auto& axes = e->params.as<BroadcastParams>().axes;
      const int inner = find(axes, axis);
      const Array x = inner < 0 ? values_[e->inputs[0]] : without_axis(e->inputs[0], inner);
      return emit1(broadcast_p, BroadcastParams{out, without(axes, axis)}, {x}, e->loc);
    }
    if (!is_pointwise(g_, *e) || e->outputs.size() != 1) throw ElementsMeet{};
    Arrays in;
    for (ValueId x : e->inputs) in.push_back(without_axis(x, axis));
    return emit1(*e->primitive, e->params, in, e->loc);
  }

  /// The results of an equation whose operands vary, for one element.
  Arrays single(const Equation& e) {
    const Primitive& p = *e.primitive;
    const auto is = [&](const auto&... one_of) { return ((&p == &one_of) || ...); };
    if (is(dynamic_slice_p, dynamic_update_slice_p)) return slices(e);
    if (is(while_p)) return loop(e);
    if (is(scan_p)) return scanned(e);
    if (is(cond_p)) return branches(e);
    std::vector<int> operands;
    for (ValueId v : e.inputs) operands.push_back(axes_[v].value_or(-1));
    const std::optional<int> known = axis_of_results(g_, e, operands);
    if (!known) throw ElementsMeet{};
    const int axis = *known, own = operands[0];
    if (is_pointwise(g_, e)) return together(e, axis, e.params);
    if (is(broadcast_p))
      return viewed(e, axis,
                    BroadcastParams{shape(e.outputs[0]).without(axis),
                                    without(e.params.as<BroadcastParams>().axes, axis)});
    if (is(reshape_p)) return viewed(e, axis, ReshapeParams{shape(e.outputs[0]).without(axis)});
    if (is(permute_p, reverse_p, sum_p, prod_p, reduce_max_p, reduce_min_p))
      return viewed(e, axis, AxesParams{without(e.params.as<AxesParams>().axes, own)});
    if (is(slice_p)) {
      const auto& q = e.params.as<SliceParams>();
      return viewed(
          e, axis,
          SliceParams{erased(q.starts, axis), erased(q.limits, axis), erased(q.strides, axis)});
    }
    if (is(pad_p)) {
      const auto& q = e.params.as<PadParams>();
      return viewed(e, axis,
                    PadParams{erased(q.lo, axis), erased(q.hi, axis), erased(q.interior, axis)});
    }
    if (is(concatenate_p)) {
      const int along = e.params.as<AxisParams>().axis;
      return together(e, axis, AxisParams{along > axis ? along - 1 : along});
    }
    if (is(dot_general_p)) return product(e, axis);
    if (is(gather_p)) return gathered(e, axis);
    return viewed(e, axis, e.params);  // a marker
  }

  /// Operands that vary along one axis, the same as their results.
  Arrays together(const Equation& e, int axis, Params params) {
    Arrays in;
    for (ValueId v : e.inputs) in.push_back(without_axis(v, axis));
    return made(e, axis, std::move(params), in);
  }

  /// An operation on its first operand, which alone varies.
  Arrays viewed(const Equation& e, int axis, Params params) {
    Arrays in{values_[e.inputs[0]]};
    for (std::size_t i = 1; i < e.inputs.size(); ++i) in.push_back(shared(e.inputs[i]));
    return made(e, axis, std::move(params), in);
  }

  Arrays made(const Equation& e, int axis, Params params, const Arrays& in) {
    for (ValueId v : e.outputs) axes_[v] = axis;
    return emit(*e.primitive, std::move(params), in, e.loc);
  }

  Arrays product(const Equation& e, int axis) {
    auto p = e.params.as<DotParams>();
    const ValueId left = e.inputs[0], right = e.inputs[1];
    int l = axes_[left].value_or(-1), r = axes_[right].value_or(-1);
    // Along a batch axis of both, or along a free one of the side that varies.
    if (axis < static_cast<int>(p.lhs_batch.size())) {
      l = p.lhs_batch[at(axis)];
      r = p.rhs_batch[at(axis)];
    }
    const auto one = [&](ValueId v, int gone, std::vector<int>& batch, std::vector<int>& summed) {
      if (gone < 0) return values_[v];
      batch = without(batch, gone);
      summed = without(summed, gone);
      return without_axis(v, gone);
    };
    const Array a = one(left, l, p.lhs_batch, p.lhs_contracting);
    const Array b = one(right, r, p.rhs_batch, p.rhs_contracting);
    return made(e, axis, p, {a, b});
  }

  Arrays slices(const Equation& e) {
    const bool update = e.primitive == &dynamic_update_slice_p;
    const int batch = update ? e.params.as<DynamicUpdateSliceParams>().batch_dims
                             : e.params.as<DynamicSliceParams>().batch_dims;
    if (batch == 0) throw ElementsMeet{};
    Arrays in;
    for (ValueId v : e.inputs) in.push_back(without_axis(v, 0));
    if (update) return made(e, 0, DynamicUpdateSliceParams{batch - 1}, in);
    // Sizes are those of the axes behind the batch.
    return made(e, 0, DynamicSliceParams{e.params.as<DynamicSliceParams>().sizes, batch - 1}, in);
  }

  Arrays gathered(const Equation& e, int axis) {
    auto p = e.params.as<GatherParams>();
    const ValueId x = e.inputs[0], indices = e.inputs[1];
    if (axis < p.batch_dims) {
      --p.axis;
      --p.batch_dims;
      return made(e, axis, p, {without_axis(x, axis), without_axis(indices, axis)});
    }
    if (!axes_[x]) {  // they share what they read from
      if (shape(indices).rank() - p.batch_dims == 1) throw ElementsMeet{};
      return made(e, axis, p, {values_[x], values_[indices]});
    }
    if (*axes_[x] < p.axis) --p.axis;
    return viewed(e, axis, p);
  }

  /// Branches of which every element takes its own, or all take the same.
  Arrays branches(const Equation& e) {
    auto p = e.params.as<CondParams>();
    if (p.lanes != 0 && p.lanes != size_) throw ElementsMeet{};
    Arrays in{p.lanes > 0 ? without_axis(e.inputs[0], 0) : shared(e.inputs[0])};
    std::vector<bool> flags;
    for (std::size_t i = 1; i < e.inputs.size(); ++i) {
      const ValueId v = e.inputs[i];
      flags.push_back(axes_[v].has_value());
      in.push_back(flags.back() ? without_axis(v, 0) : values_[v]);
    }
    for (GraphPtr& branch : p.branches) branch = inner(*branch, flags, size_);
    p.lanes = 0;
    return made(e, 0, p, in);
  }

  /// Operands of a loop, which vary along axis 0 (sequences along axis 1) or not at all.
  Arrays operands(const Equation& e, std::size_t carried, std::size_t sequences,
                  std::vector<bool>& flags) {
    Arrays in;
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
      const ValueId v = e.inputs[i];
      const int axis = i >= carried && i < carried + sequences ? 1 : 0;
      flags.push_back(i < carried || axes_[v].has_value());
      in.push_back(flags.back() ? without_axis(v, axis) : values_[v]);
    }
    return in;
  }

  static GraphPtr inner(const Graph& g, const std::vector<bool>& flags, Dim size) {
    const auto found = unbatch(g, flags, size);
    if (!found) throw ElementsMeet{};
    return control::share(*found);
  }

  Arrays loop(const Equation& e) {
    auto p = e.params.as<WhileParams>();
    if (p.lanes != size_) throw ElementsMeet{};
    std::vector<bool> flags;
    const Arrays in = operands(e, static_cast<std::size_t>(p.carried), 0, flags);
    p.condition = inner(*p.condition, flags, size_);
    p.body = inner(*p.body, flags, size_);
    p.lanes = 0;
    return made(e, 0, p, in);
  }

  Arrays scanned(const Equation& e) {
    auto p = e.params.as<ScanParams>();
    const auto carried = static_cast<std::size_t>(p.carried);
    for (std::size_t i = 0; i < carried; ++i) {
      const Shape& s = shape(e.inputs[i]);
      if (s.rank() == 0 || s[0] != size_) throw ElementsMeet{};
    }
    std::vector<bool> flags;
    const Arrays in = operands(e, carried, static_cast<std::size_t>(p.sequences), flags);
    p.body = inner(*p.body, flags, size_);
    const Arrays r = made(e, 0, p, in);
    for (std::size_t i = carried; i < e.outputs.size(); ++i) axes_[e.outputs[i]] = 1;
    return r;
  }

  const Graph& g_;
  Dim size_;
  Trace trace_;
  Arrays values_;                         // for one element where there is an axis
  std::vector<std::optional<int>> axes_;  // along which elements lie
  std::vector<const Equation*> makers_;
  std::map<std::pair<ValueId, int>, Array> dropped_;
};

}  // namespace

std::optional<Graph> unbatch(const Graph& graph, const std::vector<bool>& inputs, Dim size) {
  try {
    return Unbatcher(graph, inputs, size).run();
  } catch (const ElementsMeet&) {
    return std::nullopt;
  }
}

}  // namespace gnomon
