// codegen/primitives/reverse.cpp -- what the backward passes of loops and branches share.
#include "codegen/primitives/reverse.h"

#include <algorithm>

#include "codegen/graph/simplify.h"
#include "codegen/primitives/control_graphs.h"
#include "codegen/primitives/lax.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/jvp.h"
#include "codegen/transforms/vjp.h"

namespace gnomon::control {

Tangents transposed(const ReverseMode& reverse, const TransposeArgs& t) {
  const Trace* trace = Trace::current();
  Arrays at_zero;
  for (std::size_t i = 0; i < t.inputs.size(); ++i)
    at_zero.push_back(t.linear[i] ? lax::full(t.inputs[i].aval(), 0) : t.inputs[i]);
  const Arrays all = reverse.forward(t.params, at_zero, t.linear, trace ? trace->loc : Loc{});
  const Arrays saved(all.begin() + static_cast<std::ptrdiff_t>(t.cotangents.size()), all.end());
  return reverse.backward(ReverseArgs{t.params, at_zero, t.linear, saved, t.cotangents});
}

std::vector<bool> used_inputs(const Graph& g) {
  std::vector<bool> used(g.avals.size(), false);
  for (const Equation& e : g.equations)
    for (ValueId v : e.inputs) used[v] = true;
  for (ValueId v : g.outputs) used[v] = true;
  std::vector<bool> r;
  for (ValueId v : g.inputs) r.push_back(used[v]);
  return r;
}

Arrays dense(const Tangents& cotangents, const std::vector<bool>& flags,
             const std::vector<Aval>& types) {
  Arrays r;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) r.push_back(cotangents[i] ? *cotangents[i] : lax::full(types[i], 0));
  return r;
}

StepBack::StepBack(const Graph& body, std::size_t carried, const std::vector<bool>& inputs) {
  active = carried_flags(
      inputs, carried, [&](const std::vector<bool>& flags) { return active_outputs(body, flags); });
  outputs = active_outputs(body, active);
  for (std::size_t i = 0; i < carried; ++i) outputs[i] = active[i];
  graph = simplify(pullback(body, active, outputs));
  used = used_inputs(graph);
}

}  // namespace gnomon::control
