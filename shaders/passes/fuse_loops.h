// shaders/passes/fuse_loops.h -- one loop instead of several that count alike.
#pragma once
#include <cstdint>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

struct FuseLoopsOptions {
  /// Values that one loop may carry beside its counter; 0 leaves the kernel as it is.
  std::uint32_t most_carried = 64;
};

/// Merges the loops of a region that count over one range, write nothing and do not need one
/// another's results: sums over several rows become one loop that reads what the rows share once.
/// What loops of one region need is moved in front of them, what needs their results behind. Where
/// not all fit in one, those that read the same buffers go together.
///
/// Every loop still does the same in the same order, so no bit changes. Loads that the merged body
/// repeats are left to `simplify`. O(n).
/// Kernels that synchronise are returned as they are.
Kernel fuse_loops(Kernel, FuseLoopsOptions = {});

/// The most values that a loop of the kernel's own body carries beside its counter. A loop of one
/// trip at most is a branch that drivers skip (passes/loop_to_branch), and its values stay in no
/// register.
std::uint32_t most_carried(const Kernel&);

}  // namespace gnomon::kernel
