// codegen/plan/schedule.cpp -- steps of kernels, loops and copies; lifetimes and places.
#include "codegen/plan/schedule.h"

#include <algorithm>
#include <span>

#include "codegen/modules/count_kernel.h"
#include "codegen/plan/barriers.h"
#include "codegen/plan/memory.h"
#include "codegen/plan/planner.h"

namespace gnomon {

namespace {

std::uint64_t bytes_of(const Aval& a) {
  return static_cast<std::uint64_t>(a.shape.size()) * size_of(a.dtype);
}

}  // namespace

void Planner::run(const Graph& g, const Partition& parts) {
  Scope top(g, parts);
  for (std::size_t i = g.inputs.size(); i-- > 0;)
    top.slot(g.inputs[i]) =
        fixed({Place::Kind::input, static_cast<std::uint32_t>(i), 0}, g.avals[g.inputs[i]]);
  for (std::size_t i = g.outputs.size(); i-- > 0;) {
    SlotId& s = top.slot(g.outputs[i]);
    const Place place{Place::Kind::output, static_cast<std::uint32_t>(i), 0};
    if (s == no_slot || slots_[s].fixed->kind != Place::Kind::input)
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

SlotId Planner::slot(std::string name, std::uint64_t bytes) {
  slots_.push_back({std::move(name), bytes, {}, open_.size()});
  return static_cast<SlotId>(slots_.size() - 1);
}

SlotId Planner::fixed(Place place, const Aval& a) {
  const SlotId s = slot("", bytes_of(a));
  slots_[s].fixed = place;
  return s;
}

SlotId Planner::slot_for(const Scope& scope, ValueId v) {
  const Aval& a = scope.graph.avals[v];
  const SlotId s = slot("%" + std::to_string(v) + " " + to_string(a.dtype, a.shape), bytes_of(a));
  slots_[s].where = scope.lines[v];
  return s;
}

SlotId Planner::slot_of(Scope& scope, ValueId v) {
  SlotId& s = scope.slot(v);
  if (s == no_slot) s = slot_for(scope, v);
  return s;
}

void Planner::append(Step step, std::vector<SlotId> operands) {
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

void Planner::copy(SlotId from, SlotId to) {
  if (slots_[to].bytes == 0) return;
  if (group_ != nullptr) {
    group_->items.push_back(GroupCopy{from, to, slots_[to].bytes});
    return;
  }
  Step s;
  s.kind = Step::Kind::copy;
  s.bytes = slots_[to].bytes;
  s.label = "copy";
  append(std::move(s), {from, to});
}

void Planner::write(Scope& scope, std::size_t left_out) {
  const std::vector<Cluster>& clusters = scope.parts.clusters;
  for (const Cluster& c : std::span(clusters).first(clusters.size() - left_out)) {
    if (c.branch && group_ != nullptr)
      group_branch(scope, *c.branch);
    else if (c.branch)
      write_branch(scope, *c.branch);
    else if (!c.loop)
      write_kernel(scope, c);
    else if (group_ != nullptr)
      group_loop(scope, *c.loop);
    else if (c.loop->by_group && write_group(scope, *c.loop))
      continue;
    else if (c.loop->gated)
      write_gated(scope, *c.loop);
    else
      write_loop(scope, *c.loop);
  }
}

void Planner::write_kernel(Scope& scope, const Cluster& c) {
  std::vector<SlotId> operands;
  for (const DraftOperand& o : c.draft.operands)
    operands.push_back(o.scratch ? slot(c.draft.kernel.name + " scratch", o.scratch_bytes)
                                 : slot_of(scope, o.value));
  if (group_ != nullptr) {
    GroupPart part{c.kernel, c.invocations, operands, {}, {}};
    for (const auto& [word, v] : c.draft.iterations)
      part.iterations.emplace_back(word, scope.iterations.at(v));
    for (const auto& words : c.draft.parameters) {
      part.parameters = words;
      group_->items.push_back(part);
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
    if (c.refills > 0) append(count(false, 0), {operands.back()});
    for (std::uint64_t n = 0; n < std::max<std::uint64_t>(1, c.refills); ++n) append(s, operands);
  }
}

Step Planner::count(bool keep, std::uint32_t value) {
  if (count_kernel_ == no_slot) {
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

Planner::Home Planner::home_of(Scope& outer, const LoopRegion& loop, std::size_t i) {
  const auto [init, end] = loop.body.carried[i];
  const ValueId inner = loop.body.graph.inputs[i];
  const Aval& a = loop.body.graph.avals[inner];
  const auto fresh = [&, line = end == LoopBody::none ? Loc{} : outer.lines[end]] {
    const SlotId s = slot("carried " + to_string(a.dtype, a.shape), bytes_of(a));
    slots_[s].where = line;
    return s;
  };
  const SlotId result = end == LoopBody::none ? no_slot : slot_of(outer, end);
  const SlotId start = loop.takes_init[i] ? slot_of(outer, init) : no_slot;
  const bool double_buffered = !loop.in_place(i);
  Home h;
  if (loop.ends_at_home(i)) {
    h.first = result != no_slot ? result : start != no_slot ? start : fresh();
    if (double_buffered) h.second = fresh();
  } else {
    h.first = start != no_slot ? start : fresh();
    h.second = result != no_slot ? result : fresh();
  }
  if (init != LoopBody::none && slot_of(outer, init) != h.first)
    copy(slot_of(outer, init), h.first);
  return h;
}

Planner::Homes Planner::homes_of(Scope& outer, const LoopRegion& loop) {
  Homes r;
  for (std::size_t i = 0; i < loop.body.carried.size(); ++i) {
    r.places.push_back(home_of(outer, loop, i));
    r.double_buffered = r.double_buffered || r.places.back().second != no_slot;
    const std::optional<Place>& place = slots_[r.places.back().first].fixed;
    if (loop.in_place(i) && place && place->kind == Place::Kind::output)
      r.results.push_back(place->index);
  }
  return r;
}

void Planner::hand_in(Scope& outer, ValueId from, Scope& inner, ValueId to) {
  if (const auto i = outer.iterations.find(from); i != outer.iterations.end())
    inner.iterations[to] = i->second;
  // The number of an iteration may lie nowhere: kernels get it as a parameter then.
  const bool number = outer.numbers.contains(from);
  if (number) inner.numbers.insert(to);
  inner.slot(to) = number ? outer.slot(from) : slot_of(outer, from);
}

void Planner::enter(Scope& scope, Scope& outer, const LoopRegion& loop,
                    const std::vector<Home>& homes, std::size_t phase, SlotId counter) {
  const std::vector<ValueId>& inputs = scope.graph.inputs;
  const std::size_t n = homes.size();
  for (std::size_t i = 0; i < n; ++i) {
    const auto [first, second] = homes[i];
    scope.slot(inputs[i]) = phase == 1 && second != no_slot ? second : first;
  }
  scope.slot(inputs[n]) = counter;
  for (std::size_t k = 0; k < loop.body.constants.size(); ++k)
    hand_in(outer, loop.body.constants[k], scope, inputs[loop.body.first_constant() + k]);
  if (loop.body.paced) scope.slot(inputs[n + 1]) = machine_->pace;
  scope.numbers.insert(inputs[n]);
}

void Planner::close_loop(std::uint32_t first, std::uint32_t end) {
  const std::vector<SlotId> outside = std::move(open_.back());
  open_.pop_back();
  for (SlotId s : outside) {
    slots_[s].first = std::min(slots_[s].first, first);
    slots_[s].last = std::max(slots_[s].last, end - 1);
  }
}

void Planner::write_loop(Scope& outer, const LoopRegion& loop) {
  const LoopBody& body = loop.body;
  const Homes placed = homes_of(outer, loop);
  const std::vector<Home>& homes = placed.places;
  const bool double_buffered = placed.double_buffered;
  const SlotId counter = loop.iteration.counter ? slot("iterations", 4) : no_slot;
  if (counter != no_slot) append(count(false, 0), {counter});

  const auto index = static_cast<std::uint32_t>(program_.loops.size());
  program_.loops.emplace_back();
  LoopBlock block;
  block.first = static_cast<std::uint32_t>(program_.steps.size());
  block.trips = *body.trips;
  block.steps = body.steps;
  block.most_steps = body.most_steps;
  block.results = placed.results;
  open_.emplace_back();
  const std::size_t phases = double_buffered && *body.trips > 1 ? 2 : 1;
  for (std::size_t phase = 0; phase < phases; ++phase) {
    block.phases.push_back(static_cast<std::uint32_t>(program_.steps.size()));
    Scope scope(body.graph, loop.parts);
    for (std::size_t i = 0; i < body.carried.size(); ++i) {
      const auto [first, second] = homes[i];
      if (second != no_slot) scope.slot(body.graph.outputs[i]) = phase == 1 ? first : second;
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
  // Counted on behind every chunk, also where no kernel asks for the number.
  if (counter != no_slot) open_.back().push_back(counter);
  close_loop(block.first, block.end);
  if (counter != no_slot) {
    block.advance = static_cast<std::uint32_t>(program_.advances.size());
    program_.advances.push_back(count(true, 0));
    counters_.push_back(counter);
  }
  program_.loops[index] = std::move(block);
}

void Planner::drop_unused_kernels() {
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
  for (Step& s : program_.advances) keep(s);
  program_.kernels = std::move(kept);
}

void Planner::place_slots() {
  std::vector<Lifetime> lifetimes;
  std::vector<SlotId> owners;
  for (SlotId s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (slot.fixed || !slot.used) continue;
    lifetimes.push_back({slot.name, slot.where, slot.bytes, slot.first, slot.last});
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
  for (const auto& [block, counter] : counted_)
    program_.gated[block].iterations = *slots_[counter].fixed;
  for (const auto& [block, pace] : paced_)
    program_.gated[block].slices->steps = *slots_[pace].fixed;
  for (std::size_t i = 0; i < counters_.size(); ++i)
    program_.advances[i].operands = {*slots_[counters_[i]].fixed};
  program_.arena_bytes = arena.bytes;
  program_.allocations = std::move(arena.allocations);
  place_barriers(program_, sizes);
}

void schedule(Program& program, const Graph& g, const Partition& p, const Target& target) {
  Planner(program, target).run(g, p);
}

}  // namespace gnomon
