// codegen/plan/schedule.cpp -- steps of kernels, loops and copies; lifetimes and places.
#include "codegen/plan/schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "codegen/lower/loop_region.h"
#include "codegen/plan/barriers.h"
#include "codegen/plan/flow.h"
#include "codegen/plan/gate.h"
#include "codegen/plan/group_kernel.h"
#include "codegen/plan/memory.h"
#include "codegen/program/copy_kernel.h"
#include "codegen/program/count_kernel.h"
#include "codegen/program/grid.h"

namespace gnomon {

namespace {

std::uint64_t bytes_of(const Aval& a) {
  return static_cast<std::uint64_t>(a.shape.size()) * size_of(a.dtype);
}

constexpr SlotId none = ~0u;

/// Memory of one array: an input, an output, or a range of the arena once lifetimes are known.
struct Slot {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<Place> fixed;
  std::size_t depth = 0;  // loops around the place where it came up
  bool used = false;
  std::uint32_t first = 0, last = 0;
};

/// The values of one graph, once for every time its steps are written down.
struct Scope {
  const Graph& graph;
  const Partition& parts;
  std::vector<SlotId> slots;                    // per value, at its storage; none: not yet
  std::set<ValueId> numbers;                    // values that number the iterations of a loop
  std::map<ValueId, std::uint32_t> iterations;  // those that are words: of which loop

  Scope(const Graph& g, const Partition& p) : graph(g), parts(p), slots(g.avals.size(), none) {}
  SlotId& slot(ValueId v) { return slots[parts.storage[v]]; }
};

/// A gated block under construction.
struct Machine {
  Flow flow;
  std::uint32_t start = 0;  // the step in front that lets the first stretch run
  SlotId state = none;      // done, two words of nothing, then three words per dispatch
  std::vector<SlotId> counters;
  std::map<std::uint32_t, GateKernel> gates;     // per step
  std::map<std::uint32_t, std::uint32_t> words;  // per step: its first word in the state
  std::uint64_t most_passes = 0;
  bool nested = false;
};

class Planner {
 public:
  Planner(Program& program, const Target& target) : program_(program), target_(target) {}

  void run(const Graph& g, const Partition& parts) {
    Scope top(g, parts);
    for (std::size_t i = g.inputs.size(); i-- > 0;)
      top.slot(g.inputs[i]) =
          fixed({Place::Kind::input, static_cast<std::uint32_t>(i), 0}, g.avals[g.inputs[i]]);
    for (std::size_t i = g.outputs.size(); i-- > 0;) {
      SlotId& s = top.slot(g.outputs[i]);
      const Place place{Place::Kind::output, static_cast<std::uint32_t>(i), 0};
      if (s == none || slots_[s].fixed->kind != Place::Kind::input)
        s = fixed(place, g.avals[g.outputs[i]]);
    }
    write(top);
    // Outputs that are inputs, or another output once more, are copied.
    for (std::size_t i = 0; i < g.outputs.size(); ++i) {
      const Place place{Place::Kind::output, static_cast<std::uint32_t>(i), 0};
      const SlotId from = top.slot(g.outputs[i]);
      if (!(*slots_[from].fixed == place)) copy(from, fixed(place, g.avals[g.outputs[i]]));
    }
    // What was counted is read when all is over.
    for (const Record& r : records_)
      slots_[r.slot].last = static_cast<std::uint32_t>(program_.steps.size()) - 1;
    drop_unused_kernels();
    place_slots();
    for (const Record& r : records_)
      program_.trips.push_back({*slots_[r.slot].fixed, r.lanes, r.together});
  }

