// codegen/transforms/jvp.h -- forward mode: a graph and its directional derivative.
#pragma once
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon {

/// Inputs (x..., dx of the active inputs...) -> outputs (y..., dy...), every dy materialised. Only
/// inputs of a float dtype can be active. The dy of integers and of outputs without dependence are
/// zeros.
Graph jvp(const Graph& graph, const std::vector<bool>& active);

/// The same with the dy of the `wanted` outputs only.
Graph jvp(const Graph& graph, const std::vector<bool>& active, const std::vector<bool>& wanted);

/// Outputs whose tangent is not symbolically zero when these inputs are active.
std::vector<bool> active_outputs(const Graph& graph, const std::vector<bool>& active);

}  // namespace gnomon
