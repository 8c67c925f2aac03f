// engine/runtime/schedule.h -- a Program's steps as dispatches: copies become kernels, barriers are
// checked. No Vulkan.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/program.h"
#include "codegen/program/target.h"

namespace gnomon {

/// What a program comes to on a device.
struct Schedule {
  std::vector<kernel::Kernel> kernels;  // the program's, and the copy kernel where it is needed
  std::vector<Step> steps;              // all dispatches: the program's, then its advances
  std::uint32_t first_advance = 0;      // where the latter begin
  std::vector<bool> steers;             // per step: it writes the counts of others
  std::vector<LoopBlock> loops;
  std::vector<GatedBlock> gated;
};

/// Copies are kernels too: a recorded transfer command would fix the addresses of its arrays.
Schedule schedule_of(const Program&, const Target&);

/// The dispatch of `kernel`, a copy kernel, that moves `bytes`, rounded up to whole units.
Step copy_step(std::uint32_t kernel, const Target&, Place from, Place to, std::uint64_t bytes);

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
