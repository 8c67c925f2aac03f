// engine/runtime/schedule.h -- a Program's steps as dispatches: copies become kernels, barriers are
// checked. No Vulkan.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/program/program.h"
#include "codegen/program/target.h"

namespace gnomon {

/// One dispatch to be recorded.
struct Work {
  std::uint32_t kernel = 0;  // index into Schedule::kernels
  std::uint32_t groups = 0;
  std::vector<Place> operands;            // one per kernel buffer
  std::vector<std::uint32_t> parameters;  // user words
  std::vector<IterationWord> iterations;
  std::optional<Place> counts;  // Step::counts
  bool barrier_before = false;
  bool steers = false;  // writes the counts of others
  std::string label;
};

/// A LoopBlock of the program over works.
struct Loop {
  static constexpr std::uint32_t none = ~0u;
  std::uint32_t first = 0, end = 0;
  std::vector<std::uint32_t> phases;
  std::uint64_t trips = 0;
  std::uint32_t advance = none;             // the work that adds its last parameter to the counter
  std::uint64_t steps = 1, most_steps = 0;  // as in LoopBlock
  std::vector<std::uint32_t> results;
};

struct Schedule {
  std::vector<kernel::Kernel> kernels;  // the program's, and the copy kernel where it is needed
  std::vector<Work> works;              // the steps, then what advances counters
  std::uint32_t steps = 0;              // the first so many works are the steps
  std::vector<Loop> loops;              // in the order of the program
  std::vector<GatedBlock> gated;        // over works
};

/// Copies are kernels too: a recorded transfer command would fix the addresses of its arrays.
Schedule schedule_of(const Program&, const Target&);

/// The dispatch of `kernel`, a copy kernel, that moves `bytes`, rounded up to whole units.
Work copy_work(std::uint32_t kernel, const Target&, Place from, Place to, std::uint64_t bytes);

/// Two steps that touch the same bytes, one of them writing, without a planned barrier between
/// them.
struct Hazard {
  std::uint32_t first = 0, second = 0;  // indices into Program::steps
  std::string text;
};

/// The exact check, byte by byte, that Vulkan's own validation cannot make: it knows whole windows
/// only. Loops are walked through twice, so the end of an iteration meets the beginning of the
/// next.
std::vector<Hazard> missing_barriers(const Program&);

/// Inputs whose memory may become that of an output: per output, the inputs of its size that no
/// step at or after the output's first write reads, with a planned barrier between the last read
/// and that write; or the one that the first write is a copy of.
std::vector<std::vector<std::uint32_t>> reusable_inputs(const Program&);

}  // namespace gnomon
