// codegen/partition/aliasing.h -- values that take over the memory of another one: updates in
// place.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/analysis/backward_slice.h"
#include "codegen/partition/fuse.h"

namespace gnomon {

struct Aliasing {
  std::vector<ValueId> storage;  // per value: the value whose memory it lies in, mostly itself
  std::vector<std::pair<std::size_t, std::size_t>> order;  // cluster, one that must come after it
  std::optional<ValueId> failed;  // an update whose operand somebody reads too late
  std::vector<ValueId> late;      // what loops copy to begin with, because somebody reads it later
};

/// Decides which values of `clusters` share memory, and gives the kernels that read and write such
/// a pair one buffer for both.
///
/// `carried`: this many inputs of the graph may be overwritten; input i should end up as output i.
/// `updates`: per output of a dynamic_update_slice drafted in place, its operand. Everything that
/// reads the old value comes before the kernel that overwrites it; where that is impossible, an
/// update is reported, and anything else keeps memory of its own.
Aliasing share_memory(const Placement&, std::vector<Cluster>& clusters, std::size_t carried,
                      const std::map<ValueId, ValueId>& updates);

}  // namespace gnomon
