// codegen/plan/gated.cpp -- loops and branches that the device steers: steps, gates, and what each
// decision lets run.
#include <algorithm>
#include <tuple>

#include "codegen/modules/copy_kernel.h"
#include "codegen/plan/planner.h"
#include "codegen/program/grid.h"

namespace gnomon {

/// One iteration and the decision whether it takes place, or another one does. Gives where it goes
/// on if not.
Flow::Label Planner::write_iteration(Scope& outer, const LoopRegion& loop,
                                     const std::vector<Home>& homes, std::size_t phase,
                                     SlotId counter) {
  const LoopBody& body = loop.body;
  Flow& flow = machine_->flow;
  const Flow::Label go = flow.fresh();
  const Flow::Label exit = flow.fresh();
  if (body.condition) {
    Scope condition(*body.condition, loop.condition);
    enter(condition, outer, loop, homes, phase, counter);
    write_gate(condition, loop, counter, {exit, go});
    flow.go_on_at(go);
  } else if (!body.decides) {
    write_gate(outer, loop, counter, {exit, go});
    flow.go_on_at(go);
  }
  Scope scope(body.graph, loop.parts);
  for (std::size_t i = 0; i < body.carried.size(); ++i)
    if (const auto [first, second] = homes[i]; second != no_slot)
      scope.slot(body.graph.outputs[i]) = phase == 1 ? first : second;
  enter(scope, outer, loop, homes, phase, counter);
  if (body.decides) {
    write_gate(scope, loop, counter, {exit, go});
    flow.go_on_at(go);
  } else {
    write(scope);
  }
  return exit;
}

/// How often a pass runs a loop of so many steps and phases.
std::uint64_t Planner::trips_per_pass(const LoopBody& body, std::uint32_t steps,
                                      std::size_t phases) const {
  // Slices take long enough one by one, and shall be looked at.
  if (body.paced) return 1;
  // Inner loops run their whole length in every pass; this one a few iterations.
  constexpr std::uint32_t steps_per_pass = 64;
  const std::uint64_t trips =
      machine_->nested ? 1 : std::clamp<std::uint64_t>(steps_per_pass / steps, 1, 16);
  return body.trips ? std::min(trips, *body.trips / phases + 1) : trips;
}

void Planner::write_gated(Scope& outer, const LoopRegion& loop) {
  const LoopBody& body = loop.body;
  const Homes placed = homes_of(outer, loop);
  const std::vector<Home>& homes = placed.places;
  const bool double_buffered = placed.double_buffered;
  const bool outermost = !machine_.has_value();
  if (outermost)
    begin_machine();
  else
    machine_->nested = true;
  const bool nested_before = machine_->nested;
  machine_->nested = false;
  const SlotId counter = slot("iterations", 4);
  slots_[counter].depth = 0;
  machine_->counters.push_back(counter);
  if (outermost) show_progress(body, placed, counter);
  GNOMON_CHECK(outermost || !body.paced, "one loop of a gated block sets its pace");

  const auto index = static_cast<std::uint32_t>(program_.loops.size());
  program_.loops.emplace_back();
  LoopBlock block;
  block.first = static_cast<std::uint32_t>(program_.steps.size());
  block.phases = {block.first};
  open_.emplace_back();
  const std::size_t phases = double_buffered ? 2 : 1;
  Flow& flow = machine_->flow;
  Flow::Label again = flow.here();
  std::vector<Flow::Label> exits;
  for (std::size_t phase = 0; phase < phases; ++phase)
    exits.push_back(write_iteration(outer, loop, homes, phase, counter));
  flow.join(flow.here(), again);
  block.end = static_cast<std::uint32_t>(program_.steps.size());
  close_loop(block.first, block.end);
  block.trips = trips_per_pass(body, block.end - block.first, phases);
  if (body.paced && !machine_->nested)
    program_.gated.back().slices->per_pass = static_cast<std::uint32_t>(phases);
  if (outermost && !machine_->nested && body.trips)
    machine_->most_passes = (*body.trips / phases + block.trips) / block.trips;
  program_.loops[index] = block;
  machine_->nested = machine_->nested || nested_before;

  // After an odd number of iterations, what is double-buffered is in the second one.
  const std::size_t odd = phases == 2 && !body.decides ? 1 : 0;
  flow.go_on_at(exits[odd]);
  if (phases == 2)
    for (std::size_t i = 0; i < homes.size(); ++i)
      if (homes[i].second != no_slot && body.carried[i].result != LoopBody::none)
        copy(homes[i].second, homes[i].first);
  if (phases == 2) flow.join(exits[1 - odd], flow.here());
  if (outermost) end_machine();
}

std::pair<GateKernel, std::vector<SlotId>> Planner::decision_of(Scope& scope, ValueId decision,
                                                                std::size_t merged) {
  GateKernel gate;
  std::vector<SlotId> operands;
  if (merged == 0) {
    gate.reads = DType::boolean;
    operands.push_back(slot_of(scope, decision));
    return {gate, operands};
  }
  // What several clusters have in common is one buffer.
  std::map<std::pair<SlotId, DType>, std::uint32_t> buffers;
  const std::vector<Cluster>& clusters = scope.parts.clusters;
  for (std::size_t c = clusters.size() - merged; c < clusters.size(); ++c) {
    const Draft& draft = clusters[c].draft;
    GatePart part{&draft.kernel, {}};
    for (std::size_t i = 0; i < draft.operands.size(); ++i) {
      const DraftOperand& o = draft.operands[i];
      const kernel::Buffer& buffer = draft.kernel.buffers[i];
      const SlotId place = o.scratch ? slot(draft.kernel.name + " scratch", o.scratch_bytes)
                                     : slot_of(scope, o.value);
      const auto [at, fresh] =
          buffers.try_emplace({place, buffer.dtype}, static_cast<std::uint32_t>(operands.size()));
      if (fresh) {
        gate.buffers.push_back(buffer);
        operands.push_back(place);
      } else if (gate.buffers[at->second].access != buffer.access) {
        gate.buffers[at->second].access = kernel::Access::read_write;
      }
      part.buffers.push_back(at->second);
      if (!o.scratch && o.value == decision) gate.decision = at->second;
    }
    gate.parts.push_back(std::move(part));
  }
  return {gate, operands};
}

/// `scope`: of the graph that decides, which is written down; of anything where a loop just counts.
void Planner::write_gate(Scope& scope, const LoopRegion& loop, SlotId counter,
                         std::vector<Flow::Label> targets) {
  GateKernel gate;
  std::vector<SlotId> operands;
  if (loop.body.condition || loop.body.decides) {
    write(scope, loop.gate);
    std::tie(gate, operands) = decision_of(scope, loop.body.decision(), loop.gate);
  }
  gate.counts = true;
  gate.choices = 2;
  // A body that decides has run once before the first decision.
  const std::uint64_t done = loop.body.decides ? 1 : 0;
  if (loop.body.trips && *loop.body.trips < ~std::uint32_t{0}) gate.most = *loop.body.trips - done;
  operands.push_back(machine_->state);
  operands.push_back(counter);
  append_gate(std::move(gate), std::move(operands), std::move(targets));
}

void Planner::write_branch(Scope& outer, const BranchRegion& branch) {
  std::vector<SlotId> results;
  for (ValueId v : branch.results) results.push_back(slot_of(outer, v));
  const bool outermost = !machine_.has_value();
  if (outermost) begin_machine();
  Flow& flow = machine_->flow;
  GateKernel gate;
  gate.reads = outer.graph.avals[branch.index].dtype;
  gate.choices = branch.sides.size();
  std::vector<Flow::Label> targets;
  for (std::size_t i = 0; i < gate.choices; ++i) targets.push_back(flow.fresh());
  append_gate(std::move(gate), {slot_of(outer, branch.index), machine_->state}, targets);
  const Flow::Label behind = flow.fresh();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const BranchRegion::Side& side = branch.sides[i];
    flow.go_on_at(targets[i]);
    Scope scope(side.graph, side.parts);
    for (std::size_t o = 0; o < results.size(); ++o) scope.slot(side.graph.outputs[o]) = results[o];
    for (std::size_t k = 0; k < branch.operands.size(); ++k)
      hand_in(outer, branch.operands[k], scope, side.graph.inputs[k]);
    write(scope);
    flow.join(flow.here(), behind);
  }
  flow.go_on_at(behind);
  if (!outermost) return;
  if (!machine_->nested) machine_->most_passes = 1;
  end_machine();
}

