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
  Trace t;
  Arrays values(g.avals.size());
  for (ValueId v : g.inputs) values[v] = t.input(g.avals[v]);
  for (const Equation& e : g.equations) {
    t.loc = e.loc;
    Arrays inputs;
    for (ValueId v : e.inputs) inputs.push_back(values[v]);
    std::vector<GraphPtr> graphs = e.params.graphs();
    Arrays outputs;
    if (is_call(e)) {
      outputs = inline_graph(inline_calls(*graphs[0]), inputs);
    } else {
      for (GraphPtr& sub : graphs) sub = std::make_shared<const Graph>(inline_calls(*sub));
      outputs = emit(*e.primitive, e.params.with_graphs(graphs), inputs, e.loc);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) values[e.outputs[i]] = outputs[i];
  }
  Arrays outputs;
  for (ValueId v : g.outputs) outputs.push_back(values[v]);
  return t.finish(outputs);
}

}  // namespace gnomon
