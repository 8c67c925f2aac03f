// codegen/optimize/expand.h -- operations that are made of others give way to them.
#pragma once
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// Replaces every equation whose lowering is an expansion, in sub-graphs too, until none is left.
/// Runs before kernels are made and after all transforms, which see the operation whole.
Graph expand(const Graph&, const Target&);

}  // namespace gnomon
