// codegen/analysis/uses.h -- who defines and who reads each value of a graph, and how often its
// elements are asked for.
#pragma once
#include <cstdint>
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon {

struct Uses {
  static constexpr std::uint32_t none = ~0u;
  std::vector<std::uint32_t> producer;  // equation that defines the value, none for inputs
  std::vector<std::uint32_t> output;    // which of its outputs
  std::vector<std::uint32_t> count;     // uses by equations and as graph output
  std::vector<bool> many;  // elements are asked for several times (broadcast, dot, gather, loops)
  std::vector<bool> live;  // reaches a graph output
};

Uses analyse_uses(const Graph&);

/// Whether an equation is a loop, or a branch that holds a loop or a scatter: it runs as a whole,
/// not element by element.
bool is_loop(const Equation&);

}  // namespace gnomon
