// codegen/optimize/if_convert.h -- branches by lanes as operations of the graph around them.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

/// Whether all branches of an equation can be computed for all lanes: a `cond` by lanes without
/// statements, and without a `while` of any number of steps, which a lane that does not take the
/// branch might never leave.
bool convertible(const Equation&);

/// Every convertible `cond`, sub-graphs included, as its branches' operations and a choice among
/// their results. The values stay the same; every lane does the work of all branches. For branches
/// that are too much for one kernel: as operations of the graph they may go through memory.
Graph if_convert(const Graph&);

}  // namespace gnomon