 private:
  SlotId slot(std::string name, std::uint64_t bytes) {
    slots_.push_back({std::move(name), bytes, {}, open_.size(), false, 0, 0});
    return static_cast<SlotId>(slots_.size() - 1);
  }
  SlotId fixed(Place place, const Aval& a) {
    const SlotId s = slot("", bytes_of(a));
    slots_[s].fixed = place;
    return s;
  }
  SlotId slot_for(const Scope& scope, ValueId v) {
    const Aval& a = scope.graph.avals[v];
    return slot("%" + std::to_string(v) + " " + to_string(a.dtype, a.shape), bytes_of(a));
  }
  SlotId slot_of(Scope& scope, ValueId v) {
    SlotId& s = scope.slot(v);
    if (s == none) s = slot_for(scope, v);
    return s;
  }

  // ---- steps

  void append(Step step, std::vector<SlotId> operands) {
    const auto now = static_cast<std::uint32_t>(program_.steps.size());
    for (SlotId s : operands) {
      Slot& slot = slots_[s];
      if (!slot.used) slot.first = now;
      slot.used = true;
      slot.last = now;
      // What comes from outside of a loop lives from its beginning to its end.
      for (std::size_t d = slot.depth; d < open_.size(); ++d) open_[d].push_back(s);
    }
    program_.steps.push_back(std::move(step));
    operands_.push_back(std::move(operands));
    if (machine_ && !machine_->gates.contains(now)) machine_->flow.step(now);
  }

  void copy(SlotId from, SlotId to) {
    if (slots_[to].bytes == 0) return;
    if (score_ != nullptr) {
      score_->items.push_back(GroupCopy{from, to, slots_[to].bytes});
      return;
    }
    Step s;
    s.kind = Step::Kind::copy;
    s.bytes = slots_[to].bytes;
    s.label = "copy";
    append(std::move(s), {from, to});
  }

  void write(Scope& scope, const Cluster* left_out = nullptr) {
    for (const Cluster& c : scope.parts.clusters) {
      if (&c == left_out) continue;
      if (c.branch && score_ != nullptr)
        score_branch(scope, *c.branch);
      else if (c.branch)
        write_branch(scope, *c.branch);
      else if (!c.loop)
        write_kernel(scope, c);
      else if (score_ != nullptr)
        score_loop(scope, *c.loop);
      else if (c.loop->by_group && write_group(scope, *c.loop))
        continue;
      else if (c.loop->gated)
        write_gated(scope, *c.loop);
      else
        write_loop(scope, *c.loop);
    }
  }

  void write_kernel(Scope& scope, const Cluster& c) {
    std::vector<SlotId> operands;
    for (const DraftOperand& o : c.draft.operands)
      operands.push_back(o.scratch ? slot(c.draft.kernel.name + " scratch", o.scratch_bytes)
                                   : slot_of(scope, o.value));
    if (score_ != nullptr) {
      GroupPart part{c.kernel, c.invocations, operands, {}, {}};
      for (const auto& [word, v] : c.draft.iterations)
        part.iterations.emplace_back(word, scope.iterations.at(v));
      for (const auto& words : c.draft.parameters) {
        part.parameters = words;
        score_->items.push_back(part);
      }
      return;
    }
    if (c.counts_together > 0 && open_.empty() && !machine_)
      records_.push_back({operands.back(),
                          static_cast<std::uint32_t>(slots_[operands.back()].bytes / 4),
                          c.counts_together});
    Step s;
    s.kernel = c.kernel;
    s.groups = c.groups;
    s.label = c.draft.kernel.name;
    for (const auto& [word, v] : c.draft.iterations)
      s.iterations.push_back({word, scope.iterations.at(v)});
    for (const auto& words : c.draft.parameters) {
      s.parameters = words;
      if (c.turns > 0) append(count(false, 0), {operands.back()});
      for (std::uint64_t turn = 0; turn < std::max<std::uint64_t>(1, c.turns); ++turn)
        append(s, operands);
    }
  }

  Step count(bool keep, std::uint32_t value) {
    if (count_kernel_ == none) {
      count_kernel_ = static_cast<std::uint32_t>(program_.kernels.size());
      program_.kernels.push_back(count_kernel());
    }
    Step s;
    s.kernel = count_kernel_;
    s.groups = 1;
    s.parameters = {keep ? 1u : 0u, value};
    s.label = "count";
    return s;
  }

