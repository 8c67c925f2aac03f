// codegen/graph/graph.h -- the graph IR: equations over arrays.
//
// Semantics
//   A graph is a pure function of its inputs. Equations are in program order; every value is
//   defined once, before use. Integer arithmetic wraps; division and remainder by zero, float to
//   integer conversion and NaN follow the kernel IR (shaders/kernel/kernel.h) except that `max` and
//   `min` propagate NaN. Sub-graphs (bodies of loops, branches) are parameters of their equation
//   and see only their own inputs: captured arrays are passed in. Source lines are carried for
//   messages and are no part of a graph's identity.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codegen/graph/params.h"
#include "gnomon/array.h"

namespace gnomon {

using Tangents = std::vector<std::optional<Array>>;  // nullopt: a symbolic zero
using BatchAxes = std::vector<std::optional<int>>;   // nullopt: not batched
using ValueId = std::uint32_t;
struct Primitive;

struct Equation {
  const Primitive* primitive = nullptr;
  Params params;
  std::vector<ValueId> inputs, outputs;
  Loc loc;
};

struct Graph {
  std::vector<Aval> avals;  // indexed by ValueId
  std::vector<ValueId> inputs, outputs;
  std::vector<Equation> equations;

  ValueId fresh(Aval a) {
    avals.push_back(std::move(a));
    return static_cast<ValueId>(avals.size() - 1);
  }
  std::vector<Aval> input_avals() const;
  std::vector<Aval> output_avals() const;
};

/// Keeps what the statements (graph/effects.h) and the outputs need, ordered and numbered by a
/// depth-first walk from them, statements in their order first. C++ leaves
/// the order in which `a` and `b` of `a + b` are evaluated to the compiler, so the order of tracing
/// must not show in dumps or cache keys. Ends every trace and every transform. All inputs are kept.
Graph canonicalize(const Graph&);
Graph canonicalize(Graph&&);

/// Structural identity: equal for graphs that differ in source lines only. Expects canonical
/// graphs.
std::uint64_t structural_hash(const Graph&);
bool structurally_equal(const Graph&, const Graph&);

}  // namespace gnomon
