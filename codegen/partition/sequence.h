// codegen/partition/sequence.h -- the order in which kernels run.
#pragma once
#include <utility>
#include <vector>

#include "codegen/partition/fuse.h"

namespace gnomon {

/// An order of the clusters in which each stands behind those that write what it reads, and each
/// second of `before` behind its first. Clusters that write the same value keep theirs.
std::vector<std::size_t> sequence_of(
    const std::vector<Cluster>&, const std::vector<std::pair<std::size_t, std::size_t>>& before);

}  // namespace gnomon
