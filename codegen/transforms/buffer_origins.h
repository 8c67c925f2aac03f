// codegen/transforms/buffer_origins.h -- which values descend from write-once buffers: what
// check_buffers follows.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon {

/// The number of the buffer that a value descends from; of several, one of them.
using Origin = std::optional<std::size_t>;
using Origins = std::vector<Origin>;

/// The operation moves, chooses among or replaces elements of this operand and computes nothing
/// with them: its result descends from it.
bool hands_on(const Equation&, std::size_t operand);

class BufferOrigins {
 public:
  struct Buffer {
    Aval aval;
    Loc loc;
    Dim first = 0;  // the number of its first element among those of all buffers
  };

  /// Finds the buffers of a graph, those in sub-graphs included. The graph must stay where it is.
  explicit BufferOrigins(const Graph&);

  const std::vector<Buffer>& buffers() const { return buffers_; }
  /// Which buffer an equation makes.
  std::size_t number(const Equation& e) const { return numbers_.at(&e); }

  /// What the outputs descend from when the inputs (operands) do from this.
  Origins of_outputs(const Graph&, const Origins& inputs) const;
  Origins of_outputs(const Equation&, const Origins& operands) const;
  /// Of the inputs of a loop's body, in any step.
  Origins of_body(const Equation& loop, Origins operands) const;

 private:
  void collect(const Graph&);

  std::vector<Buffer> buffers_;
  std::map<const Equation*, std::size_t> numbers_;
};

}  // namespace gnomon