void Planner::append_gate(GateKernel gate, std::vector<SlotId> operands,
                          std::vector<Flow::Label> targets) {
  const auto now = static_cast<std::uint32_t>(program_.steps.size());
  machine_->gates[now] = std::move(gate);
  machine_->flow.gate(now, std::move(targets));
  append(kernel_to_come("gate"), std::move(operands));
}

Step Planner::kernel_to_come(std::string label) {
  Step s;
  s.kernel = static_cast<std::uint32_t>(program_.kernels.size());
  program_.kernels.emplace_back();
  s.groups = 1;
  s.label = std::move(label);
  return s;
}

void Planner::begin_machine() {
  const SlotId state = slot("what runs next", 0);
  append(kernel_to_come("begin"), {state});
  GatedBlock block;
  block.first = static_cast<std::uint32_t>(program_.steps.size());
  program_.gated.push_back(block);
  machine_.emplace();
  machine_->start = block.first - 1;
  machine_->state = state;
}

void Planner::show_progress(const LoopBody& body, const Homes& homes, SlotId counter) {
  program_.gated.back().steps = body.steps;
  program_.gated.back().most_steps = body.most_steps;
  program_.gated.back().all_steps = body.all_steps;
  program_.gated.back().results = homes.results;
  const std::size_t block = program_.gated.size() - 1;
  if (!body.paced) {
    counted_.emplace_back(block, counter);
    return;
  }
  machine_->pace = slot("steps per slice", 4);
  slots_[machine_->pace].depth = 0;
  paced_.emplace_back(block, machine_->pace);
  program_.gated.back().slices = Slices{{}, body.steps, body.most_per_slice, 0};
}

