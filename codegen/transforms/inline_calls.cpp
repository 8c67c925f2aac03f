// codegen/transforms/inline_calls.cpp -- replays a graph with the bodies of its calls.
#include "codegen/transforms/inline_calls.h"

#include <algorithm>

#include "codegen/graph/primitive.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

bool is_call(const Equation& e) {
  return e.primitive->lower.kind == Lowering::Kind::expand && !e.params.graphs().empty();
}

bool has_calls(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(), [](const Equation& e) {
    if (e.primitive->lower.kind == Lowering::Kind::element) return false;
    const std::vector<GraphPtr> graphs = e.params.graphs();
    return is_call(e) || std::any_of(graphs.begin(), graphs.end(),
                                     [](const GraphPtr& sub) { return has_calls(*sub); });
  });
}

}  // namespace

Graph inline_calls(const Graph& g) {
  if (!has_calls(g)) return g;
  return replay(g, [](const Equation& e, const Arrays& inputs) {
    std::vector<GraphPtr> graphs = e.params.graphs();
    if (is_call(e)) return inline_graph(inline_calls(*graphs[0]), inputs);
    for (GraphPtr& sub : graphs) sub = std::make_shared<const Graph>(inline_calls(*sub));
    return emit(*e.primitive, e.params.with_graphs(graphs), inputs, e.loc);
  });
}

}  // namespace gnomon
