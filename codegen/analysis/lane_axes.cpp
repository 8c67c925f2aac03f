// codegen/analysis/lane_axes.cpp -- follows an axis from a graph's inputs to its outputs.
#include "codegen/analysis/lane_axes.h"

#include <algorithm>

#include "codegen/base/lists.h"
#include "codegen/operations/calls.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {
namespace {

/// Elements meet, or nobody knows.
constexpr int meets = -2;

int position(const std::vector<int>& axes, int axis) {
  const auto i = std::find(axes.begin(), axes.end(), axis);
  return i == axes.end() ? -1 : static_cast<int>(i - axes.begin());
}

/// An equation of which operands have elements along axes.
class Meeting {
 public:
  Meeting(const Graph& g, const Equation& e, std::span<const int> axes)
      : g_(g), e_(e), axes_(axes) {}

  /// Of the results; `meets` where there is none.
  int axis() const {
    const auto is = [&](const auto&... one_of) { return ((e_.primitive == &one_of) || ...); };
    if (is_pointwise(g_, e_)) return common();
    if (is(concatenate_p)) return common() == e_.params.as<AxisParams>().axis ? meets : common();
    if (is(dot_general_p)) return product();
    if (is(gather_p)) return gathered();
    if (is(dynamic_slice_p)) return sliced();
    // What is left has one array, of which alone the elements are.
    if (axes_[0] < 0 || std::any_of(axes_.begin() + 1, axes_.end(), [](int a) { return a >= 0; }))
      return meets;
    const int own = axes_[0];
    if (is(stop_gradient_p, checkpoint_name_p, nondifferentiable_p, nondifferentiable_backward_p))
      return own;
    if (is(broadcast_p)) return e_.params.as<BroadcastParams>().axes[at(own)];
    if (is(permute_p)) return position(e_.params.as<AxesParams>().axes, own);
    if (is(reshape_p)) return reshaped();
    if (is(reverse_p)) return contains(e_.params.as<AxesParams>().axes, own) ? meets : own;
    if (is(sum_p, prod_p, reduce_max_p, reduce_min_p)) return reduced();
    if (is(slice_p)) return result()[own] == shape(0)[own] ? own : meets;
    if (is(pad_p)) {
      const auto& p = e_.params.as<PadParams>();
      return p.lo[at(own)] == 0 && p.hi[at(own)] == 0 && p.interior[at(own)] == 0 ? own : meets;
    }
    return meets;
  }

 private:
  const Shape& shape(std::size_t input) const { return g_.avals[e_.inputs[input]].shape; }
  const Shape& result() const { return g_.avals[e_.outputs[0]].shape; }

  /// The one that all operands agree on.
  int common() const {
    int found = -1;
    for (int a : axes_) {
      if (a < 0) continue;
      if (found >= 0 && a != found) return meets;
      found = a;
    }
    return found;
  }

  int reshaped() const {
    const int own = axes_[0];
    const Dim before = shape(0).part(0, own).size(), size = shape(0)[own];
    for (int a = 0; a < result().rank(); ++a)
      if (result()[a] == size && result().part(0, a).size() == before) return a;
    return meets;
  }

  int reduced() const {
    const auto& axes = e_.params.as<AxesParams>().axes;
    if (contains(axes, axes_[0])) return meets;
    return axes_[0] - static_cast<int>(std::count_if(axes.begin(), axes.end(),
                                                     [&](int a) { return a < axes_[0]; }));
  }

  int product() const {
    const auto& p = e_.params.as<DotParams>();
    const int l = axes_[0], r = axes_[1], batches = static_cast<int>(p.lhs_batch.size());
    const int batch = l >= 0 ? position(p.lhs_batch, l) : position(p.rhs_batch, r);
    if (batch >= 0) {
      const bool agree =
          (l < 0 || l == p.lhs_batch[at(batch)]) && (r < 0 || r == p.rhs_batch[at(batch)]);
      return agree ? batch : meets;
    }
    if (l >= 0 && r >= 0) return meets;
    // Free on one side, whose free axes follow the batch axes: those of the left one first.
    const bool by_left = l >= 0;
    const auto& batch_axes = by_left ? p.lhs_batch : p.rhs_batch;
    const auto& summed = by_left ? p.lhs_contracting : p.rhs_contracting;
    const int own = by_left ? l : r;
    if (contains(summed, own)) return meets;
    int out = batches;
    for (int a = 0; a < own; ++a) out += !contains(batch_axes, a) && !contains(summed, a);
    if (!by_left) out += shape(0).rank() - batches - static_cast<int>(p.lhs_contracting.size());
    return out;
  }

  int gathered() const {
    const auto& p = e_.params.as<GatherParams>();
    const int x = axes_[0], indices = axes_[1];
    if (x >= 0 && indices >= 0) return x == indices && x < p.batch_dims ? x : meets;
    if (x < 0) return indices < p.batch_dims ? indices : p.axis + indices - p.batch_dims;
    if (x == p.axis) return meets;
    return x < p.axis ? x : x - 1 + shape(1).rank() - p.batch_dims;
  }

  int sliced() const {
    const auto& p = e_.params.as<DynamicSliceParams>();
    const int own = common();
    if (own < p.batch_dims) return own;
    // Slices whose starts differ from element to element have them along batch axes.
    const bool one_start = std::all_of(axes_.begin() + 1, axes_.end(), [](int a) { return a < 0; });
    return one_start && result()[own] == shape(0)[own] ? own : meets;
  }

