// codegen/partition/loop_region.h -- loops whose iterations are several kernels on the device.
#pragma once
#include <optional>
#include <vector>

#include "codegen/cost/slicing.h"
#include "codegen/optimize/loop_body.h"
#include "codegen/partition/fuse.h"

namespace gnomon {

/// A loop whose iterations are the kernels of `parts`.
struct LoopRegion {
  LoopBody body;
  Partition parts;
  Partition condition;  // of the body's condition
  /// The last so many clusters of `condition`, or of `parts` where the body decides, give the
  /// decision: the gate does their work.
  std::size_t gate = 0;
  /// The device decides after every iteration whether there is another one: a condition does, or
  /// that of a loop inside.
  bool gated = false;
  /// One workgroup plays the kernels of all iterations, if it can; an iteration may take it so many
  /// microseconds.
  bool by_group = false;
  double group_microseconds = 0;
  IterationSource iteration;
  std::vector<bool> takes_init;  // per carried value: it begins in the memory of its first value

  /// The next value overwrites the carried one; otherwise they are double-buffered.
  bool in_place(std::size_t i) const {
    return parts.storage[body.graph.outputs[i]] == body.graph.inputs[i];
  }
  /// Where the loop begins with it, carried value i is at the end; a gated loop brings it back.
  bool ends_at_home(std::size_t i) const { return gated || in_place(i) || *body.trips % 2 == 0; }
};

/// A branch of which one side runs, chosen by the device, each with kernels of its own.
struct BranchRegion {
  struct Side {
    Graph graph;  // inputs: `operands`; outputs: `results`
    Partition parts;
  };
  ValueId index = 0;  // of the outer graph, like the rest: one bool or i32
  std::vector<ValueId> operands, results;
  std::vector<Side> sides;
};

/// Takes branch `e` of `outer` apart; null when lanes choose for themselves, or nobody wants its
/// results.
std::shared_ptr<BranchRegion> branch_region(const Equation& e, const std::vector<bool>& wanted,
                                            const Target&, const CompileOptions&,
                                            const LoopNest& nest);

/// Takes loop `e` of `outer` apart; null when it has no such form, or nobody wants its results.
/// `wanted`: per value of the outer graph, whether something reads it. `nest`: what surrounds the
/// outer graph. With slices an iteration of the region is a loop of that many steps itself, which a
/// kernel takes in one go.
std::shared_ptr<LoopRegion> loop_region(const Graph& outer, const Equation& e,
                                        const std::vector<bool>& wanted, const Target&,
                                        const CompileOptions&, const LoopNest& nest,
                                        const Slicing& = {});

/// The region's place among the kernels of the outer graph.
Cluster cluster_of(std::shared_ptr<LoopRegion>, std::string reason);
Cluster cluster_of(std::shared_ptr<BranchRegion>, std::string reason);

/// What it takes to start the kernels of one iteration, `start` for each, and what one workgroup
/// does there.
double starting_per_iteration(const LoopRegion&, double start);

}  // namespace gnomon
