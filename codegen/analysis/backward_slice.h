// codegen/analysis/backward_slice.h -- the equations and arrays in memory that a value is computed
// from.
#pragma once
#include <set>
#include <vector>

#include "codegen/analysis/layout.h"
#include "codegen/analysis/uses.h"

namespace gnomon {

struct BackwardSlice {
  std::set<std::uint32_t> equations;  // what computes a root, up to memory
  std::set<ValueId> memory;           // what it reads
  std::set<std::uint32_t> loops;
};

/// A graph, which of its values lie in memory, and how.
struct Placement {
  const Graph& graph;
  const Uses& uses;
  const std::vector<bool>& in_memory;
  const std::vector<Layout>& layouts;
};

BackwardSlice backward_slice_of(const Placement&, ValueId root);

/// Whether `root` reaches `target` in memory, and through elementwise equations only: its element
/// at a position needs that of `target` at the same position and no other.
bool pointwise(const Placement&, ValueId root, ValueId target);

}  // namespace gnomon
