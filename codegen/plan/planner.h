// codegen/plan/planner.h -- the state of one schedule under construction. For codegen/plan/*.cpp
// only: schedule.cpp writes steps and loops that are counted, gated.cpp what the device steers,
// grouped.cpp what one workgroup plays.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/partition/loop_region.h"
#include "codegen/plan/flow.h"
#include "codegen/plan/gate.h"
#include "codegen/plan/group_kernel.h"
#include "codegen/program/program.h"
#include "codegen/program/target.h"

namespace gnomon {

inline constexpr SlotId no_slot = ~0u;

/// Memory of one array: an input, an output, or a range of the arena once lifetimes are known.
struct Slot {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<Place> fixed;
  std::size_t depth = 0;  // loops around the place where it came up
  Loc where = {};         // the user's line that computes it
  bool used = false;
  std::uint32_t first = 0, last = 0;
};

/// The values of one graph, once for every time its steps are written down.
struct Scope {
  const Graph& graph;
  const Partition& parts;
  std::vector<SlotId> slots;                    // per value, at its storage; no_slot: not yet
  std::vector<Loc> lines;                       // per value: the user's line that computes it
  std::set<ValueId> numbers;                    // values that number the iterations of a loop
  std::map<ValueId, std::uint32_t> iterations;  // those that are words: of which loop

  Scope(const Graph& g, const Partition& p)
      : graph(g), parts(p), slots(g.avals.size(), no_slot), lines(g.avals.size()) {
    for (const Equation& e : g.equations)
      for (ValueId v : e.outputs) lines[v] = e.loc;
  }
  SlotId& slot(ValueId v) { return slots[parts.storage[v]]; }
};

/// A gated block under construction.
struct Machine {
  Flow flow;
  std::uint32_t start = 0;  // the step in front that lets the first stretch run
  SlotId state = no_slot;   // done, two words of nothing, then three words per dispatch
  SlotId pace = no_slot;    // steps that a slice takes, where its loop is paced
  std::vector<SlotId> counters;
  std::map<std::uint32_t, GateKernel> gates;     // per step
  std::map<std::uint32_t, std::uint32_t> words;  // per step: its first word in the state
  std::uint64_t most_passes = 0;
  bool nested = false;
};

class Planner {
 public:
  Planner(Program& program, const Target& target) : program_(program), target_(target) {}
  void run(const Graph& g, const Partition& parts);

 private:
  SlotId slot(std::string name, std::uint64_t bytes);
  SlotId fixed(Place place, const Aval& a);
  SlotId slot_for(const Scope& scope, ValueId v);
  SlotId slot_of(Scope& scope, ValueId v);

  // ---- steps
  void append(Step step, std::vector<SlotId> operands);
  void copy(SlotId from, SlotId to);
  /// All kernels of a graph but the last so many.
  void write(Scope& scope, std::size_t left_out = 0);
  void write_kernel(Scope& scope, const Cluster& c);
  Step count(bool keep, std::uint32_t value);
  void write_loop(Scope& outer, const LoopRegion& loop);

  /// What a group plays itself is no kernel of its own.
  void drop_unused_kernels();
  void place_slots();

  // ---- loops

  /// Where a carried value lies: in the first place at the beginning, then, where there is a
  /// second, in both alternately: a double buffer.
  struct Home {
    SlotId first = no_slot, second = no_slot;
  };
  Home home_of(Scope& outer, const LoopRegion& loop, std::size_t i);
  /// Those of all carried values.
  struct Homes {
    std::vector<Home> places;
    bool double_buffered = false;        // some of them
    std::vector<std::uint32_t> results;  // outputs that hold one in every iteration
  };
  Homes homes_of(Scope& outer, const LoopRegion& loop);

  /// Input `to` of an inner graph is `from` of the outer one.
  void hand_in(Scope& outer, ValueId from, Scope& inner, ValueId to);

  /// What the inputs of a body or a condition are.
  void enter(Scope& scope, Scope& outer, const LoopRegion& loop, const std::vector<Home>& homes,
             std::size_t phase, SlotId counter);

  /// What the steps of a loop touch outside of it lives as long as the loop.
  void close_loop(std::uint32_t first, std::uint32_t end);

