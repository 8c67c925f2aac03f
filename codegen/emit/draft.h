// codegen/emit/draft.h -- one kernel for a set of graph values, in lane form, before the kernel
// passes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/cost/decisions.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/mapping.h"
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// What one kernel buffer stands for: a value of the graph in memory, or scratch of the kernel's
/// own.
struct DraftOperand {
  bool scratch = false;
  ValueId value = 0;
  std::uint64_t scratch_bytes = 0;
};

/// How a kernel learns the number of a loop's iteration: a parameter word, an i32 in memory, or
/// their sum; and what to add to it.
struct IterationSource {
  bool word = false, counter = false;
  std::int32_t offset = 0;
};

struct Draft {
  kernel::Kernel kernel;     // lane form, or invocation form where workgroups work together
  std::uint32_t groups = 0;  // workgroups, in invocation form
  std::vector<DraftOperand> operands;
  std::vector<std::vector<std::uint32_t>>
      parameters;  // one dispatch each, in order; normally one, empty
  std::vector<std::pair<std::uint32_t, ValueId>> iterations;  // words that hold an iteration
  // "map", "tile", "rows", "lane", "sequential", "scatter", "update", "group"
  std::string mapping;
  Dim written_terms = 0;  // of products with vectors that lanes hold
  bool has_loop = false;
  bool disjoint = true;           // no element is computed by two lanes
  std::vector<ValueId> in_place;  // roots that have to lie in the memory of what they begin with
  std::uint32_t width = 0;        // lanes per invocation; 0: as the device likes it
  std::uint32_t carried = 0;  // values that its loops may carry together; 0: as the device likes it
};

enum class Mapping : std::uint8_t { map, lane, sequential, group };

/// Instructions that a kernel has at most where there is another way. Compilers of drivers take
/// more than linear time and memory for one function: SwiftShader takes 67 s and 9 GB for 22,000.
constexpr std::size_t pleasant_kernel = 16384;

struct DraftRequest {
  const Graph& graph;
  const Uses& uses;
  const Target& target;
  const std::vector<bool>& in_memory;  // values other kernels leave in memory
  const std::vector<Layout>& layouts;  // per value
  std::vector<ValueId> roots;          // values this kernel computes
  std::vector<bool> stored;            // per root: false when only other roots need it
  Mapping mapping = Mapping::map;
  Dim lanes = 1;
  std::string name;
  std::optional<ValueId> stand_in;  // the only root takes this value's elements instead of its own
  bool pins = true;                 // a lane may hold just its own part of a value (Emitter::pins)
  const std::map<ValueId, IterationSource>* iterations = nullptr;  // inputs that are iterations
  Decisions* decisions = nullptr;                                  // see CompileOptions
  std::optional<RegisterTile> tile = std::nullopt;  // map: a lane computes several elements
  Dim row = 0;  // map: a lane computes this many neighbours one after another; 0: one element
  std::size_t value_limit = 200000;  // instructions beyond which it is too large
  /// Roots that loops carry out, by what they begin with: may lie in the same memory.
  std::map<ValueId, ValueId> takeovers = {};
};

/// Failure names the root that could not be computed lane by lane.
struct DraftFailure {
  ValueId root = 0;
  std::string why;
};

/// Throws KernelTooLarge; a NotLaneLocal becomes `failure`.
std::optional<Draft> draft(const DraftRequest&, DraftFailure& failure);

/// One of a lane per element. Throws KernelTooLarge.
Draft draft_elements(DraftRequest);

/// The kernel with loops that count alike merged, as far as one lane's registers hold what they
/// carry. `k` is the draft's kernel, simplified.
kernel::Kernel loops_merged(kernel::Kernel k, const Draft&, const Target&);

/// The updates of a scatter whose output already holds its operand: lanes own disjoint
/// parts of the output and walk the updates in order, so the result does not depend on the device.
/// Long walks are several dispatches. Unique updates have a lane each.
Draft draft_scatter(const DraftRequest&, const Equation&);

/// Values `from` and `to` share memory: one buffer of the kernel shows both. All loads of `from`
/// come before the stores to `to`, or are the same lane's.
void share_buffer(Draft&, ValueId from, ValueId to);

}  // namespace gnomon
