// codegen/analysis/updates.cpp -- chains of slices written, and who may read what in between.
#include "codegen/analysis/updates.h"

#include <algorithm>

#include "codegen/analysis/in_place.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"

namespace gnomon {

Updates::Updates(const Graph& g, const Uses& uses, std::size_t carried) {
  for (std::size_t i = 0; i < carried; ++i) {
    std::map<ValueId, ValueId> chain;
    std::vector<ValueId> carried_on;  // what loops in between have left
    ValueId v = g.outputs[i];
    while (uses.producer[v] != Uses::none) {
      const Equation& e = g.equations[uses.producer[v]];
      if (carries(e) && uses.output[v] < loop_operands(e).carried) {
        carried_on.push_back(v);
        v = e.inputs[uses.output[v]];
        continue;
      }
      if (e.primitive != &dynamic_update_slice_p) break;
      const Dim update = g.avals[e.inputs[1]].shape.size();
      if (update == 0 || update == g.avals[v].shape.size()) break;
      chain[v] = e.inputs[0];
      v = e.inputs[0];
    }
    if (v != g.inputs[i]) continue;
    chain_of_[v] = i;
    for (const auto& [to, from] : chain) chain_of_[to] = i;
    for (const ValueId left : carried_on) chain_of_[left] = i;
    operands_.insert(chain.begin(), chain.end());
  }
}

std::vector<ValueId> Updates::outputs() const {
  std::vector<ValueId> r;
  for (const auto& [to, from] : operands_) r.push_back(to);
  return r;
}

bool Updates::reads_chain(const Placement& p, ValueId v, std::size_t chain) const {
  const auto member = [&](ValueId m) {
    const auto c = chain_of_.find(m);
    return c != chain_of_.end() && c->second == chain;
  };
  if (p.in_memory[v]) return member(v);
  const IndexSet memory = backward_slice_of(p, v).memory;
  return std::any_of(memory.begin(), memory.end(), member);
}

/// Whether `v`, of the shape of the update, takes from the array that is updated only what its own
/// lane overwrites.
bool Updates::aligned(const Placement& p, ValueId v, const Equation& update,
                      std::size_t chain) const {
  if (!reads_chain(p, v, chain)) return true;
  const Graph& g = p.graph;
  if (p.in_memory[v] || g.avals[v].shape != g.avals[update.inputs[1]].shape) return false;
  const Equation& e = g.equations[p.uses.producer[v]];
  if (e.primitive == &dynamic_slice_p && e.inputs[0] == update.inputs[0])
    return e.params.as<DynamicSliceParams>().batch_dims ==
               update.params.as<DynamicUpdateSliceParams>().batch_dims &&
           std::equal(e.inputs.begin() + 1, e.inputs.end(), update.inputs.begin() + 2,
                      update.inputs.end());
  const Lowering& lower = e.primitive->lower;
  return lower.kind == Lowering::Kind::element && lower.reuse == Reuse::once &&
         lower.cost != Cost::view && std::all_of(e.inputs.begin(), e.inputs.end(), [&](ValueId in) {
           return aligned(p, in, update, chain);
         });
}

bool Updates::store_operands(const Placement& p, std::vector<bool>& in_memory,
                             const Equation& update) const {
  const std::size_t chain = chain_of_.at(update.outputs[0]);
  bool changed = false;
  for (std::size_t i = 1; i < update.inputs.size(); ++i) {
    const ValueId in = update.inputs[i];
    if (p.in_memory[in] || !reads_chain(p, in, chain)) continue;
    if (i == 1 && aligned(p, in, update, chain)) continue;
    changed = in_memory[in] = true;
  }
  return changed;
}

void Updates::read_earlier(const Placement& p, std::vector<bool>& in_memory, ValueId output) {
  if (!store_views(p, in_memory, operands_.at(output))) operands_.erase(output);
}

bool store_views(const Placement& p, std::vector<bool>& in_memory, ValueId old) {
  bool changed = false;
  for (const Equation& e : p.graph.equations) {
    if (std::count(e.inputs.begin(), e.inputs.end(), old) == 0) continue;
    for (ValueId v : e.outputs)
      if (p.uses.live[v] && !in_memory[v] &&
          p.graph.avals[v].shape.size() < p.graph.avals[old].shape.size())
        changed = in_memory[v] = true;
  }
  return changed;
}

}  // namespace gnomon
