// codegen/graph/evaluate.h -- runs a graph on the host by the operations' reference rules: the
// oracle.
#pragma once
#include <vector>

#include "codegen/base/host_array.h"
#include "codegen/graph/graph.h"

namespace gnomon {

/// Slow and obvious. Throws UsageError when the inputs do not have the graph's types.
std::vector<HostArray> evaluate(const Graph&, std::vector<HostArray> inputs);

}  // namespace gnomon
