// codegen/transforms/vmap.h -- a graph over one element becomes a graph over many.
#pragma once
#include <string>
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon {

/// `graph` for `size` elements at once. Input i carries them along `in_axes[i]` (nullopt: all
/// elements share it), output i along `out_axes[i]`; an output that does not vary is repeated.
/// Throws UsageError when an output that varies has no axis to go to.
/// Collectives over the axis of the vmap whose batch rules run here (Trace::mapped_axis) become
/// operations along it.
Graph vmap(const Graph& graph, const BatchAxes& in_axes, const BatchAxes& out_axes, Dim size);
/// The same for a vmap of its own, with a name or without (empty). `paths` of the outputs in the
/// result and the line of the call are for errors.
Graph vmap(const Graph& graph, const BatchAxes& in_axes, const BatchAxes& out_axes, Dim size,
           const std::string& axis_name, const std::vector<std::string>& paths = {}, Loc = {});
/// All outputs along axis 0.
Graph vmap(const Graph& graph, const BatchAxes& in_axes, Dim size);

struct BatchedGraph {
  Graph graph;
  BatchAxes
      out_axes;  // where each output came out to carry the elements; nullopt: it does not vary
};
/// The same without moving or repeating outputs.
BatchedGraph vmap_in_place(const Graph& graph, const BatchAxes& in_axes, Dim size);

}  // namespace gnomon
