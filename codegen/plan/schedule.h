// codegen/plan/schedule.h -- clusters in order become steps with places and barriers.
#pragma once
#include "codegen/partition/fuse.h"
#include "codegen/program/program.h"

namespace gnomon {

/// Fills steps, loops, arena, allocations of `program`, whose kernels are those of the clusters, in
/// invocation form; kernels that count and decide are appended where loops need them.
void schedule(Program& program, const Graph&, const Partition&, const Target&);

}  // namespace gnomon
