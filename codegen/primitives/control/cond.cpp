// codegen/primitives/control/cond.cpp -- table entry of cond: branches by an index, for all or by
// lane.
#include <algorithm>

#include "codegen/graph/effects.h"
#include "codegen/graph/evaluate.h"
#include "codegen/primitives/control/reverse.h"
#include "codegen/primitives/families.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/jvp.h"

namespace gnomon {
namespace {

std::vector<Aval> shape_of_cond(const Params& params, std::span<const Aval> in, Loc loc) {
  const auto& p = params.as<CondParams>();
  if (p.branches.empty()) usage_error("cond", "needs at least one branch", loc);
  const Shape lanes = p.lanes > 0 ? Shape(p.lanes) : Shape();
  if (in.empty() || in[0].shape != lanes ||
      (in[0].dtype != DType::boolean && in[0].dtype != DType::i32))
    usage_error("cond",
                "the index is " + (in.empty() ? "missing" : to_string(in[0])) + " and must be " +
                    to_string(DType::boolean, lanes) + " or " + to_string(DType::i32, lanes),
                loc);
  if (in[0].dtype == DType::boolean && p.branches.size() != 2)
    usage_error("cond",
                "a bool chooses between two branches, not " + std::to_string(p.branches.size()),
                loc);
  for (std::size_t b = 0; b < p.branches.size(); ++b)
    control::check_inputs("cond", "branch " + std::to_string(b), *p.branches[b], in.subspan(1),
                          loc);
  const std::vector<Aval> out = p.branches[0]->output_avals();
  for (std::size_t b = 1; b < p.branches.size(); ++b) {
    const std::vector<Aval> other = p.branches[b]->output_avals();
    if (other.size() != out.size())
      usage_error("cond",
                  "branch 0 gives " + std::to_string(out.size()) + " values and branch " +
                      std::to_string(b) + " " + std::to_string(other.size()),
                  loc);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (other[i] != out[i])
        usage_error("cond",
                    "result " + std::to_string(i) + " is " + to_string(out[i]) +
                        " in branch 0 and " + to_string(other[i]) + " in branch " +
                        std::to_string(b),
                    loc);
  }
  for (std::size_t i = 0; p.lanes > 0 && i < out.size(); ++i)
    if (out[i].shape.rank() == 0 || out[i].shape[0] != p.lanes)
      usage_error("cond",
                  "result " + std::to_string(i) + " is " + to_string(out[i]) +
                      " and needs a leading axis of " + std::to_string(p.lanes) + " lanes",
                  loc);
  return out;
}

/// `flags_of(branch)` or-ed over the branches.
template <class F>
std::vector<bool> any_branch(const CondParams& p, F&& flags_of) {
  std::vector<bool> r(p.branches[0]->outputs.size(), false);
  for (const GraphPtr& branch : p.branches) {
    const std::vector<bool> flags = flags_of(*branch);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = r[i] || flags[i];
  }
  return r;
}

Tangents jvp_cond(const Params& params, const Arrays& x, const Arrays&, const Tangents& d) {
  auto p = params.as<CondParams>();
  std::vector<bool> active;
  for (std::size_t i = 1; i < d.size(); ++i) active.push_back(d[i].has_value());
  const std::vector<bool> moving =
      any_branch(p, [&](const Graph& g) { return active_outputs(g, active); });
  const auto count = static_cast<std::size_t>(std::count(moving.begin(), moving.end(), true));
  Tangents r(moving.size());
  if (count == 0) return r;
  for (GraphPtr& branch : p.branches) {
    const Graph joint = without_effects(gnomon::jvp(*branch, active, moving));
    std::vector<std::size_t> outputs;  // the values are there already
    for (std::size_t i = 0; i < count; ++i) outputs.push_back(moving.size() + i);
    branch =
        control::share(control::reordered(joint, control::indices(joint.inputs.size()), outputs));
  }
  Arrays inputs = x;
  for (std::size_t i = 1; i < d.size(); ++i)
    if (d[i]) inputs.push_back(*d[i]);
  const Arrays dy = emit(cond_p, p, inputs, {});
  for (std::size_t i = 0, next = 0; i < moving.size(); ++i)
    if (moving[i]) r[i] = dy[next++];
  return r;
}

/// A branch for m lanes whose flagged inputs have n in front, as one for n * m lanes.
Graph merged_branch(const Graph& branch, const std::vector<bool>& batched, Dim n) {
  const Graph over =
      control::batch(branch, batched, std::vector<bool>(branch.outputs.size(), true), n);
  Trace trace;
  Arrays inputs, outputs;
  for (ValueId v : over.inputs) inputs.push_back(trace.input(over.avals[v]));
  for (const Array& a : inline_graph(over, inputs)) outputs.push_back(control::merge_lanes(a));
  return trace.finish(outputs);
}

Batched batch_cond(const Params& params, const Arrays& x, const BatchAxes& axes, Dim n) {
  auto p = params.as<CondParams>();
  std::vector<bool> batched;
  Arrays inputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i > 0) batched.push_back(axes[i].has_value());
    inputs.push_back(control::axis_front(x[i], axes[i]));
  }
  if (p.lanes > 0) {
    inputs[0] = control::merge_lanes(rules::batch_front(x[0], axes[0], n));
    for (GraphPtr& branch : p.branches) branch = control::share(merged_branch(*branch, batched, n));
    p.lanes *= n;
    Batched r;
    for (const Array& a : emit(cond_p, p, inputs, {})) {
      r.values.push_back(control::split_lanes(a, n));
      r.axes.push_back(0);
    }
    return r;
  }
  std::vector<bool> out(p.branches[0]->outputs.size(), true);
  if (!axes[0])
    out = any_branch(p, [&](const Graph& g) { return control::batched_outputs(g, batched, n); });
  for (GraphPtr& branch : p.branches)
    branch = control::share(control::batch(*branch, batched, out, n));
  if (axes[0]) p.lanes = n;
  return {emit(cond_p, p, inputs, {}), control::front_axes(out)};
}