  const Graph& g_;
  const Equation& e_;
  std::span<const int> axes_;
};

}  // namespace

bool is_pointwise(const Graph& g, const Equation& e) {
  if (e.primitive->lower.kind != Lowering::Kind::element || e.inputs.empty()) return false;
  if (!e.params.empty() && e.primitive != &convert_p && e.primitive != &bitcast_p &&
      e.primitive != &integer_pow_p)
    return false;
  const Shape& shape = g.avals[e.outputs[0]].shape;
  return std::all_of(e.inputs.begin(), e.inputs.end(),
                     [&](ValueId v) { return g.avals[v].shape == shape; });
}

std::optional<int> axis_of_results(const Graph& g, const Equation& e, std::span<const int> axes) {
  const int axis = Meeting(g, e, axes).axis();
  if (axis == meets) return std::nullopt;
  return axis;
}

namespace {

using LaneAxes = std::vector<int>;

/// Of a graph's outputs, for those of its inputs.
std::optional<LaneAxes> through(const Graph& g, const LaneAxes& inputs) {
  LaneAxes axes(g.avals.size(), -1);
  for (std::size_t i = 0; i < inputs.size(); ++i) axes[g.inputs[i]] = inputs[i];
  const auto of = [&](const std::vector<ValueId>& values) {
    std::vector<int> r;
    for (ValueId v : values) r.push_back(axes[v]);
    return r;
  };
  for (const Equation& e : g.equations) {
    const std::vector<int> operands = of(e.inputs);
    if (std::all_of(operands.begin(), operands.end(), [](int a) { return a < 0; })) continue;
    if (!e.params.graphs().empty()) {
      const std::optional<LaneAxes> results = axes_of_results(e, operands);
      if (!results) return std::nullopt;
      for (std::size_t o = 0; o < e.outputs.size(); ++o) axes[e.outputs[o]] = (*results)[o];
      continue;
    }
    const std::optional<int> axis = axis_of_results(g, e, operands);
    if (!axis) return std::nullopt;
    for (ValueId v : e.outputs) axes[v] = *axis;
  }
  return of(g.outputs);
}

/// Where elements lie of a value that is either; false where they do not agree.
bool join(int& axis, int other) {
  if (axis < 0) axis = other;
  return other < 0 || axis == other;
}

/// Carried values as every step finds them, given where they are at first: what one step leaves
/// may have an axis that the first values have not. `in` becomes what the body's inputs have; gives
/// what its outputs have.
std::optional<LaneAxes> settle(const Graph& body, std::size_t carried, LaneAxes& in) {
  for (;;) {
    std::optional<LaneAxes> out = through(body, in);
    if (!out) return std::nullopt;
    const LaneAxes before = in;
    for (std::size_t c = 0; c < carried; ++c)
      if (!join(in[c], (*out)[c])) return std::nullopt;
    if (in == before) return out;
  }
}

std::optional<LaneAxes> of_scan(const ScanParams& p, LaneAxes in) {
  const auto carried = at(p.carried), constants = carried + at(p.sequences);
  for (std::size_t i = carried; i < constants; ++i) {
    if (in[i] == 0) return std::nullopt;
    if (in[i] > 0) --in[i];
  }
  std::optional<LaneAxes> out = settle(*p.body, carried, in);
  if (!out) return std::nullopt;
  std::copy_n(in.begin(), carried, out->begin());
  for (std::size_t o = carried; o < out->size(); ++o) (*out)[o] += (*out)[o] >= 0;
  return out;
}

std::optional<LaneAxes> of_while(const WhileParams& p, LaneAxes in) {
  const auto carried = at(p.carried);
  for (;;) {
    if (!settle(*p.body, carried, in)) return std::nullopt;
    const std::optional<LaneAxes> goes_on = through(*p.condition, in);
    if (!goes_on || ((*goes_on)[0] >= 0 && p.lanes == 0)) return std::nullopt;
    // Where lanes stop by themselves, what any of them carries is its own.
    const LaneAxes before = in;
    for (std::size_t c = 0; c < carried && (*goes_on)[0] >= 0; ++c)
      if (!join(in[c], 0)) return std::nullopt;
    if (in == before) break;
  }
  in.resize(carried);
  return in;
}

std::optional<LaneAxes> of_cond(const CondParams& p, const LaneAxes& in) {
  if (in[0] > 0 || (in[0] == 0 && p.lanes == 0)) return std::nullopt;
  LaneAxes out(p.branches[0]->outputs.size(), in[0]);
  for (const GraphPtr& branch : p.branches) {
    const std::optional<LaneAxes> here = through(*branch, LaneAxes(in.begin() + 1, in.end()));
    if (!here) return std::nullopt;
    for (std::size_t o = 0; o < out.size(); ++o)
      if (!join(out[o], (*here)[o])) return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<std::vector<int>> axes_of_results(const Equation& e, std::vector<int> axes) {
  if (e.primitive == &scan_p) return of_scan(e.params.as<ScanParams>(), std::move(axes));
  if (e.primitive == &while_p) return of_while(e.params.as<WhileParams>(), std::move(axes));
  if (e.primitive == &cond_p) return of_cond(e.params.as<CondParams>(), axes);
  return std::nullopt;
}

std::optional<std::vector<int>> lane_axes(const Graph& g, const std::vector<bool>& inputs) {
  LaneAxes axes;
  for (const bool flagged : inputs) axes.push_back(flagged ? 0 : -1);
  return through(g, axes);
}

}  // namespace gnomon
