// codegen/analysis/uses.cpp -- one backward walk over the equations.
#include "codegen/analysis/uses.h"

#include <algorithm>

#include "codegen/graph/primitive.h"
#include "codegen/operations/calls.h"

namespace gnomon {

bool is_loop(const Equation& e) {
  switch (e.primitive->lower.kind) {
    case Lowering::Kind::while_loop:
    case Lowering::Kind::scan:
      return true;
    case Lowering::Kind::element:
    case Lowering::Kind::scatter:
    case Lowering::Kind::expand:
      return false;
    case Lowering::Kind::cond:
      break;
  }
  const auto runs_whole = [](const Equation& inner) {
    return is_loop(inner) || inner.primitive->lower.kind == Lowering::Kind::scatter;
  };
  const auto graphs = e.params.graphs();
  return std::any_of(graphs.begin(), graphs.end(), [&](const GraphPtr& g) {
    return std::any_of(g->equations.begin(), g->equations.end(), runs_whole);
  });
}

Uses analyse_uses(const Graph& g) {
  const std::size_t n = g.avals.size();
  Uses u{std::vector<std::uint32_t>(n, Uses::none), std::vector<std::uint32_t>(n, 0),
         std::vector<std::uint32_t>(n, 0), std::vector<bool>(n, false),
         std::vector<bool>(n, false)};
  for (std::uint32_t i = 0; i < g.equations.size(); ++i)
    for (std::uint32_t o = 0; o < g.equations[i].outputs.size(); ++o) {
      u.producer[g.equations[i].outputs[o]] = i;
      u.output[g.equations[i].outputs[o]] = o;
    }
  for (ValueId v : g.outputs) {
    ++u.count[v];
    u.live[v] = true;
  }
  std::vector<bool> through_view(n, false);  // some use reads it at positions of its own
  for (std::size_t i = g.equations.size(); i-- > 0;) {
    const Equation& e = g.equations[i];
    bool live = false;
    bool many = false;
    for (ValueId v : e.outputs) {
      live = live || u.live[v];
      many = many || u.many[v];
    }
    if (!live) continue;
    const Lowering& lower = e.primitive->lower;
    const bool element = lower.kind == Lowering::Kind::element;
    const bool view = element && lower.cost == Cost::view;
    for (ValueId v : e.inputs) {
      u.live[v] = true;
      ++u.count[v];
      // A barrier waits for its other operands, and reads none of their elements.
      if (e.primitive == &optimization_barrier_p && v != e.inputs[0]) continue;
      if (!element || lower.reuse == Reuse::many || (view && many)) u.many[v] = true;
      if (view) through_view[v] = true;
      // Read twice, once at positions of its own: recomputing would double the work at every such
      // stage.
      if (u.count[v] > 1 && through_view[v]) u.many[v] = true;
    }
  }
  return u;
}

}  // namespace gnomon
