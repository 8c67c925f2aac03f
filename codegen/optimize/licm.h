// codegen/optimize/licm.h -- loop-invariant code motion: what iterations have in common is computed
// once.
#pragma once
#include <functional>
#include <optional>

#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// Moves out of the loops of which `in_kernels` is true, and the loops inside them, what follows
/// from constants alone and costs more than reading it: it becomes a constant too. On a device
/// whose lanes read runs, matrices that such a loop multiplies vectors with are transposed first,
/// so that neighbouring lanes read neighbours: a copy of the matrix for the time of the loop.
///
/// Worth it only where every iteration would compute the same again: kernels that hold the whole
/// loop keep it in registers anyway. Asked of equations of the graph that have something to move.
/// None when there is nothing to move. The result is simplified.
std::optional<Graph> hoist_invariants(const Graph&,
                                      const std::function<bool(const Equation&)>& in_kernels,
                                      const Target&);

}  // namespace gnomon
