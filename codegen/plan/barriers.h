// codegen/plan/barriers.h -- where the device must wait for what it started.
#pragma once
#include <cstdint>
#include <vector>

#include "codegen/program/program.h"

namespace gnomon {

/// Puts a barrier before each step that touches what a step since the last barrier wrote, or writes
/// what one read, before the first step of every loop, since the last one may have run before it,
/// and behind every loop; gated blocks alike. `sizes`: bytes of every operand of every step.
void place_barriers(Program&, const std::vector<std::vector<std::uint64_t>>& sizes);

}  // namespace gnomon
