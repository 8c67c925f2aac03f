// codegen/partition/predicted_loops.cpp -- the partition's choices for one loop, by itself.
#include "codegen/partition/predicted_loops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/analysis/lane_axes.h"
#include "codegen/analysis/loop_lanes.h"
#include "codegen/base/lists.h"
#include "codegen/cost/slicing.h"
#include "codegen/cost/work.h"
#include "codegen/emit/draft.h"
#include "codegen/operations/control.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/optimize/if_convert.h"
#include "codegen/optimize/loop_body.h"
#include "codegen/partition/carried.h"
#include "codegen/partition/loop_placement.h"
#include "shaders/passes/simplify.h"

namespace gnomon {

namespace {

/// Whether lanes of another number choose inside.
bool other_lanes(const Graph& g, Dim lanes) {
  return std::any_of(g.equations.begin(), g.equations.end(), [&](const Equation& e) {
    Dim own = 0;
    if (e.primitive == &while_p) own = e.params.as<WhileParams>().lanes;
    if (e.primitive == &cond_p) own = e.params.as<CondParams>().lanes;
    const auto inside = e.params.graphs();
    return (own != 0 && own != lanes) ||
           std::any_of(inside.begin(), inside.end(),
                       [&](const GraphPtr& sub) { return other_lanes(*sub, lanes); });
  });
}

/// Whether every lane can run its own part of a loop, whose results `live` lie along axis 0 of what
/// is carried and axis 1 of what is stacked. False where it takes a draft to tell.
bool keeps_lanes_apart(const Graph& g, const Equation& loop, Dim lanes,
                       const std::vector<ValueId>& live) {
  const std::size_t carried = loop_operands(loop).carried;
  const auto has_axis = [&](ValueId v, int axis) {
    const Shape& s = g.avals[v].shape;
    return s.rank() > axis && s[axis] == lanes;
  };
  std::vector<int> axes(loop.inputs.size(), -1);
  for (std::size_t i = 0; i < carried; ++i)
    if (has_axis(loop.inputs[i], 0)) axes[i] = 0;
  const std::optional<std::vector<int>> results = axes_of_results(loop, axes);
  if (!results) return false;
  for (std::size_t o = 0; o < loop.outputs.size(); ++o) {
    const int axis = o < carried ? 0 : 1;
    if (contains(live, loop.outputs[o]) &&
        (!has_axis(loop.outputs[o], axis) || ((*results)[o] >= 0 && (*results)[o] != axis)))
      return false;
  }
  const auto inside = loop.params.graphs();
  return std::none_of(inside.begin(), inside.end(),
                      [&](const GraphPtr& sub) { return other_lanes(*sub, lanes); });
}

/// Whether the trips of a loop that lanes keep apart are more than a kernel may take; nothing where
/// it takes a draft to tell.
std::optional<bool> refused_by_trips(const Equation& loop, Dim lanes, const Target& target) {
  if (target.loop_budget == 0) return false;
  const std::uint64_t steps = most_steps(loop);
  if (steps == 0 || steps > target.loop_budget) return true;
  // As if every operation of a lane were a trip of a loop inside.
  const double each = work_per_iteration(loop) / static_cast<double>(lanes);
  if (static_cast<double>(steps) * std::max(1.0, each) <= target.loop_budget) return false;
  return std::nullopt;
}

}  // namespace

PredictedLoops::PredictedLoops(const Graph& g, const Target& target, const CompileOptions& options)
    : graph_(g), target_(target), options_(options) {}

bool PredictedLoops::in_kernels(const Equation& loop) { return place(loop).in_kernels; }
Dim PredictedLoops::by_lanes(const Equation& loop) { return place(loop).lanes; }

const PredictedLoops::Place& PredictedLoops::place(const Equation& loop) {
  const auto known = places_.find(&loop);
  return known != places_.end() ? known->second
                                : places_.emplace(&loop, predicted(loop)).first->second;
}

PredictedLoops::Place PredictedLoops::predicted(const Equation& loop) {
  const Place kernels{true, 0}, neither{};
  if (loop.primitive != &while_p && loop.primitive != &scan_p) return neither;
  if (loop.primitive == &scan_p && loop.params.as<ScanParams>().length == 0) return neither;
  if (options_.loops == LoopMapping::sequential) return neither;
  if (options_.loops != LoopMapping::automatic) return kernels;
  if (!uses_) uses_ = analyse_uses(graph_);
  std::vector<ValueId> roots;
  for (ValueId v : loop.outputs)
    if (uses_->live[v]) roots.push_back(v);
  if (roots.empty()) return neither;

  const LoopNest nest;
  const std::vector<bool> in_memory(graph_.avals.size(), true);
  const std::vector<Layout> layouts(graph_.avals.size());
  const auto index = static_cast<std::uint32_t>(&loop - graph_.equations.data());
  for (Dim lanes : lane_candidates(graph_, {index})) {
    if (too_much_for(lanes, loop, target_, true) ||
        better_as_kernels(graph_, loop, lanes, target_, nest))
      return kernels;
    if (keeps_lanes_apart(graph_, loop, lanes, roots))
      if (const auto refused = refused_by_trips(loop, lanes, target_))
        return *refused ? Place{carries_much(graph_, loop, static_cast<std::uint32_t>(lanes)), 0}
                        : whole_or_slices(loop, lanes);
    std::optional<Draft> d;
    DraftFailure failure;
    try {
      d = draft({.graph = graph_,
                 .uses = *uses_,
                 .target = target_,
                 .in_memory = in_memory,
                 .layouts = layouts,
                 .roots = roots,
                 .stored = std::vector<bool>(roots.size(), true),
                 .mapping = Mapping::lane,
                 .lanes = lanes,
                 .name = options_.name,
                 .stand_in = {}},
                failure);
      if (d) d->has_loop = true;
    } catch (const KernelTooLarge&) {
      return kernels;
    }
    if (d) return of_draft(loop, *d);
  }
  return worth_kernels(loop, 1, target_, true) ? kernels : neither;
}

bool PredictedLoops::can_be_cut(const Equation& loop, const Slicing& s) const {
  return s.steps > 0 && sliced_loop_body(graph_, loop, uses_->live, target_, s).has_value();
}

PredictedLoops::Place PredictedLoops::whole_or_slices(const Equation& loop, Dim lanes) const {
  return {false, can_be_cut(loop, slices_by_time(loop, lanes, target_)) ? 0 : lanes};
}

PredictedLoops::Place PredictedLoops::of_draft(const Equation& loop, const Draft& d) const {
  const Dim lanes = d.kernel.lanes;
  if (!over_budget(d.kernel, target_)) return whole_or_slices(loop, lanes);
  const kernel::Kernel merged = loops_merged(kernel::simplify(d.kernel), d, target_);
  if (!over_budget(merged, target_)) return whole_or_slices(loop, lanes);
  const bool sliced = !carries_much(graph_, loop, d.kernel.lanes) &&
                      (can_be_cut(loop, slices_by_trips(loop, merged, target_, false)) ||
                       can_be_cut(loop, slices_by_trips(loop, merged, target_, true)));
  return {!sliced, 0};
}

bool wants_if_conversion(const Graph& g, const Target& target, const CompileOptions& options) {
  if (options.loops != LoopMapping::automatic || !options.fuse) return false;
  std::optional<PredictedLoops> loops;
  for (const Equation& e : g.equations) {
    const bool branch = e.primitive == &cond_p;
    if (branch && !better_as_kernels(e, target)) continue;
    if (branch && convertible(e)) return true;
    // What asks for an estimate comes first: where a loop runs takes longer to find out.
    const auto inside = e.params.graphs();
    if (std::none_of(inside.begin(), inside.end(), [&](const GraphPtr& sub) {
          return wants_if_conversion(*sub, target, options);
        }))
      continue;
    if (branch) return true;
    if (!loops) loops.emplace(g, target, options);
    if (loops->in_kernels(e)) return true;
  }
  return false;
}

}  // namespace gnomon