std::vector<HostArray> reference_cond(const Params& params, std::span<const Aval> out,
                                      std::span<const HostArray> in) {
  const auto& p = params.as<CondParams>();
  const std::vector<HostArray> operands(in.begin() + 1, in.end());
  const auto last = static_cast<Dim>(p.branches.size()) - 1;
  const auto branch_of = [&](Dim lane) {
    return static_cast<std::size_t>(std::max<Dim>(0, std::min(in[0].integer(lane), last)));
  };
  if (p.lanes == 0) return evaluate(*p.branches[branch_of(0)], operands);
  std::vector<HostArray> r(out.begin(), out.end());
  for (std::size_t b = 0; b < p.branches.size(); ++b) {
    std::vector<HostArray> values;  // empty until a lane takes this branch
    for (Dim lane = 0; lane < p.lanes; ++lane) {
      if (branch_of(lane) != b) continue;
      if (values.empty()) values = evaluate(*p.branches[b], operands);
      for (std::size_t i = 0; i < r.size(); ++i) {
        const std::size_t row = r[i].bytes.size() / static_cast<std::size_t>(p.lanes);
        const std::size_t at = static_cast<std::size_t>(lane) * row;
        std::copy_n(values[i].bytes.data() + at, row, r[i].bytes.data() + at);
      }
    }
  }
  return r;
}

}  // namespace

const Primitive cond_p{
    .name = "cond",
    .parse = parse_params<CondParams>,
    .shape = shape_of_cond,
    .jvp = jvp_cond,
    .transpose = [](const TransposeArgs& t) { return control::transposed(cond_reverse, t); },
    .batch = batch_cond,
    .lower = Lowering::structured(Lowering::Kind::cond),
    .reference = reference_cond,
    .reverse = &cond_reverse,
};

}  // namespace gnomon
