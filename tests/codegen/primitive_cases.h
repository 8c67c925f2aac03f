// tests/codegen/primitive_cases.h -- example equations of every operation: what its laws are tested
// on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/graph/graph.h"
#include "codegen/graph/primitive.h"

namespace gnomon::test {

/// Elements of one input are drawn from [low, high]; integers from the integers in it. `diagonal`
/// is added where the coordinates along the two axes of length `square` agree, which no other axis
/// may have. With a `permuted_axis` the rows along it are permutations instead; `ascending`
/// integers of a vector go from `low` to `high`.
struct Domain {
  double low = -2, high = 2;
  double diagonal = 0;
  Dim square = 0;
  int permuted_axis = -1;
  Dim ascending = 0;
};

/// One equation.
struct Case {
  const Primitive* primitive = nullptr;
  Params params;
  std::vector<Aval> inputs;
  std::vector<Domain> domains;            // one per input
  std::vector<std::vector<bool>> linear;  // sets of inputs the operation is linear in together
  bool differentiable = true;             // differences show the derivative the jvp rule claims
  std::vector<int> orders = {};           // how often per input there is one; empty: any number
};

/// "add f32[2,3] f32[2,3]".
std::string label(const Case&);
/// Several element types and shapes; rank 0, empty arrays and axes of length 1 among them.
std::vector<Case> cases_of(const Primitive&);
/// The cases of the whole table.
std::vector<Case> all_cases();
/// Further ones on the element types that `all_cases` leaves out, a few for each type an operation
/// takes: for laws that hold bit for bit or by the type's precision, not for differences.
std::vector<Case> dtype_cases();
/// Random inputs; the same for the same seed.
std::vector<HostArray> sample(const Case&, std::uint64_t seed);
std::vector<HostArray> sample(const std::vector<Aval>&, const std::vector<Domain>&,
                              std::uint64_t seed);
/// The graph of this one equation.
Graph graph_of(const Case&);

}  // namespace gnomon::test
