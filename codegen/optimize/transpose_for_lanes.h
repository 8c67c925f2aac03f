// codegen/optimize/transpose_for_lanes.h -- how arrays lie that lanes of a loop multiply with, and
// those they stack.
#pragma once
#include <functional>
#include <optional>

#include "codegen/graph/graph.h"

namespace gnomon {

/// For loops whose lanes multiply vectors of their own with a matrix that stays the same: where the
/// neighbours that a lane sums up lie apart, the matrix is transposed in front of the loop, a
/// copy for as long as that takes; and rows that the loop stacks have the lanes last, so that lanes
/// store and read them side by side. `lanes`: how many run an equation of the graph, 0 for none.
/// None when there is nothing to transpose. The result is simplified.
std::optional<Graph> transpose_for_lanes(const Graph&,
                                         const std::function<Dim(const Equation&)>& lanes);

}  // namespace gnomon
