// codegen/graph/effects.cpp -- finding statements, and leaving them out.
#include "codegen/graph/effects.h"

#include <algorithm>

#include "codegen/graph/primitive.h"

namespace gnomon {

bool has_effects(const Equation& e) {
  if (e.primitive->lower.statement) return true;
  if (e.primitive->lower.kind == Lowering::Kind::element) return false;
  std::vector<GraphPtr> graphs = e.params.graphs();
  // Of a call only what it computes: rules speak where they take its place.
  if (e.primitive->lower.kind == Lowering::Kind::expand && graphs.size() > 1) graphs.resize(1);
  return std::any_of(graphs.begin(), graphs.end(),
                     [](const GraphPtr& g) { return g && has_effects(*g); });
}

bool has_effects(const Graph& graph) {
  return std::any_of(graph.equations.begin(), graph.equations.end(),
                     [](const Equation& e) { return has_effects(e); });
}

Graph without_effects(const Graph& graph) {
  if (!has_effects(graph)) return graph;
  Graph result = graph;
  result.equations.clear();
  for (const Equation& e : graph.equations) {
    if (e.primitive->lower.statement) continue;
    Equation kept = e;
    if (std::vector<GraphPtr> graphs = e.params.graphs(); !graphs.empty()) {
      for (GraphPtr& g : graphs) g = std::make_shared<const Graph>(without_effects(*g));
      kept.params = e.params.with_graphs(graphs);
    }
    result.equations.push_back(std::move(kept));
  }
  return canonicalize(std::move(result));
}

}  // namespace gnomon