  /// Where a carried value lies: in the first place at the beginning, then by turns.
  struct Home {
    SlotId first = none, second = none;
  };

  Home home_of(Scope& outer, const LoopRegion& loop, std::size_t i) {
    const auto [init, end] = loop.body.carried[i];
    const ValueId inner = loop.body.graph.inputs[i];
    const Aval& a = loop.body.graph.avals[inner];
    const auto fresh = [&] { return slot("carried " + to_string(a.dtype, a.shape), bytes_of(a)); };
    const SlotId result = end == LoopBody::none ? none : slot_of(outer, end);
    const SlotId start = loop.takes_init[i] ? slot_of(outer, init) : none;
    const bool turns = !loop.in_place(i);
    Home h;
    if (loop.ends_at_home(i)) {
      h.first = result != none ? result : start != none ? start : fresh();
      if (turns) h.second = fresh();
    } else {
      h.first = start != none ? start : fresh();
      h.second = result != none ? result : fresh();
    }
    if (init != LoopBody::none && slot_of(outer, init) != h.first)
      copy(slot_of(outer, init), h.first);
    return h;
  }

  /// Input `to` of an inner graph is `from` of the outer one.
  void hand_in(Scope& outer, ValueId from, Scope& inner, ValueId to) {
    if (const auto i = outer.iterations.find(from); i != outer.iterations.end())
      inner.iterations[to] = i->second;
    // The number of an iteration may lie nowhere: kernels get it as a parameter then.
    const bool number = outer.numbers.contains(from);
    if (number) inner.numbers.insert(to);
    inner.slot(to) = number ? outer.slot(from) : slot_of(outer, from);
  }

  /// What the inputs of a body or a condition are.
  void enter(Scope& scope, Scope& outer, const LoopRegion& loop, const std::vector<Home>& homes,
             std::size_t phase, SlotId counter) {
    const std::vector<ValueId>& inputs = scope.graph.inputs;
    const std::size_t n = homes.size();
    for (std::size_t i = 0; i < n; ++i) {
      const auto [first, second] = homes[i];
      scope.slot(inputs[i]) = phase == 1 && second != none ? second : first;
    }
    scope.slot(inputs[n]) = counter;
    for (std::size_t k = 0; k < loop.body.constants.size(); ++k)
      hand_in(outer, loop.body.constants[k], scope, inputs[n + 1 + k]);
    scope.numbers.insert(inputs[n]);
  }

  /// What the steps of a loop touch outside of it lives as long as the loop.
  void close_loop(std::uint32_t first, std::uint32_t end) {
    const std::vector<SlotId> outside = std::move(open_.back());
    open_.pop_back();
    for (SlotId s : outside) {
      slots_[s].first = std::min(slots_[s].first, first);
      slots_[s].last = std::max(slots_[s].last, end - 1);
    }
  }

  // ---- loops that the device steers

