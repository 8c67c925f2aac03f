// codegen/partition/fuse.h -- decides which values live in memory and which equations share a
// kernel.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/cost/compile_options.h"
#include "codegen/emit/draft.h"
#include "codegen/partition/other_mappings.h"

namespace gnomon {

struct LoopRegion;
struct BranchRegion;

/// One kernel's share of the graph, or a loop or branch whose graphs have kernels of their own.
struct Cluster {
  Draft draft;  // the kernel, unless one of these is set
  std::shared_ptr<LoopRegion> loop;
  std::shared_ptr<BranchRegion> branch;
  std::vector<ValueId> writes;       // values it leaves in memory
  std::vector<ValueId> reads;        // values it takes from memory
  std::string reason;                // why this mapping
  std::vector<OtherMapping> others;  // with CompileOptions::candidates: what it could be instead
  // Filled when kernels leave lane form.
  std::uint32_t kernel = 0;  // index into Program::kernels
  std::uint32_t groups = 0;
  std::uint32_t invocations = 0;  // that have something to do
  /// > 0: its lanes are persistent (gnomon/refill.h), in so many dispatches; the last operand is
  /// the counter they share.
  std::uint64_t refills = 0;
  /// > 0: its last operand gets the trips of every lane, of which so many wait for one another.
  std::uint32_t counts_together = 0;
};

struct Partition {
  std::vector<Cluster> clusters;  // in an order that respects their dependencies
  std::vector<bool> in_memory;    // per value: graph input, or written by a cluster
  std::vector<ValueId> storage;   // per value: the value whose memory it lies in, mostly itself
};

/// What surrounds the graph of a loop's body; nothing for a whole program.
struct LoopNest {
  std::size_t carried = 0;  // inputs that may be overwritten; the outputs with these indices do it
  std::map<ValueId, IterationSource> iterations;  // inputs that are numbers of iterations
  bool gated = false;                             // the device decides what runs
  bool inside = false;                            // of a loop or a branch

  bool outermost() const { return !inside; }
};

/// Greedy fusion. A value goes to memory when it is an output, when several kernels need it and it
/// costs something, or when a consumer asks for its elements repeatedly. Loops take along whatever
/// is lane-local with them; a region that communicates along the lane axis is cut there, and a loop
/// that cannot be mapped to lanes runs sequentially. Expects a canonical, simplified graph.
/// Throws BranchTooLarge.
Partition partition(const Graph&, const Target&, const CompileOptions&, const LoopNest& = {});

/// A branch by lanes is more than one kernel can hold; `if_convert` makes it part of the graph.
struct BranchTooLarge {};

/// Text of the decisions, one line per kernel (GNOMON_DUMP=fusion).
std::string print(const Partition&, const Graph&);

}  // namespace gnomon
