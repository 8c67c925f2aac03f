// tests/support/random_graph.h -- random typed programs, written with the public operations as a
// user writes them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/graph/graph.h"
#include "codegen/graph/host_array.h"

namespace gnomon::testing {

struct RandomGraphOptions {
  int steps = 12;           // operations at top level, at most
  int depth = 3;            // how deep loops, branches and vmap nest
  Dim max_elements = 3000;  // of one array
};

/// A program and what it runs on.
struct RandomGraph {
  std::uint64_t seed = 0;
  Graph graph;
  std::vector<HostArray> inputs;
};

/// The program of a seed: the same on every compiler.
///
/// f32, i32, u32 and bool arrays of rank 0 to 4, axes of length 0 and 1 among them. Floats stay
/// small and every operation on them has a bounded derivative, so that two executions that round
/// differently stay together; what decides (branches, stops, indices, comparisons) is computed from
/// integers and from floats that are exact everywhere. Derivatives, forward and backward, are among
/// the steps; the functions they are taken of have no kinks.
RandomGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

/// Seed, graph text and inputs, for a failure message.
std::string describe(const RandomGraph&);

}  // namespace gnomon::testing
