// codegen/partition/materialization.h -- which values live in memory, and how they lie there.
#pragma once
#include <vector>

#include "codegen/analysis/layout.h"
#include "codegen/analysis/uses.h"
#include "codegen/cost/compile_options.h"
#include "codegen/graph/graph.h"
#include "codegen/partition/rows.h"

namespace gnomon {

struct Materialization {
  std::vector<bool> in_memory;  // per value
  std::vector<Layout> layouts;  // per value
  Rows rows;                    // roots whose lanes compute a row each
};

/// Where the values of a graph should live before any kernel was tried: in memory are inputs,
/// outputs, what several kernels need and costs something, what a consumer asks for repeatedly, and
/// what a reduction would compute with too few lanes.
Materialization choose_materialization(const Graph&, const Uses&, const Target&,
                                       const CompileOptions&);

}  // namespace gnomon