  // ---- loops that the device steers
  void write_gated(Scope& outer, const LoopRegion& loop);
  Flow::Label write_iteration(Scope& outer, const LoopRegion& loop, const std::vector<Home>& homes,
                              std::size_t phase, SlotId counter);
  std::uint64_t trips_per_pass(const LoopBody&, std::uint32_t steps, std::size_t phases) const;

  /// A gate that reads a decision, or does the work of the last so many clusters, which give it;
  /// and its operands so far.
  std::pair<GateKernel, std::vector<SlotId>> decision_of(Scope& scope, ValueId decision,
                                                         std::size_t merged);
  void write_gate(Scope& scope, const LoopRegion& loop, SlotId counter,
                  std::vector<Flow::Label> targets);
  void write_branch(Scope& outer, const BranchRegion& branch);
  void append_gate(GateKernel gate, std::vector<SlotId> operands, std::vector<Flow::Label> targets);
  Step kernel_to_come(std::string label);
  void begin_machine();
  /// The gated block under construction is this loop, whose iterations are counted there.
  void show_progress(const LoopBody&, const Homes&, SlotId counter);

  /// Words of the state that let exactly the steps of a stretch run, one stretch per choice.
  std::vector<StateWrite> writes(const std::set<std::uint32_t>& touched,
                                 const std::vector<std::vector<std::uint32_t>>& stretches) const;
  std::uint32_t groups_of(const Step& s) const;
  /// What the gate at step `at` does is known.
  void make_gate(GateKernel, std::uint32_t at);
  void end_machine();

  // ---- loops that one workgroup plays

  /// Takes down what is written as the program of a group.
  template <class F>
  GroupProgram written_for_group(F write_it) {
    GroupProgram program;
    GroupProgram* const outside = std::exchange(group_, &program);
    write_it();
    group_ = outside;
    return program;
  }

  /// A part that leaves the number of a choice in `decision`.
  void group_choice(GateKernel gate, std::vector<SlotId> operands, SlotId decision);
  void group_loop(Scope& outer, const LoopRegion& loop);
  GroupLoop loop_of_group(Scope& outer, const LoopRegion& loop, const std::vector<Home>& homes,
                          bool double_buffered);
  void group_branch(Scope& outer, const BranchRegion& branch);

  std::optional<GroupKernel> group_kernel_of(const std::string& name, const GroupProgram&,
                                             const std::optional<GroupSlice>&) const;
  void append_group(GroupKernel);
  /// How many of them a slice may have so that it makes no more trips than the driver allows;
  /// nothing where two are too many.
  std::optional<std::uint64_t> iterations_within_budget(const std::string& name,
                                                        const GroupProgram&, GroupSlice) const;
  /// A gated block of one step, `part`, that runs a slice in each pass.
  void write_slices(const LoopRegion& loop, const Homes& placed, const GroupSlice& slice,
                    GroupKernel part);
  /// False, and nothing is written, when the loop has no such form.
  bool write_group(Scope& outer, const LoopRegion& loop);

  Program& program_;
  std::vector<Slot> slots_;
  std::vector<std::vector<SlotId>> operands_;  // per step
  std::vector<std::vector<SlotId>> open_;      // per open loop: what it touches from outside
  std::vector<SlotId> counters_;               // that Program::advances count on
  std::uint32_t count_kernel_ = no_slot;
  const Target& target_;
  std::optional<Machine> machine_;
  std::map<std::uint32_t, std::pair<SlotId, std::uint32_t>> counts_;  // per step: state and word
  GroupProgram* group_ = nullptr;  // what one workgroup plays is taken down here
  std::uint32_t group_loops_ = first_group_loop;
  struct Record {
    SlotId slot;
    std::uint32_t lanes, together;
  };
  std::vector<Record> records_;
  std::vector<SlotId> states_;                           // per gated block
  std::vector<std::pair<std::size_t, SlotId>> counted_;  // gated blocks whose counter may be read
  std::vector<std::pair<std::size_t, SlotId>> paced_;    // gated blocks whose slices have a word
};

}  // namespace gnomon