  void write_gated(Scope& outer, const LoopRegion& loop) {
    const LoopBody& body = loop.body;
    std::vector<Home> homes;
    bool turns = false;
    for (std::size_t i = 0; i < body.carried.size(); ++i) {
      homes.push_back(home_of(outer, loop, i));
      turns = turns || homes.back().second != none;
    }
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

    const auto index = static_cast<std::uint32_t>(program_.loops.size());
    program_.loops.emplace_back();
    LoopBlock block;
    block.first = static_cast<std::uint32_t>(program_.steps.size());
    block.phases = {block.first};
    open_.emplace_back();
    const std::size_t phases = turns ? 2 : 1;
    Flow& flow = machine_->flow;
    Flow::Label again = flow.here();
    std::vector<Flow::Label> exits;
    for (std::size_t phase = 0; phase < phases; ++phase) {
      const Flow::Label go = flow.fresh();
      exits.push_back(flow.fresh());
      write_gate(outer, loop, homes, phase, counter, {exits.back(), go});
      flow.go_on_at(go);
      Scope scope(body.graph, loop.parts);
      for (std::size_t i = 0; i < body.carried.size(); ++i)
        if (const auto [first, second] = homes[i]; second != none)
          scope.slot(body.graph.outputs[i]) = phase == 1 ? first : second;
      enter(scope, outer, loop, homes, phase, counter);
      write(scope);
    }
    flow.join(flow.here(), again);
    block.end = static_cast<std::uint32_t>(program_.steps.size());
    close_loop(block.first, block.end);
    // Inner loops run their whole length in every pass; this one a few iterations.
    constexpr std::uint32_t steps_per_pass = 64;
    block.trips = machine_->nested ? 1
                                   : std::clamp<std::uint64_t>(
                                         steps_per_pass / (block.end - block.first), 1, 16);
    if (body.trips) block.trips = std::min(block.trips, *body.trips / phases + 1);
    if (outermost && !machine_->nested && body.trips)
      machine_->most_passes = (*body.trips / phases + block.trips) / block.trips;
    program_.loops[index] = block;
    machine_->nested = machine_->nested || nested_before;

    // After an odd number of iterations, what lies in two places by turns is in the second one.
    flow.go_on_at(exits.back());
    if (phases == 2)
      for (std::size_t i = 0; i < homes.size(); ++i)
        if (homes[i].second != none && body.carried[i].result != LoopBody::none)
          copy(homes[i].second, homes[i].first);
    if (phases == 2) flow.join(exits[0], flow.here());
    if (outermost) end_machine();
  }

  /// A gate that takes a loop's condition, or does the work of the cluster that gives it, and its
  /// operands so far.
  std::pair<GateKernel, std::vector<SlotId>> decision_of(Scope& scope, const Cluster* merged) {
    GateKernel gate;
    std::vector<SlotId> operands;
    const ValueId condition = scope.graph.outputs[0];
    if (merged == nullptr) {
      gate.reads = DType::boolean;
      operands.push_back(slot_of(scope, condition));
      return {gate, operands};
    }
    gate.condition = &merged->draft.kernel;
    for (std::size_t i = 0; i < merged->draft.operands.size(); ++i) {
      const DraftOperand& o = merged->draft.operands[i];
      if (!o.scratch && o.value == condition) gate.decision = static_cast<std::uint32_t>(i);
      operands.push_back(o.scratch ? slot(merged->draft.kernel.name + " scratch", o.scratch_bytes)
                                   : slot_of(scope, o.value));
    }
    return {gate, operands};
  }

  void write_gate(Scope& outer, const LoopRegion& loop, const std::vector<Home>& homes,
                  std::size_t phase, SlotId counter, std::vector<Flow::Label> targets) {
    GateKernel gate;
    gate.counts = true;
    gate.choices = 2;
    if (loop.body.trips && *loop.body.trips < ~std::uint32_t{0}) gate.most = loop.body.trips;
    std::vector<SlotId> operands;
    if (loop.body.condition) {
      const Graph& condition = *loop.body.condition;
      Scope scope(condition, loop.condition);
      enter(scope, outer, loop, homes, phase, counter);
      const Cluster* merged = loop.gate ? &loop.condition.clusters[*loop.gate] : nullptr;
      write(scope, merged);
      const auto [decides, inputs] = decision_of(scope, merged);
      gate.condition = decides.condition;
      gate.decision = decides.decision;
      gate.reads = decides.reads;
      operands = inputs;
    }
    operands.push_back(machine_->state);
    operands.push_back(counter);
    append_gate(std::move(gate), std::move(operands), std::move(targets));
  }

