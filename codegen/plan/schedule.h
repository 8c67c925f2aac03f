// codegen/plan/schedule.h -- clusters in order become steps with places and barriers.
#pragma once
#include <vector>

#include "codegen/lower/fuse.h"
#include "codegen/program/program.h"

namespace gnomon {

/// Fills steps, arena, allocations of `program`, whose kernels are the clusters' in order, in
/// invocation form. `groups[i]` is the number of workgroups of kernel i.
void schedule(Program& program, const Graph&, const Partition&,
              const std::vector<std::uint32_t>& groups);

}  // namespace gnomon
