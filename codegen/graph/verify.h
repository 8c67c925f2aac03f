// codegen/graph/verify.h -- the invariants of a graph.
#pragma once
#include <string>

#include "codegen/graph/graph.h"

namespace gnomon {

/// What is wrong with the graph, or nothing: every id exists, every value is defined once and
/// before its use, the shape rule of every equation agrees with the types, sub-graphs are sound.
std::string find_fault(const Graph&);

/// Throws InternalError with the fault and the graph's text; `stage` says who made the graph.
void verify(const Graph&, const char* stage = "graph");

}  // namespace gnomon
