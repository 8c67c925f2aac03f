// tests/support/random_graph.h -- random typed programs, written with the public operations as a
// user writes them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/base/host_array.h"
#include "codegen/graph/graph.h"

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
  bool coarse = false;  // outputs of f16 and bf16 may be off by units of theirs
};

/// The program of a seed: the same on every compiler.
///
/// Arrays of every dtype, most often of f32, i32, u32 and bool, of rank 0 to 8, axes of length 0
/// and 1 among them. Floats stay small and operations on them enlarge no difference, or little, so
/// that two executions that round differently stay together through hundreds of iterations; what
/// decides (branches, stops, indices, comparisons, orders) is computed from integers and from
/// floats that are exact everywhere. Derivatives, forward and backward, are among the steps; the
/// functions they are taken of have no kinks.
RandomGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

/// A smooth random function of f64 with the derivatives that have to agree: central differences,
/// forward and reverse mode, the three ways to a second derivative, and vmap against each element.
RandomGraph random_derivatives(std::uint64_t seed,
                               const RandomGraphOptions& options = {.steps = 5, .depth = 2});
/// The laws that its outputs break, or "".
std::string broken_law(const std::vector<HostArray>& outputs);

/// How far an output may be from the reference where nothing enlarges errors (rounding.h), relative
/// to the larger of 1 and the reference. f16 and bf16 are exact, unless functions or sums of them
/// are among the outputs; f64 is never made of a rounded f32.
double tolerance(const RandomGraph&, DType);
/// Whether any value of the program, inside loops too, has this dtype.
bool holds(const RandomGraph&, DType);

/// Seed, graph text and inputs, for a failure message.
std::string describe(const RandomGraph&);

}  // namespace gnomon::testing
