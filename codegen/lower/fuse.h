// codegen/lower/fuse.h -- decides which values live in memory and which equations share a kernel.
#pragma once
#include <string>
#include <vector>

#include "codegen/lower/draft.h"
#include "codegen/lower/pipeline.h"

namespace gnomon {

/// One kernel's share of the graph.
struct Cluster {
  Draft draft;
  std::vector<ValueId> writes;  // values it leaves in memory
  std::vector<ValueId> reads;   // values it takes from memory
  std::string reason;           // why this mapping
};

struct Partition {
  std::vector<Cluster> clusters;  // in an order that respects their dependencies
  std::vector<bool> in_memory;    // per value: graph input, or written by a cluster
};

/// Greedy fusion. A value goes to memory when it is an output, when several kernels need it and it
/// costs something, or when a consumer asks for its elements repeatedly. Loops take along whatever
/// is lane-local with them; a region that communicates along the lane axis is cut there, and a loop
/// that cannot be mapped to lanes runs sequentially. Expects a canonical, simplified graph.
Partition partition(const Graph&, const Target&, const CompileOptions&);

/// Text of the decisions, one line per kernel (GNOMON_DUMP=fusion).
std::string print(const Partition&, const Graph&);

}  // namespace gnomon
