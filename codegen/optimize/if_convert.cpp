// codegen/optimize/if_convert.cpp -- see if_convert.h.
#include "codegen/optimize/if_convert.h"

#include <algorithm>

#include "codegen/graph/effects.h"
#include "codegen/graph/primitive.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/control.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

/// Whether a loop may take any number of steps.
bool waits(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(), [](const Equation& e) {
    const auto subs = e.params.graphs();
    return (e.primitive == &while_p && e.params.as<WhileParams>().max_steps < 0) ||
           std::any_of(subs.begin(), subs.end(), [](const GraphPtr& sub) { return waits(*sub); });
  });
}

bool any_convertible(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(), [](const Equation& e) {
    const auto subs = e.params.graphs();
    return convertible(e) || std::any_of(subs.begin(), subs.end(),
                                         [](const GraphPtr& sub) { return any_convertible(*sub); });
  });
}

/// Whether a lane takes branch `b` or one behind it. Indices out of range count as the nearest.
Array at_least(const Array& index, std::size_t b) {
  if (index.dtype() == DType::boolean) return index;
  return emit1(ge_p, {}, {index, lax::full_like(index, static_cast<double>(b))}, {});
}

Arrays chosen(const CondParams& p, const Arrays& in) {
  const Arrays operands(in.begin() + 1, in.end());
  Arrays result;
  for (std::size_t b = 0; b < p.branches.size(); ++b) {
    Arrays here = inline_graph(*p.branches[b], operands);
    if (b == 0) {
      result = std::move(here);
      continue;
    }
    const Array taken = at_least(in[0], b);
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = lax::select(lax::broadcast(taken, result[i].shape(), {0}), here[i], result[i]);
  }
  return result;
}

}  // namespace

bool convertible(const Equation& e) {
  if (e.primitive != &cond_p || e.params.as<CondParams>().lanes == 0 || has_effects(e))
    return false;
  const auto branches = e.params.graphs();
  return std::none_of(branches.begin(), branches.end(),
                      [](const GraphPtr& g) { return waits(*g); });
}

Graph if_convert(const Graph& input) {
  return replay(input, [](const Equation& e, const Arrays& in) {
    std::vector<GraphPtr> graphs = e.params.graphs();
    for (GraphPtr& g : graphs)
      if (any_convertible(*g)) g = std::make_shared<const Graph>(if_convert(*g));
    const Params params = e.params.with_graphs(graphs);
    return convertible(e) ? chosen(params.as<CondParams>(), in)
                          : emit(*e.primitive, params, in, e.loc);
  });
}

}  // namespace gnomon
