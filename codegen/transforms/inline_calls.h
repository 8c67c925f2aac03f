// codegen/transforms/inline_calls.h -- functions take the place of the operations that call them.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

/// Replaces calls (operations/calls.h) by what they compute, in sub-graphs too; their rules are
/// gone. For what comes after all transforms and wants to see every operation.
Graph inline_calls(const Graph&);

}  // namespace gnomon
