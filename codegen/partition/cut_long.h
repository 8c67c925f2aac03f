// codegen/partition/cut_long.h -- programs that are written out at length, such as the steps of a
// solver without a loop, are several kernels.
#pragma once
#include <cstdint>
#include <vector>

#include "codegen/analysis/backward_slice.h"

namespace gnomon {

/// Instructions of a kernel of these equations, about.
double straight_instructions(const Graph&, const IndexSet& equations);

struct CutLimits {
  double instructions;  // of a kernel without loops
  std::uint64_t bytes;  // of what is in memory at a time for the sake of one root
};

/// Puts values in memory so that no root takes more instructions from there than the limit, at
/// places where few values are needed later: drivers take more than linear time to compile one
/// function. Roots that need loops, and those whose values take too much memory, stay as they are.
/// `in_memory` is that of the placement.
void cut_long(const Placement&, const CutLimits&, std::vector<bool>& in_memory);

}  // namespace gnomon