std::vector<StateWrite> Planner::writes(
    const std::set<std::uint32_t>& touched,
    const std::vector<std::vector<std::uint32_t>>& stretches) const {
  std::vector<StateWrite> result;
  StateWrite done{0, {}};
  for (const auto& s : stretches) done.values.push_back(s.empty() ? 1 : 0);
  if (std::count(done.values.begin(), done.values.end(), 1u) > 0) result.push_back(done);
  for (std::uint32_t step : touched) {
    std::uint32_t word = machine_->words.at(step);
    for (const GridPiece& piece : grid_of(groups_of(program_.steps[step]), target_.max_groups)) {
      StateWrite x{word, {}};
      for (const auto& s : stretches)
        x.values.push_back(std::find(s.begin(), s.end(), step) != s.end() ? piece.x : 0);
      result.push_back(std::move(x));
      word += 3;
    }
  }
  return result;
}

std::uint32_t Planner::groups_of(const Step& s) const {
  return s.kind == Step::Kind::copy ? copy_groups(s.bytes, target_) : s.groups;
}

void Planner::make_gate(GateKernel gate, std::uint32_t at) {
  // A multiple of so many words, the rest of them one that nobody reads: few kernels do for gates
  // of all sizes.
  constexpr std::size_t writes_at_once = 16;
  constexpr std::uint32_t unread_word = 1;
  const StateWrite nothing{unread_word, std::vector<std::uint32_t>(gate.choices, 0)};
  while (gate.writes.size() % writes_at_once != 0) gate.writes.push_back(nothing);
  Gate made = gate_kernel(gate, target_);
  Step& step = program_.steps[at];
  program_.kernels[step.kernel] = std::move(made.kernel);
  step.parameters = std::move(made.parameters);
}

void Planner::end_machine() {
  Machine& m = *machine_;
  // Steps behind the last decision need one more, that it is all over.
  if (m.flow.ends_openly()) append_gate({}, {m.state}, {m.flow.fresh()});
  std::uint32_t words = 3;
  for (std::uint32_t step : m.flow.steps()) {
    m.words[step] = words;
    words += 3 * static_cast<std::uint32_t>(
                     grid_of(groups_of(program_.steps[step]), target_.max_groups).size());
  }
  slots_[m.state].bytes = std::uint64_t{4} * words;

  // What runs when a gate is reached: the stretches that end with it.
  std::map<std::uint32_t, std::set<std::uint32_t>> before;
  const auto note = [&](Flow::Label l) {
    const auto s = m.flow.stretch(l);
    if (!s.empty()) before[s.back()].insert(s.begin(), s.end());
  };
  note(m.flow.start());
  for (const auto& [step, targets] : m.flow.gates())
    for (Flow::Label l : targets) note(l);
  for (const auto& [step, targets] : m.flow.gates()) {
    std::set<std::uint32_t> touched = before[step];
    std::vector<std::vector<std::uint32_t>> stretches;
    for (Flow::Label l : targets) {
      stretches.push_back(m.flow.stretch(l));
      touched.insert(stretches.back().begin(), stretches.back().end());
    }
    GateKernel& gate = m.gates.at(step);
    gate.name = program_.name + "_gate" + std::to_string(step);
    gate.writes = writes(touched, stretches);
    make_gate(gate, step);
  }
  GateKernel begin;
  begin.name = program_.name + "_begin";
  begin.writes =
      writes({m.flow.steps().begin(), m.flow.steps().end()}, {m.flow.stretch(m.flow.start())});
  begin.writes.push_back({0, {0}});
  // Steps run or do not by the first of their counts; the others stay.
  for (const auto& [step, first] : m.words) {
    std::uint32_t word = first;
    for (const GridPiece& piece : grid_of(groups_of(program_.steps[step]), target_.max_groups)) {
      begin.writes.push_back({word + 1, {piece.y}});
      begin.writes.push_back({word + 2, {1}});
      word += 3;
    }
  }
  begin.counters = m.counters.size();
  make_gate(begin, m.start);
  for (SlotId counter : m.counters) {
    operands_[m.start].push_back(counter);
    slots_[counter].first = m.start;
  }
  GatedBlock& block = program_.gated.back();
  block.end = static_cast<std::uint32_t>(program_.steps.size());
  block.most_passes = m.most_passes;
  slots_[m.state].last = block.end - 1;
  if (!counted_.empty() && counted_.back().first + 1 == program_.gated.size())
    slots_[counted_.back().second].last = block.end - 1;
  if (m.pace != no_slot) {
    slots_[m.pace].first = m.start;
    slots_[m.pace].last = block.end - 1;
  }
  for (const auto& [step, word] : m.words) counts_[step] = {m.state, word};
  states_.push_back(m.state);
  machine_.reset();
}

}  // namespace gnomon
