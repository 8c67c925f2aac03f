// codegen/partition/free_early.h -- kernels that free memory run as soon as they can.
#pragma once
#include <cstddef>
#include <vector>

#include "codegen/partition/aliasing.h"
#include "codegen/partition/fuse.h"

namespace gnomon {

/// Moves clusters forward that nothing follows from but outputs, where they are the last to read
/// what others wrote: gradients of weights, which a backward pass names at its end, together would
/// keep every activation until then. `sequence` holds indices of clusters in an order that respects
/// their dependencies and those of `sharing`, as the result does.
void free_early(const Graph&, const std::vector<Cluster>& clusters, const Aliasing&,
                std::vector<std::size_t>& sequence);

}  // namespace gnomon
