// codegen/compile/graph_passes.h -- the table of passes that a graph goes through before kernels
// are made of it.
#pragma once
#include <optional>
#include <span>

#include "codegen/base/pass_log.h"
#include "codegen/partition/fuse.h"

namespace gnomon {

/// How a graph is divided into kernels: its reductions split, and which kernel has which equations.
struct Division {
  Graph graph;
  Partition parts;
};

/// What passes know besides the graph.
struct GraphContext {
  const Target& target;
  const CompileOptions& options;
  bool branch_too_large = false;  // the partition found a branch too large for a kernel
};

enum GraphForm : Forms {
  expanded = 1,   // every operation has a lowering of its own
  canonical = 2,  // simplified: what nobody asks for is gone
  fitting = 4,    // the device has what its arrays need
  converted = 8,  // branches that would be too much for a kernel are operations of the graph
};

struct GraphPass {
  std::string_view name;
  /// What the pass makes of the graph; nothing where it has nothing to do.
  std::optional<Graph> (*run)(const Graph&, const GraphContext&);
  Forms needs = 0, makes = 0;
  bool of_control = false;  // about loops and branches: a graph without any stays as it is
};

/// In the order in which they run.
std::span<const GraphPass> graph_passes();

/// The graph after all passes that the log says run, divided into kernels behind them: once, unless
/// a branch turns out to be more than a kernel holds. Throws UsageError for what the target cannot
/// hold.
Division run_graph_passes(Graph, const Target&, const CompileOptions&, PassLog&);

}  // namespace gnomon
