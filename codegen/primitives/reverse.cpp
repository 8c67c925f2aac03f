// codegen/primitives/reverse.cpp -- what the backward passes of loops and branches share.
#include "codegen/primitives/reverse.h"

#include <algorithm>
#include <cmath>

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

Arrays dense(const Tangents& cotangents, const std::vector<bool>& flags,
             const std::vector<Aval>& types) {
  Arrays r;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) r.push_back(cotangents[i] ? *cotangents[i] : lax::full(types[i], 0));
  return r;
}

Dim segment_of(Dim steps) {
  // Of a bound far beyond what any loop takes, a segment is a part of 128.
  constexpr Dim most_segments = 128;
  const auto root = static_cast<Dim>(std::ceil(std::sqrt(static_cast<double>(steps))));
  return std::max(root, (steps + most_segments - 1) / most_segments);
}

Arrays forward_by(const Graph& g, const Arrays& inputs, const std::vector<bool>& active) {
  const ForwardPass pass = run_forward(g, inputs, active);
  return joined(pass.outputs(), pass.flat());
}

Tangents backward_by(const Graph& g, const ReverseArgs& a) {
  return pull_back(ForwardPass::from_flat(g, a.active, a.saved), a.cotangents);
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
