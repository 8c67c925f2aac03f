// codegen/optimize/save_residuals.h -- what a loop computes is kept for a later one that would
// compute it again.
#pragma once
#include "codegen/cost/decisions.h"
#include "codegen/graph/graph.h"

namespace gnomon {

/// Where a scan goes over the rows that an earlier one gave, and its steps do what the steps of
/// that one did, as the backward pass of a loop does, the earlier one gives the results of products
/// as well, and the later one takes those.
///
/// The values stay the same; they take memory instead of time. What would take more than so many
/// bytes for one pair of loops is computed again, as is everything behind an optimization_barrier,
/// which is what `checkpoint` puts there.
Graph save_residuals(const Graph&, std::uint64_t most_bytes, Decisions* = nullptr);

}  // namespace gnomon
