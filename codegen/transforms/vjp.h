// codegen/transforms/vjp.h -- reverse mode, derived: the transpose of each equation's jvp, last
// equation first.
//
// Loops and branches are not derived yet: their transpose rules throw UsageError.
#pragma once
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon {

/// A graph replayed in the active trace with every value kept, for `pull_back`.
struct ForwardPass {
  Graph graph;
  Arrays values;  // indexed by ValueId of `graph`
  Arrays outputs() const;
};
ForwardPass run_forward(const Graph& graph, const Arrays& inputs);

/// Cotangents of the `wanted` inputs (nullopt: symbolically zero, or not wanted) from those of the
/// outputs. Emits into the active trace, which may be nested in the one of the forward pass.
Tangents pull_back(const ForwardPass& forward, const std::vector<bool>& wanted,
                   const Tangents& cotangents);

/// Transposes a graph that is linear in the flagged inputs, whose arrays are only types; emits into
/// the active trace. Cotangents of the flagged inputs, nullopt where symbolically zero.
Tangents transpose_linear(const Graph& graph, const Arrays& inputs, const std::vector<bool>& linear,
                          const Tangents& cotangents);

}  // namespace gnomon
