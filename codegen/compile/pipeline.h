// codegen/compile/pipeline.h -- the compiler's table of contents: Graph and Target in, Program out.
#pragma once
#include "codegen/cost/compile_options.h"
#include "codegen/graph/graph.h"
#include "codegen/program/program.h"
#include "codegen/program/target.h"

namespace gnomon {

/// Compiles a canonical graph; what its statements record are outputs behind its own. Pure: the
/// same graph, target and options give the same program. Throws UsageError when the device cannot
/// run it (64-bit floats it lacks, a loop beyond the driver's budget).
Program compile(const Graph&, const Target&, const CompileOptions& = {});

}  // namespace gnomon
