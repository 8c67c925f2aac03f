// codegen/analysis/backward_slice.cpp -- walks from a value back to memory.
#include "codegen/analysis/backward_slice.h"

#include <utility>

#include "codegen/graph/primitive.h"

namespace gnomon {

namespace {

/// Calls `equation` for what computes `root`, once for each of its values that is needed, and
/// `memory` for what that reads, until it says false.
template <class EquationVisitor, class MemoryVisitor>
void walk_back(const Placement& p, ValueId root, EquationVisitor equation, MemoryVisitor memory) {
  std::vector<ValueId> open{root};
  std::vector<bool> seen(p.graph.avals.size(), false);
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    if (seen[v]) continue;
    seen[v] = true;
    if (p.in_memory[v] && v != root) {
      if (!memory(v)) return;
      continue;
    }
    const std::uint32_t e = p.uses.producer[v];
    if (e == Uses::none) continue;
    equation(e);
    for (ValueId in : p.graph.equations[e].inputs) open.push_back(in);
  }
}

}  // namespace

BackwardSlice backward_slice_of(const Placement& p, ValueId root) {
  std::vector<std::uint32_t> equations, memory, loops;
  walk_back(
      p, root,
      [&](std::uint32_t e) {
        equations.push_back(e);
        if (is_loop(p.graph.equations[e])) loops.push_back(e);
      },
      [&](ValueId v) {
        memory.push_back(v);
        return true;
      });
  return {IndexSet(std::move(equations)), IndexSet(std::move(memory)), IndexSet(std::move(loops))};
}

bool reads_from_memory(const Placement& p, ValueId root, ValueId target) {
  if (!p.in_memory[target]) return false;
  bool found = false;
  walk_back(
      p, root, [](std::uint32_t) {}, [&](ValueId v) { return !(found = v == target); });
  return found;
}

bool pointwise(const Placement& p, ValueId root, ValueId target) {
  std::vector<ValueId> open{root};
  std::vector<bool> seen(p.graph.avals.size(), false);
  bool found = false;
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    if (seen[v]) continue;
    seen[v] = true;
    if (v == target) {
      found = true;
      continue;
    }
    if (p.in_memory[v] && v != root) continue;
    const std::uint32_t i = p.uses.producer[v];
    if (i == Uses::none) continue;
    const Equation& e = p.graph.equations[i];
    const Lowering& lower = e.primitive->lower;
    const bool elementwise = lower.kind == Lowering::Kind::element && lower.reuse == Reuse::once &&
                             lower.cost != Cost::view &&
                             p.graph.avals[e.outputs[0]].shape == p.graph.avals[target].shape;
    if (elementwise) {
      open.insert(open.end(), e.inputs.begin(), e.inputs.end());
    } else if (reads_from_memory(p, v, target)) {
      return false;
    }
  }
  return found;
}

}  // namespace gnomon