  void write_branch(Scope& outer, const BranchRegion& branch) {
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
      for (std::size_t o = 0; o < results.size(); ++o)
        scope.slot(side.graph.outputs[o]) = results[o];
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

  void append_gate(GateKernel gate, std::vector<SlotId> operands,
                   std::vector<Flow::Label> targets) {
    const auto now = static_cast<std::uint32_t>(program_.steps.size());
    machine_->gates[now] = std::move(gate);
    machine_->flow.gate(now, std::move(targets));
    append(kernel_to_come("gate"), std::move(operands));
  }

  Step kernel_to_come(std::string label) {
    Step s;
    s.kernel = static_cast<std::uint32_t>(program_.kernels.size());
    program_.kernels.emplace_back();
    s.groups = 1;
    s.label = std::move(label);
    return s;
  }

  void begin_machine() {
    const SlotId state = slot("what runs next", 0);
    append(kernel_to_come("begin"), {state});
    GatedBlock block;
    block.first = static_cast<std::uint32_t>(program_.steps.size());
    program_.gated.push_back(block);
    machine_.emplace();
    machine_->start = block.first - 1;
    machine_->state = state;
  }

  /// Words of the state that let exactly the steps of a stretch run, one stretch per choice.
  std::vector<StateWrite> writes(const std::set<std::uint32_t>& touched,
                                 const std::vector<std::vector<std::uint32_t>>& stretches) const {
    std::vector<StateWrite> result;
    StateWrite done{0, {}};
    for (const auto& s : stretches) done.values.push_back(s.empty() ? 1 : 0);
    if (std::count(done.values.begin(), done.values.end(), 1u) > 0) result.push_back(done);
    for (std::uint32_t step : touched) {
      std::uint32_t word = machine_->words.at(step);
      for (const GridPiece& piece : grid_of(groups_of(program_.steps[step]), target_.max_groups)) {
        StateWrite x{word, {}}, y{word + 1, {}}, z{word + 2, {}};
        for (const auto& s : stretches) {
          const bool runs = std::find(s.begin(), s.end(), step) != s.end();
          x.values.push_back(runs ? piece.x : 0);
          y.values.push_back(runs ? piece.y : 0);
          z.values.push_back(1);
        }
        result.insert(result.end(), {x, y, z});
        word += 3;
      }
    }
    return result;
  }

  std::uint32_t groups_of(const Step& s) const {
    return s.kind == Step::Kind::copy ? copy_groups(s.bytes, target_) : s.groups;
  }

  void end_machine() {
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
      program_.kernels[program_.steps[step].kernel] = gate_kernel(gate, target_.refine);
    }
    GateKernel begin;
    begin.name = program_.name + "_begin";
    begin.writes =
        writes({m.flow.steps().begin(), m.flow.steps().end()}, {m.flow.stretch(m.flow.start())});
    begin.writes.push_back({0, {0}});
    begin.counters = m.counters.size();
    program_.kernels[program_.steps[m.start].kernel] = gate_kernel(begin, target_.refine);
    for (SlotId counter : m.counters) {
      operands_[m.start].push_back(counter);
      slots_[counter].first = m.start;
    }
    GatedBlock& block = program_.gated.back();
    block.end = static_cast<std::uint32_t>(program_.steps.size());
    block.most_passes = m.most_passes;
    slots_[m.state].last = block.end - 1;
    for (const auto& [step, word] : m.words) counts_[step] = {m.state, word};
    states_.push_back(m.state);
    machine_.reset();
  }

