// codegen/analysis/loop_lanes.h -- over which axes the loops of one kernel may be spread.
#pragma once
#include <set>
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon {

/// Numbers of lanes to try for a kernel that holds these loops, the most promising one first. Only
/// emission tells whether one fits.
std::vector<Dim> lane_candidates(const Graph&, const std::set<std::uint32_t>& loops);

}  // namespace gnomon
