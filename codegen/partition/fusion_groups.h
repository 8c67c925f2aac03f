// codegen/partition/fusion_groups.h -- which values that go to memory are computed by one kernel.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "codegen/analysis/backward_slice.h"
#include "codegen/analysis/updates.h"
#include "codegen/program/target.h"

namespace gnomon {

/// Who shares a kernel with whom, as far as it was decided.
class FusionGroups {
 public:
  void set(const std::vector<ValueId>& roots);
  /// Whether any of `from` is computed from a root in `targets`; what shares a kernel waits for all
  /// that kernel reads.
  bool depends_on(const BackwardSlices&, const IndexSet& from,
                  const std::vector<ValueId>& targets) const;

  using Marks = std::vector<std::uint8_t>;            // per value; beyond its end there is none
  using Readers = std::vector<std::vector<ValueId>>;  // per value: the roots that read it
  /// `from` and all that it is computed from; or some of that, where one of `until` is among it.
  Marks behind(const BackwardSlices&, const IndexSet& from,
               const std::vector<ValueId>& until = {}) const;
  /// The roots whose kernels wait for that of `v`.
  Marks waiting_for(ValueId v, const Readers&) const;

 private:
  static constexpr std::uint32_t alone = ~0u;

  std::uint32_t group_of(ValueId v) const { return v < group_of_.size() ? group_of_[v] : alone; }

  std::vector<std::vector<ValueId>> groups_;  // in order of decision; a later one counts
  std::vector<std::uint32_t> group_of_;       // per value, or alone
};

/// Roots that share a loop share a kernel: a loop is never run twice. By one root of each group.
std::map<ValueId, std::vector<ValueId>> group_by_loops(const std::vector<ValueId>& roots,
                                                       const BackwardSlices&);

/// What is known of the roots of a graph.
struct Roots {
  const Placement& place;
  const Target& target;
  const Updates& updates;
  const BackwardSlices& slices;
  const FusionGroups::Readers& readers;
  double longest;  // instructions of a kernel (partition/cut_long.h)
};

/// Groups `roots`, none of which needs a loop, into kernels of one shape: outputs of one equation,
/// what is computed element by element from a root of the group, and small neighbours that need
/// nothing of each other. Adds the groups to `fusion_groups`.
std::vector<std::vector<ValueId>> group_elements(const Roots&, std::vector<ValueId> roots,
                                                 FusionGroups& fusion_groups);

}  // namespace gnomon
