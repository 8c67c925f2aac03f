// codegen/transforms/unbatch.h -- vmap undone: what a graph over many elements does with one.
#pragma once
#include <optional>
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon {

/// The graph over one element that gives `graph` under vmap.
///
/// Flagged inputs, and all outputs, carry `size` elements along axis 0. Nothing where elements meet
/// one another, where an operand that they share is not the same for all of them, or where an
/// operation is not known here: all that vmap makes of elementwise operations, views, sums and
/// products is, and per-lane loops of such.
std::optional<Graph> unbatch(const Graph& graph, const std::vector<bool>& inputs, Dim size);

}  // namespace gnomon
