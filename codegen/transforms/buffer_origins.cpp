// codegen/transforms/buffer_origins.cpp -- follows buffers through equations, loops and branches.
#include "codegen/transforms/buffer_origins.h"

#include <algorithm>

#include "codegen/operations/buffer.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/table.h"

namespace gnomon {
namespace {

/// `to` with what `from` has where it has nothing; whether that was anything.
bool merge(Origins& to, const Origins& from, std::size_t count) {
  bool changed = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (to[i] || !from[i]) continue;
    to[i] = from[i];
    changed = true;
  }
  return changed;
}

}  // namespace

bool hands_on(const Equation& e, std::size_t operand) {
  const Primitive* p = e.primitive;
  if (p == &concatenate_p) return true;
  if (p == &select_p) return operand > 0;
  if (operand > 0) return false;
  for (const Primitive* view :
       {&reshape_p, &permute_p, &broadcast_p, &slice_p, &reverse_p, &pad_p, &stop_gradient_p,
        &dynamic_slice_p, &gather_p, &dynamic_update_slice_p, &scatter_set_p, &scatter_add_p,
        &scatter_mul_p, &scatter_min_p, &scatter_max_p})
    if (p == view) return true;
  return false;
}

BufferOrigins::BufferOrigins(const Graph& graph) { collect(graph); }

void BufferOrigins::collect(const Graph& graph) {
  constexpr Dim most = 0x7ffffff0;  // element numbers are i32; they only help to tell arrays apart
  for (const Equation& e : graph.equations) {
    for (const GraphPtr& g : e.params.graphs()) collect(*g);
    if (e.primitive != &buffer_p) continue;
    const Dim used =
        buffers_.empty() ? 0 : buffers_.back().first + buffers_.back().aval.shape.size();
    const Aval& aval = graph.avals[e.outputs[0]];
    if (!numbers_.emplace(&e, buffers_.size()).second) continue;
    buffers_.push_back({aval, e.loc, used + aval.shape.size() < most ? used : 0});
  }
}

Origins BufferOrigins::of_outputs(const Graph& graph, const Origins& inputs) const {
  Origins values(graph.avals.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const Equation& e : graph.equations) {
    Origins operands;
    for (ValueId v : e.inputs) operands.push_back(values[v]);
    const Origins out = of_outputs(e, operands);
    for (std::size_t i = 0; i < out.size(); ++i) values[e.outputs[i]] = out[i];
  }
  Origins outputs;
  for (ValueId v : graph.outputs) outputs.push_back(values[v]);
  return outputs;
}

Origins BufferOrigins::of_outputs(const Equation& e, const Origins& operands) const {
  Origins r(e.outputs.size());
  if (e.primitive == &buffer_p) return {number(e)};
  if (e.primitive == &while_p || e.primitive == &scan_p) {
    const Origins inputs = of_body(e, operands);
    r = of_outputs(loop_operands(e).body, inputs);
    std::copy_n(inputs.begin(), loop_operands(e).carried, r.begin());
    return r;
  }
  if (e.primitive == &cond_p) {
    const Origins inputs(operands.begin() + 1, operands.end());
    for (const GraphPtr& branch : e.params.graphs())
      merge(r, of_outputs(*branch, inputs), r.size());
    return r;
  }
  for (std::size_t i = 0; i < operands.size() && !r.empty(); ++i)
    if (!r[0] && hands_on(e, i)) r[0] = operands[i];
  return r;
}

Origins BufferOrigins::of_body(const Equation& loop, Origins operands) const {
  while (merge(operands, of_outputs(loop_operands(loop).body, operands),
               loop_operands(loop).carried)) {
  }
  return operands;
}

}  // namespace gnomon