  void write_loop(Scope& outer, const LoopRegion& loop) {
    const LoopBody& body = loop.body;
    std::vector<Home> homes;
    bool turns = false;
    for (std::size_t i = 0; i < body.carried.size(); ++i) {
      homes.push_back(home_of(outer, loop, i));
      turns = turns || homes.back().second != none;
    }
    const SlotId counter = loop.iteration.counter ? slot("iterations", 4) : none;
    if (counter != none) append(count(false, 0), {counter});

    const auto index = static_cast<std::uint32_t>(program_.loops.size());
    program_.loops.emplace_back();
    LoopBlock block;
    block.first = static_cast<std::uint32_t>(program_.steps.size());
    block.trips = *body.trips;
    open_.emplace_back();
    const std::size_t phases = turns && *body.trips > 1 ? 2 : 1;
    for (std::size_t phase = 0; phase < phases; ++phase) {
      block.phases.push_back(static_cast<std::uint32_t>(program_.steps.size()));
      Scope scope(body.graph, loop.parts);
      for (std::size_t i = 0; i < body.carried.size(); ++i) {
        const auto [first, second] = homes[i];
        if (second != none) scope.slot(body.graph.outputs[i]) = phase == 1 ? first : second;
      }
      enter(scope, outer, loop, homes, phase, counter);
      scope.iterations[body.iteration()] = index;
      write(scope);
    }
    block.end = static_cast<std::uint32_t>(program_.steps.size());
    if (block.end == block.first) {  // empty arrays only
      GNOMON_CHECK(program_.loops.size() == index + 1, "an empty loop holds loops");
      open_.pop_back();
      program_.loops.pop_back();
      return;
    }
    close_loop(block.first, block.end);
    if (counter != none) {
      block.advance = count(true, 0);
      advances_.emplace_back(index, counter);
    }
    program_.loops[index] = std::move(block);
  }

  // ---- loops that one workgroup plays

  /// Takes down what is written as a score.
  template <class F>
  GroupScore scored(F write_it) {
    GroupScore score;
    GroupScore* const outside = std::exchange(score_, &score);
    write_it();
    score_ = outside;
    return score;
  }

  /// A part that leaves the number of a choice in `decision`.
  void score_choice(GateKernel gate, std::vector<SlotId> operands, SlotId decision) {
    gate.name = program_.name + "_decide";
    StateWrite write{0, {}};
    for (std::uint32_t c = 0; c < gate.choices; ++c) write.values.push_back(c);
    gate.writes = {write};
    GroupPart part{
        static_cast<std::uint32_t>(program_.kernels.size()), 1, std::move(operands), {}, {}};
    part.operands.push_back(decision);
    program_.kernels.push_back(gate_kernel(gate));
    part.parameters.assign(program_.kernels.back().parameters, 0);
    score_->items.push_back(std::move(part));
  }

  void score_loop(Scope& outer, const LoopRegion& loop) {
    std::vector<Home> homes;
    bool turns = false;
    for (std::size_t i = 0; i < loop.body.carried.size(); ++i) {
      homes.push_back(home_of(outer, loop, i));
      turns = turns || homes.back().second != none;
    }
    score_->items.push_back(scored_loop(outer, loop, homes, turns));
  }

  GroupLoop scored_loop(Scope& outer, const LoopRegion& loop, const std::vector<Home>& homes,
                        bool turns) {
    const LoopBody& body = loop.body;
    GroupLoop result;
    result.id = group_loops_++;
    result.counter = slot("iterations", 4);
    result.by_word = loop.iteration.word;
    result.most = body.trips;
    const std::size_t phases = turns ? 2 : 1;
    for (std::size_t phase = 0; phase < phases; ++phase) {
      result.phases.push_back(scored([&] {
        Scope scope(body.graph, loop.parts);
        for (std::size_t i = 0; i < homes.size(); ++i)
          if (const auto [first, second] = homes[i]; second != none)
            scope.slot(body.graph.outputs[i]) = phase == 1 ? first : second;
        enter(scope, outer, loop, homes, phase, result.counter);
        scope.iterations[body.iteration()] = result.id;
        write(scope);
      }));
      if (!body.condition) continue;
      if (phase == 0) result.decision = slot("decision", 4);
      result.conditions.push_back(scored([&] {
        const Graph& condition = *body.condition;
        Scope scope(condition, loop.condition);
        enter(scope, outer, loop, homes, phase, result.counter);
        const Cluster* merged = loop.gate ? &loop.condition.clusters[*loop.gate] : nullptr;
        write(scope, merged);
        auto [gate, operands] = decision_of(scope, merged);
        gate.choices = 2;
        score_choice(std::move(gate), std::move(operands), result.decision);
      }));
    }
    // Where a loop ends is not known when it is gated: in its first places, then.
    if (turns && loop.gated)
      result.back = scored([&] {
        for (std::size_t i = 0; i < homes.size(); ++i)
          if (homes[i].second != none && body.carried[i].result != LoopBody::none)
            copy(homes[i].second, homes[i].first);
      });
    return result;
  }

