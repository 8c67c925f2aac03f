// codegen/simplify/simplify.h -- a smaller graph with the same reference result.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

/// Removes dead code and common subexpressions, computes constants, applies identities that are
/// exact in every bit of every number (x + 0 only where -0 is safe; the payload of a NaN may
/// change), and sinks constants into loops and branches; in sub-graphs too. Inputs and outputs
/// stay. Markers for derivatives stay, the derivatives of random draws are gone: differentiate
/// first.
Graph simplify(const Graph&);

/// Per input, whether an equation or output looks at it.
std::vector<bool> used_inputs(const Graph&);

/// Carried values that the flagged ones depend on, in any number of steps, those included. Body:
/// the first `carried` inputs and outputs are the carried values.
std::vector<bool> closed_over_body(const Graph& body, std::size_t carried,
                                   const std::vector<bool>& flags);

}  // namespace gnomon
