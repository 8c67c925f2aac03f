// codegen/optimize/loop_rewrite.h -- passes that give loops further constants.
#pragma once
#include <memory>
#include <optional>

#include "codegen/graph/graph.h"
#include "codegen/operations/control.h"
#include "codegen/simplify/simplify.h"

namespace gnomon {

/// A scan or while with another body, which takes further constants behind its inputs; those are
/// inputs of the equation already. The condition of a while takes them too, and ignores them.
inline Equation with_body(Equation loop, Graph graph) {
  const auto body = std::make_shared<const Graph>(std::move(graph));
  if (loop.primitive == &while_p) {
    WhileParams p = loop.params.as<WhileParams>();
    Graph condition = *p.condition;
    for (std::size_t i = condition.inputs.size(); i < body->inputs.size(); ++i)
      condition.inputs.push_back(condition.fresh(body->avals[body->inputs[i]]));
    p.condition = std::make_shared<const Graph>(std::move(condition));
    p.body = body;
    loop.params = std::move(p);
  } else {
    ScanParams p = loop.params.as<ScanParams>();
    p.body = body;
    loop.params = std::move(p);
  }
  return loop;
}

/// The graph with some equations rewritten: `rewrite(result, equation)` adds what stands for one to
/// the result, or returns false. None when it always does; simplified otherwise.
template <class Rewrite>
std::optional<Graph> with_loops_rewritten(const Graph& g, const Rewrite& rewrite) {
  Graph r{g.avals, g.inputs, g.outputs, {}};
  bool changed = false;
  for (const Equation& e : g.equations) {
    if (rewrite(r, e))
      changed = true;
    else
      r.equations.push_back(e);
  }
  if (!changed) return std::nullopt;
  return simplify(r);
}

}  // namespace gnomon
