// tests/support/loop_goldens.h -- loops with known answers, for the host reference and for devices.
#pragma once
#include <string>
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon::testing {

struct LoopGolden {
  std::string name;
  Graph graph;
  std::vector<HostArray> inputs;
  std::vector<std::vector<double>> want;  // exactly, per output
};

/// JAX's published answers for while_loop, fori_loop and scan (lax_control_flow_test), and what
/// follows from the definitions at the edges: no steps, bounds, NaN in a condition.
std::vector<LoopGolden> loop_goldens();

}  // namespace gnomon::testing