  void score_branch(Scope& outer, const BranchRegion& branch) {
    std::vector<SlotId> results;
    for (ValueId v : branch.results) results.push_back(slot_of(outer, v));
    GroupBranch result;
    result.decision = slot("decision", 4);
    result.choice = scored([&] {
      GateKernel gate;
      gate.reads = outer.graph.avals[branch.index].dtype;
      gate.choices = branch.sides.size();
      score_choice(std::move(gate), {slot_of(outer, branch.index)}, result.decision);
    });
    for (const BranchRegion::Side& side : branch.sides)
      result.sides.push_back(scored([&] {
        Scope scope(side.graph, side.parts);
        for (std::size_t o = 0; o < results.size(); ++o)
          scope.slot(side.graph.outputs[o]) = results[o];
        for (std::size_t k = 0; k < branch.operands.size(); ++k)
          hand_in(outer, branch.operands[k], scope, side.graph.inputs[k]);
        write(scope);
      }));
    score_->items.push_back(std::move(result));
  }

  /// False, and nothing is written, when the loop has no such form.
  bool write_group(Scope& outer, const LoopRegion& loop) {
    if (machine_ || !open_.empty()) return false;
    std::vector<Home> homes;
    bool turns = false;
    const GroupScore before = scored([&] {
      for (std::size_t i = 0; i < loop.body.carried.size(); ++i) {
        homes.push_back(home_of(outer, loop, i));
        turns = turns || homes.back().second != none;
      }
    });
    GroupScore score;
    score.items.push_back(scored_loop(outer, loop, homes, turns));
    const std::string name = program_.name + "_group" + std::to_string(program_.steps.size());
    const std::uint32_t size = target_.contiguous_per_lane
                                   ? 8
                                   : std::min<std::uint32_t>(256, target_.max_group_invocations);
    const auto made = [&](const GroupScore& s, const std::optional<GroupSlice>& slice) {
      return group_kernel(name, program_.kernels, s, size, slice);
    };
    const auto step_of = [&](kernel::Kernel k) {
      Step s;
      s.kernel = static_cast<std::uint32_t>(program_.kernels.size());
      s.groups = 1;
      s.label = k.name;
      program_.kernels.push_back(std::move(k));
      return s;
    };
    GroupScore whole = before;
    whole.items.insert(whole.items.end(), score.items.begin(), score.items.end());
    auto all = made(whole, {});
    if (!all) return false;
    const std::uint64_t budget = target_.loop_budget;
    if (budget == 0 || kernel::worst_case_trips(all->kernel) <= budget) {
      append(step_of(std::move(all->kernel)), all->operands);
      return true;
    }
    // As many iterations per dispatch as the driver allows trips for.
    GroupSlice slice{2, slot("iterations done", 4), slot("goes on", 4)};
    const std::uint64_t two = kernel::worst_case_trips(made(score, slice)->kernel);
    slice.iterations = 4;
    const std::uint64_t four = kernel::worst_case_trips(made(score, slice)->kernel);
    if (four == ~0ull || two > budget) return false;
    slice.iterations = 2 + (budget - two) / (four - two) * 2;
    auto part = made(score, slice);
    for (const auto& item : before.items)
      copy(std::get<GroupCopy>(item).from, std::get<GroupCopy>(item).to);
    append(count(false, 0), {slice.counter});
    begin_machine();
    const auto index = static_cast<std::uint32_t>(program_.loops.size());
    program_.loops.emplace_back();
    LoopBlock block;
    block.first = static_cast<std::uint32_t>(program_.steps.size());
    block.phases = {block.first};
    open_.emplace_back();
    Flow& flow = machine_->flow;
    const Flow::Label again = flow.here(), go = flow.fresh(), exit = flow.fresh();
    append(step_of(std::move(part->kernel)), part->operands);
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
    return true;
  }

