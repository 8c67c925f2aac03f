// codegen/plan/grouped.cpp -- loops that one workgroup plays: their program, in slices where a
// driver limits the trips of a kernel.
#include <algorithm>

#include "codegen/cost/device_model.h"
#include "codegen/plan/planner.h"

namespace gnomon {

void Planner::group_choice(GateKernel gate, std::vector<SlotId> operands, SlotId decision) {
  gate.name = program_.name + "_decide";
  StateWrite write{0, {}};
  for (std::uint32_t c = 0; c < gate.choices; ++c) write.values.push_back(c);
  gate.writes = {write};
  GroupPart part{
      static_cast<std::uint32_t>(program_.kernels.size()), 1, std::move(operands), {}, {}};
  part.operands.push_back(decision);
  Gate made = gate_kernel(gate, target_);
  program_.kernels.push_back(std::move(made.kernel));
  part.parameters = std::move(made.parameters);
  group_->items.push_back(std::move(part));
}

void Planner::group_loop(Scope& outer, const LoopRegion& loop) {
  const Homes placed = homes_of(outer, loop);
  group_->items.push_back(loop_of_group(outer, loop, placed.places, placed.double_buffered));
}

GroupLoop Planner::loop_of_group(Scope& outer, const LoopRegion& loop,
                                 const std::vector<Home>& homes, bool double_buffered) {
  const LoopBody& body = loop.body;
  GroupLoop result;
  result.id = group_loops_++;
  result.counter = slot("iterations", 4);
  result.by_word = loop.iteration.word;
  result.most = body.trips;
  // A double buffer writes an iteration down twice; a few words are sooner copied.
  constexpr std::uint64_t few_bytes = 256;
  std::uint64_t buffered = 0;
  for (const Home& h : homes)
    if (h.second != no_slot) buffered += slots_[h.second].bytes;
  const bool copies = buffered <= few_bytes;
  const std::size_t phases = double_buffered && !copies ? 2 : 1;
  for (std::size_t phase = 0; phase < phases; ++phase) {
    result.phases.push_back(written_for_group([&] {
      Scope scope(body.graph, loop.parts);
      for (std::size_t i = 0; i < homes.size(); ++i)
        if (const auto [first, second] = homes[i]; second != no_slot)
          scope.slot(body.graph.outputs[i]) = phase == 1 ? first : second;
      enter(scope, outer, loop, homes, phase, result.counter);
      scope.iterations[body.iteration()] = result.id;
      write(scope);
      if (copies)
        for (const Home& h : homes)
          if (h.second != no_slot) copy(h.second, h.first);
    }));
    if (!body.condition) continue;
    if (phase == 0) result.decision = slot("decision", 4);
    result.conditions.push_back(written_for_group([&] {
      const Graph& condition = *body.condition;
      Scope scope(condition, loop.condition);
      enter(scope, outer, loop, homes, phase, result.counter);
      write(scope, loop.gate);
      auto [gate, operands] = decision_of(scope, body.decision(), loop.gate);
      gate.choices = 2;
      group_choice(std::move(gate), std::move(operands), result.decision);
    }));
  }
  // Where a loop ends is not known when it is gated: in its first places, then.
  if (phases == 2 && loop.gated)
    result.back = written_for_group([&] {
      for (std::size_t i = 0; i < homes.size(); ++i)
        if (homes[i].second != no_slot && body.carried[i].result != LoopBody::none)
          copy(homes[i].second, homes[i].first);
    });
  return result;
}

void Planner::group_branch(Scope& outer, const BranchRegion& branch) {
  std::vector<SlotId> results;
  for (ValueId v : branch.results) results.push_back(slot_of(outer, v));
  GroupBranch result;
  result.decision = slot("decision", 4);
  result.choice = written_for_group([&] {
    GateKernel gate;
    gate.reads = outer.graph.avals[branch.index].dtype;
    gate.choices = branch.sides.size();
    group_choice(std::move(gate), {slot_of(outer, branch.index)}, result.decision);
  });
  for (const BranchRegion::Side& side : branch.sides)
    result.sides.push_back(written_for_group([&] {
      Scope scope(side.graph, side.parts);
      for (std::size_t o = 0; o < results.size(); ++o)
        scope.slot(side.graph.outputs[o]) = results[o];
      for (std::size_t k = 0; k < branch.operands.size(); ++k)
        hand_in(outer, branch.operands[k], scope, side.graph.inputs[k]);
      write(scope);
    }));
  group_->items.push_back(std::move(result));
}

namespace {

/// Whether loops inside are too long for one kernel.
bool holds_slices(const Partition& p) {
  return std::any_of(p.clusters.begin(), p.clusters.end(), [](const Cluster& c) {
    if (c.branch)
      return std::any_of(c.branch->sides.begin(), c.branch->sides.end(),
                         [](const auto& side) { return holds_slices(side.parts); });
    return c.loop && (c.loop->body.decides || holds_slices(c.loop->parts));
  });
}

}  // namespace

std::optional<GroupKernel> Planner::group_kernel_of(const std::string& name,
                                                    const GroupProgram& program,
                                                    const std::optional<GroupSlice>& slice) const {
  const std::uint32_t size =
      std::min(device_model(target_).group_alone, target_.max_group_invocations);
  return group_kernel(name, program_.kernels, program, size, slice, target_.texel_reads);
}

void Planner::append_group(GroupKernel made) {
  Step s;
  s.kernel = static_cast<std::uint32_t>(program_.kernels.size());
  s.groups = 1;
  s.label = made.kernel.name;
  s.parameters.assign(made.around.size(), 0);
  for (std::uint32_t w = 0; w < made.around.size(); ++w)
    s.iterations.push_back({w, made.around[w]});
  program_.kernels.push_back(std::move(made.kernel));
  append(std::move(s), std::move(made.operands));
}

std::optional<std::uint64_t> Planner::iterations_within_budget(const std::string& name,
                                                               const GroupProgram& program,
                                                               GroupSlice slice) const {
  slice.iterations = 2;
  const std::uint64_t two = kernel::worst_case_trips(group_kernel_of(name, program, slice)->kernel);
  slice.iterations = 4;
  const std::uint64_t four =
      kernel::worst_case_trips(group_kernel_of(name, program, slice)->kernel);
  if (four == ~0ull || two > target_.loop_budget) return std::nullopt;
  return 2 + (target_.loop_budget - two) / (four - two) * 2;
}

void Planner::write_slices(const LoopRegion& loop, const Homes& placed, const GroupSlice& slice,
                           GroupKernel part) {
  begin_machine();
  slots_[slice.counter].depth = 0;
  machine_->counters.push_back(slice.counter);
  show_progress(loop.body, placed, slice.counter);
  const auto index = static_cast<std::uint32_t>(program_.loops.size());
  program_.loops.emplace_back();
  LoopBlock block;
  block.first = static_cast<std::uint32_t>(program_.steps.size());
  block.phases = {block.first};
  open_.emplace_back();
  Flow& flow = machine_->flow;
  const Flow::Label again = flow.here(), go = flow.fresh(), exit = flow.fresh();
  append_group(std::move(part));
  GateKernel gate;
  gate.reads = DType::i32;
  gate.choices = 2;
  append_gate(std::move(gate), {slice.more, machine_->state}, {exit, go});
  flow.go_on_at(go);
  flow.join(flow.here(), again);
  block.end = static_cast<std::uint32_t>(program_.steps.size());
  close_loop(block.first, block.end);
  block.trips = 1;
  program_.loops[index] = block;
  if (loop.body.trips)
    machine_->most_passes = (*loop.body.trips + slice.iterations - 1) / slice.iterations;
  flow.go_on_at(exit);
  end_machine();
}

bool Planner::write_group(Scope& outer, const LoopRegion& loop) {
  if (machine_ || holds_slices(loop.parts)) return false;
  Homes placed;
  const GroupProgram before = written_for_group([&] { placed = homes_of(outer, loop); });
  GroupProgram program;
  program.items.push_back(loop_of_group(outer, loop, placed.places, placed.double_buffered));
  GroupProgram whole = before;
  whole.items.insert(whole.items.end(), program.items.begin(), program.items.end());
  const std::string name = program_.name + "_group" + std::to_string(program_.steps.size());
  auto all = group_kernel_of(name, whole, {});
  // Compilers of drivers take barriers apart into coroutines, at more than linear cost: 1,100
  // values take lavapipe a second, 5,400 minutes.
  constexpr std::size_t most_values = 2500;
  if (!all || all->kernel.types.size() > most_values) return false;
  const double iterations =
      device_model(target_).long_dispatch_microseconds / std::max(0.05, loop.group_microseconds);
  const auto at_once = static_cast<std::uint64_t>(std::max(2.0, iterations)) / 2 * 2;
  const std::uint64_t budget = target_.loop_budget;
  if (budget > 0 ? kernel::worst_case_trips(all->kernel) <= budget
                 : loop.body.trips && *loop.body.trips <= at_once) {
    append_group(std::move(*all));
    return true;
  }
  if (!open_.empty()) return false;
  GroupSlice slice{at_once, slot("iterations done", 4), slot("goes on", 4)};
  // The workgroup copies a little itself sooner than a dispatch of its own starts.
  constexpr std::uint64_t few_bytes = 8192;
  std::uint64_t copied = 0;
  for (const auto& item : before.items) copied += std::get<GroupCopy>(item).bytes;
  if (copied <= few_bytes)
    slice.before = before;
  else
    for (const auto& item : before.items)
      copy(std::get<GroupCopy>(item).from, std::get<GroupCopy>(item).to);
  if (budget > 0) {
    const auto most = iterations_within_budget(name, program, slice);
    if (!most) return false;
    slice.iterations = std::min(at_once, *most);
  }
  write_slices(loop, placed, slice, *group_kernel_of(name, program, slice));
  return true;
}

}  // namespace gnomon
