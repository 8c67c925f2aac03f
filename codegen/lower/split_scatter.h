// codegen/lower/split_scatter.h -- long scatters in parts.
#pragma once
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// Whether a scatter of so many updates to so few columns leaves the device idle as one walk.
bool wants_parts(const Graph&, const Equation&, const Target&);

/// The scatter as several, each of its own part of the updates onto an array of identities, which
/// are then combined with each other and the operand in order of the updates. Every lane walks its
/// part only, and the number of parts depends on the graph and the device, so that results are
/// reproducible. `set` finds the last update of each element by its number, a maximum.
Array scatter_in_parts(const Equation&, const std::vector<Array>& inputs, const Target&);

}  // namespace gnomon
