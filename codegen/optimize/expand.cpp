// codegen/optimize/expand.cpp -- applies the expansion rules of the primitives.
#include "codegen/optimize/expand.h"

#include <algorithm>

#include "codegen/graph/primitive.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

bool expands(const Equation& e) { return e.primitive->lower.kind == Lowering::Kind::expand; }

bool has_expansion(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(), [](const Equation& e) {
    const auto subs = e.params.graphs();
    return expands(e) || std::any_of(subs.begin(), subs.end(),
                                     [](const GraphPtr& sub) { return has_expansion(*sub); });
  });
}

Params expanded_params(const Params& params, const Target& target) {
  std::vector<GraphPtr> graphs = params.graphs();
  for (GraphPtr& sub : graphs)
    if (has_expansion(*sub)) sub = std::make_shared<const Graph>(expand(*sub, target));
  return params.with_graphs(graphs);
}

}  // namespace

Graph expand(const Graph& input, const Target& target) {
  Graph g = input;
  // A rule may use operations that expand themselves; every round removes one level.
  while (has_expansion(g))
    g = replay(g, [&](const Equation& e, const Arrays& in) {
      const Arrays out = expands(e)
                             ? e.primitive->lower.expansion(e.params, in, target, e.loc)
                             : emit(*e.primitive, expanded_params(e.params, target), in, e.loc);
      for (std::size_t i = 0; i < std::min(out.size(), e.outputs.size()); ++i)
        GNOMON_CHECK(out[i].aval() == g.avals[e.outputs[i]],
                     "the expansion of " + std::string(e.primitive->name) + " gives " +
                         to_string(out[i].aval()) + " for " + to_string(g.avals[e.outputs[i]]));
      return out;
    });
  return g;
}

}  // namespace gnomon
