// codegen/plan/schedule.cpp -- steps of kernels, loops and copies; lifetimes and places.
#include "codegen/plan/schedule.h"

#include <algorithm>

#include "codegen/lower/loop_region.h"
#include "codegen/plan/barriers.h"
#include "codegen/plan/memory.h"
#include "codegen/program/count_kernel.h"

namespace gnomon {

namespace {

std::uint64_t bytes_of(const Aval& a) {
  return static_cast<std::uint64_t>(a.shape.size()) * size_of(a.dtype);
}

using SlotId = std::uint32_t;
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
  std::map<ValueId, std::uint32_t> iterations;  // values that number the iterations of a loop

  Scope(const Graph& g, const Partition& p) : graph(g), parts(p), slots(g.avals.size(), none) {}
  SlotId& slot(ValueId v) { return slots[parts.storage[v]]; }
};

class Planner {
 public:
  explicit Planner(Program& program) : program_(program) {}

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
    place_slots();
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
  }

  void copy(SlotId from, SlotId to) {
    if (slots_[to].bytes == 0) return;
    Step s;
    s.kind = Step::Kind::copy;
    s.bytes = slots_[to].bytes;
    s.label = "copy";
    append(std::move(s), {from, to});
  }

  void write(Scope& scope) {
    for (const Cluster& c : scope.parts.clusters) {
      if (c.loop)
        write_loop(scope, *c.loop);
      else
        write_kernel(scope, c);
    }
  }

  void write_kernel(Scope& scope, const Cluster& c) {
    std::vector<SlotId> operands;
    for (const DraftOperand& o : c.draft.operands)
      operands.push_back(o.scratch ? slot(c.draft.kernel.name + " scratch", o.scratch_bytes)
                                   : slot_of(scope, o.value));
    Step s;
    s.kernel = c.kernel;
    s.groups = c.groups;
    s.label = c.draft.kernel.name;
    for (const auto& [word, v] : c.draft.iterations)
      s.iterations.push_back({word, scope.iterations.at(v)});
    for (const auto& words : c.draft.parameters) {
      s.parameters = words;
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
    block.trips = body.trips;
    open_.emplace_back();
    const std::size_t phases = turns && body.trips > 1 ? 2 : 1;
    for (std::size_t phase = 0; phase < phases; ++phase) {
      block.phases.push_back(static_cast<std::uint32_t>(program_.steps.size()));
      Scope scope(body.graph, loop.parts);
      for (std::size_t i = 0; i < body.carried.size(); ++i) {
        const auto [first, second] = homes[i];
        scope.slot(body.graph.inputs[i]) = phase == 1 && second != none ? second : first;
        if (second != none) scope.slot(body.graph.outputs[i]) = phase == 1 ? first : second;
      }
      const std::size_t n = body.carried.size();
      scope.slot(body.graph.inputs[n]) = counter;
      scope.iterations[body.graph.inputs[n]] = index;
      for (std::size_t k = 0; k < body.constants.size(); ++k) {
        const ValueId from = body.constants[k], to = body.graph.inputs[n + 1 + k];
        if (const auto i = outer.iterations.find(from); i != outer.iterations.end()) {
          scope.iterations[to] = i->second;
          scope.slot(to) = outer.slot(from);
        } else {
          scope.slot(to) = slot_of(outer, from);
        }
      }
      write(scope);
    }
    block.end = static_cast<std::uint32_t>(program_.steps.size());
    const std::vector<SlotId> outside = std::move(open_.back());
    open_.pop_back();
    if (block.end == block.first) {  // empty arrays only
      GNOMON_CHECK(program_.loops.size() == index + 1, "an empty loop holds loops");
      program_.loops.pop_back();
      return;
    }
    for (SlotId s : outside) {
      slots_[s].first = std::min(slots_[s].first, block.first);
      slots_[s].last = std::max(slots_[s].last, block.end - 1);
    }
    if (counter != none) {
      block.advance = count(true, 0);
      advances_.emplace_back(index, counter);
    }
    program_.loops[index] = std::move(block);
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
};

}  // namespace

void schedule(Program& program, const Graph& g, const Partition& p) { Planner(program).run(g, p); }

}  // namespace gnomon
