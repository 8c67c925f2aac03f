// codegen/analysis/backward_slice.h -- the equations and arrays in memory that a value is computed
// from.
#pragma once
#include <vector>

#include "codegen/analysis/layout.h"
#include "codegen/analysis/uses.h"
#include "codegen/base/index_set.h"
#include "shaders/support/check.h"

namespace gnomon {

struct BackwardSlice {
  IndexSet equations;  // what computes a root, up to memory
  IndexSet memory;     // the values that it reads
  IndexSet loops;
};

/// Those of the roots of a graph.
class BackwardSlices {
 public:
  /// An empty one where there was none.
  BackwardSlice& operator[](ValueId root) {
    if (place_.size() <= root) place_.resize(root + 1, none);
    if (place_[root] == none) {
      place_[root] = static_cast<std::uint32_t>(slices_.size());
      slices_.emplace_back();
    }
    return slices_[place_[root]];
  }
  /// Of a root that has one.
  const BackwardSlice& at(ValueId root) const {
    GNOMON_CHECK(contains(root), "the value is no root");
    return slices_[place_[root]];
  }
  bool contains(ValueId root) const { return root < place_.size() && place_[root] != none; }
  /// Calls `each` with every root, in order, and its slice.
  template <class F>
  void for_each(F each) const {
    for (ValueId root = 0; root < place_.size(); ++root)
      if (contains(root)) each(root, at(root));
  }

 private:
  static constexpr std::uint32_t none = ~0u;

  std::vector<BackwardSlice> slices_;  // in the order in which they were asked for
  std::vector<std::uint32_t> place_;   // per value: in `slices_`, or none
};

/// A graph, which of its values lie in memory, and how.
struct Placement {
  const Graph& graph;
  const Uses& uses;
  const std::vector<bool>& in_memory;
  const std::vector<Layout>& layouts;
};

BackwardSlice backward_slice_of(const Placement&, ValueId root);

/// Whether `target` is among the memory that `root` is computed from.
bool reads_from_memory(const Placement&, ValueId root, ValueId target);

/// Whether `root` reaches `target` in memory, and through elementwise equations only: its element
/// at a position needs that of `target` at the same position and no other.
bool pointwise(const Placement&, ValueId root, ValueId target);

}  // namespace gnomon
