// codegen/partition/carried.cpp -- see carried.h.
#include "codegen/partition/carried.h"

#include <algorithm>

#include "codegen/analysis/in_place.h"
#include "codegen/operations/control.h"

namespace gnomon {

std::map<ValueId, ValueId> takeovers(const Graph& g, const Uses& uses, std::size_t carried,
                                     const std::vector<Layout>& layouts,
                                     const std::vector<ValueId>& roots,
                                     const std::set<ValueId>& copied) {
  std::map<ValueId, ValueId> r;
  for (std::size_t i = 0; i < carried; ++i) {
    const ValueId v = g.outputs[i], start = g.inputs[i];
    if (copied.contains(v) || std::find(roots.begin(), roots.end(), v) == roots.end()) continue;
    const std::uint32_t producer = uses.producer[v];
    if (producer == Uses::none || !layouts[v].row_major() || !layouts[start].row_major()) continue;
    const Equation& e = g.equations[producer];
    if (e.primitive != &while_p && e.primitive != &scan_p) continue;
    const LoopOperands operands = loop_operands(e);
    const std::uint32_t o = uses.output[v];
    if (o < operands.carried && e.inputs[o] == start && written_in_slices(operands.body, o))
      r.emplace(v, start);
  }
  return r;
}

bool carries_much(const Graph& g, const Equation& loop, std::uint32_t lanes) {
  if (loop.primitive != &while_p && loop.primitive != &scan_p) return false;
  const Dim much = Dim{4096} * std::max(1u, lanes);
  const LoopOperands operands = loop_operands(loop);
  for (std::size_t i = 0; i < operands.carried; ++i)
    if (g.avals[loop.outputs[i]].shape.size() > much && !written_in_slices(operands.body, i))
      return true;
  return false;
}

}  // namespace gnomon