  /// What a group plays itself is no kernel of its own.
  void drop_unused_kernels() {
    std::vector<std::uint32_t> place(program_.kernels.size(), ~0u);
    std::vector<kernel::Kernel> kept;
    const auto keep = [&](Step& s) {
      if (s.kind == Step::Kind::copy) return;
      if (place[s.kernel] == ~0u) {
        place[s.kernel] = static_cast<std::uint32_t>(kept.size());
        kept.push_back(std::move(program_.kernels[s.kernel]));
      }
      s.kernel = place[s.kernel];
    };
    for (Step& s : program_.steps) keep(s);
    for (LoopBlock& l : program_.loops)
      if (l.advance) keep(*l.advance);
    program_.kernels = std::move(kept);
  }

  // ---- memory

  void place_slots() {
    std::vector<Lifetime> lifetimes;
    std::vector<SlotId> owners;
    for (SlotId s = 0; s < slots_.size(); ++s) {
      const Slot& slot = slots_[s];
      if (slot.fixed || !slot.used) continue;
      lifetimes.push_back({slot.name, slot.bytes, slot.first, slot.last});
      owners.push_back(s);
    }
    ArenaPlan arena = plan_arena(lifetimes);
    for (std::size_t i = 0; i < owners.size(); ++i)
      slots_[owners[i]].fixed = Place{Place::Kind::arena, 0, arena.allocations[i].offset};
    std::vector<std::vector<std::uint64_t>> sizes(program_.steps.size());
    for (std::size_t s = 0; s < program_.steps.size(); ++s)
      for (SlotId o : operands_[s]) {
        program_.steps[s].operands.push_back(*slots_[o].fixed);
        sizes[s].push_back(slots_[o].bytes);
      }
    for (const auto& [step, at] : counts_)
      program_.steps[step].counts =
          Place{Place::Kind::arena, 0, slots_[at.first].fixed->offset + 4 * at.second};
    for (std::size_t i = 0; i < states_.size(); ++i)
      program_.gated[i].done = *slots_[states_[i]].fixed;
    for (const auto& [loop, counter] : advances_)
      program_.loops[loop].advance->operands = {*slots_[counter].fixed};
    program_.arena_bytes = arena.bytes;
    program_.allocations = std::move(arena.allocations);
    place_barriers(program_, sizes);
  }

  Program& program_;
  std::vector<Slot> slots_;
  std::vector<std::vector<SlotId>> operands_;  // per step
  std::vector<std::vector<SlotId>> open_;      // per open loop: what it touches from outside
  std::vector<std::pair<std::uint32_t, SlotId>> advances_;
  std::uint32_t count_kernel_ = none;
  const Target& target_;
  std::optional<Machine> machine_;
  std::map<std::uint32_t, std::pair<SlotId, std::uint32_t>> counts_;  // per step: state and word
  GroupScore* score_ = nullptr;  // what one workgroup plays is taken down here
  std::uint32_t group_loops_ = 0;
  struct Record {
    SlotId slot;
    std::uint32_t lanes, together;
  };
  std::vector<Record> records_;
  std::vector<SlotId> states_;  // per gated block
};

}  // namespace

void schedule(Program& program, const Graph& g, const Partition& p, const Target& target) {
  Planner(program, target).run(g, p);
}

}  // namespace gnomon
