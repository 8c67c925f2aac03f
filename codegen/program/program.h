// codegen/program/program.h -- a compiled graph: kernels, memory plan and schedule; data only, runs
// anywhere.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gnomon/array.h"
#include "shaders/kernel/kernel.h"

namespace gnomon {

/// Where an operand of a step lives.
struct Place {
  enum class Kind : std::uint8_t { input, output, arena, constants };
  Kind kind = Kind::arena;
  std::uint32_t index = 0;  // which input or output
  std::uint64_t offset =
      0;  // bytes from the start of that input, output, arena or constant data; 256-byte aligned
  bool operator==(const Place&) const = default;
};

/// A parameter word that holds the number of a loop's iteration, less what the loop's counter in
/// memory holds.
struct IterationWord {
  std::uint32_t word = 0;  // index into Step::parameters
  std::uint32_t loop = 0;  // index into Program::loops
};

/// One dispatch of `groups` workgroups (linear; the engine folds them into the device's grid) or
/// one copy.
struct Step {
  enum class Kind : std::uint8_t { dispatch, copy };
  Kind kind = Kind::dispatch;
  std::uint32_t kernel = 0;  // index into Program::kernels
  std::uint32_t groups = 0;
  std::vector<Place> operands;            // dispatch: one per kernel buffer; copy: {from, to}
  std::vector<std::uint32_t> parameters;  // user words of the parameter block
  std::vector<IterationWord> iterations;  // words that count
  std::uint64_t bytes = 0;                // copy: size
  /// Inside of a GatedBlock: where the counts (x, y, z; u32) of its dispatches lie, in the order of
  /// grid_of(groups). It runs when they are not 0.
  std::optional<Place> counts;
  bool barrier_before = false;  // an earlier step since the last barrier wrote what this one
                                // touches, or read what it writes
  std::string label;            // for dumps and timings
};

/// Steps [first, end) that run again and again: `trips` iterations, known beforehand.
///
/// One pass over the steps makes `phases.size()` iterations, which differ in where carried values
/// lie; the last pass may stop before a phase. Iteration i begins with a barrier. Blocks nest or
/// are disjoint.
///
/// Who runs the program may cut the iterations into chunks: in a chunk that begins with iteration
/// c, words of Step::iterations count from 0 and `counter` holds c. The program sets the counter to
/// 0 before the loop; after a chunk of n iterations, the step `advance` with n as its last
/// parameter adds them. Without a counter all iterations are one chunk.
struct LoopBlock {
  std::uint32_t first = 0, end = 0;
  std::vector<std::uint32_t> phases;  // first step of each phase; phases[0] == first
  std::uint64_t trips = 0;
  std::optional<std::uint32_t> advance;  // index into Program::advances
  std::uint64_t steps = 1;               // of the loop that was written, in an iteration
  std::uint64_t most_steps = 0;          // of them; 0: no bound
  std::vector<std::uint32_t> results;    // outputs that hold carried values between iterations
};

/// Slices of a gated block's outermost loop, which take as many of its steps as an i32 in memory
/// says, or fewer only where the loop ends. Whoever runs the program writes it: before the first
/// pass, and before later ones as it likes. No result depends on it.
struct Slices {
  Place steps;
  std::uint64_t first = 0;     // a number to begin with
  std::uint64_t most = 0;      // what it may be; 0: any positive number
  std::uint32_t per_pass = 0;  // slices that a pass takes; 0: not known
};

/// Steps [first, end) that choose on the device what runs next: *gates* among them write the counts
/// of the others, and zeros when it is all over. They are run over and over, until the u32 at
/// `done` is not 0; further passes do nothing. Loops inside are written down for as many iterations
/// as one pass should be good for.
struct GatedBlock {
  std::uint32_t first = 0, end = 0;
  Place done;
  std::uint64_t most_passes = 0;  // it is done after so many at the latest; 0: not known
  /// An i32: iterations of its outermost loop that are behind it, while it is not done; see
  /// LoopBlock.
  std::optional<Place> iterations;
  std::optional<Slices> slices;  // of lengths that may change; there are no `iterations` then
  std::uint64_t steps = 1, most_steps = 0;
  bool all_steps = false;  // it takes as many as it may
  std::vector<std::uint32_t> results;
};

/// What the memory plan decided about one array in the arena.
struct Allocation {
  std::string name;
  Loc where;  // the user's line that computes it; none for what the planner itself needs
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t first_step = 0, last_step = 0;
};

/// Trips that the lanes of one kernel's loop made: one u32 for each lane, in the arena, there when
/// the program has run.
struct TripRecord {
  Place place;
  std::uint32_t lanes = 0;
  std::uint32_t together = 1;  // neighbours that wait for one another
};

struct Program {
  std::string name = "program";
  std::vector<Aval> inputs, outputs;
  std::vector<kernel::Kernel> kernels;  // in invocation form, verified
  std::vector<Step> steps;
  std::vector<LoopBlock> loops;   // by first step, outer ones before inner ones
  std::vector<Step> advances;     // what counts loops on, which is part of no iteration
  std::vector<GatedBlock> gated;  // by first step; no loop around them
  std::vector<TripRecord> trips;  // of what persistent lanes might do better (gnomon/refill.h)
  std::uint64_t arena_bytes = 0;
  std::vector<Allocation> allocations;
  std::vector<std::byte> constants;  // uploaded once
  std::uint64_t graph_hash = 0;
  /// The files that `allocations` name, where those are no literals of this process.
  std::shared_ptr<const std::deque<std::string>> file_names;
  // Text of the earlier stages, kept when asked for (dumps, Jitted::text).
  std::string graph_text, fusion_text;
};

/// Readable list: `dispatch k0 "lorenz" groups=256 x=input0 y=output0`, barriers, copies, arena
/// map.
std::string print(const Program&);

}  // namespace gnomon
