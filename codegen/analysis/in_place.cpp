// codegen/analysis/in_place.cpp -- see in_place.h.
#include "codegen/analysis/in_place.h"

#include <algorithm>

#include "codegen/graph/host.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

bool carries(const Equation& e) {
  const Lowering::Kind kind = e.primitive->lower.kind;
  return kind == Lowering::Kind::while_loop || kind == Lowering::Kind::scan;
}

SliceChain slices_below(const Graph& g, const Uses& uses, ValueId v) {
  SliceChain chain{v, {}};
  while (uses.producer[chain.bottom] != Uses::none) {
    const Equation& e = g.equations[uses.producer[chain.bottom]];
    if (e.primitive != &dynamic_update_slice_p) break;
    chain.updates.push_back(&e);
    chain.bottom = e.inputs[0];
  }
  std::reverse(chain.updates.begin(), chain.updates.end());
  return chain;
}

bool written_in_slices(const Graph& body, std::size_t carried) {
  const auto producer = [&](ValueId v) -> const Equation* {
    for (const Equation& e : body.equations)
      if (std::find(e.outputs.begin(), e.outputs.end(), v) != e.outputs.end()) return &e;
    return nullptr;
  };
  ValueId v = body.outputs[carried];
  const Dim whole = body.avals[v].shape.size();
  while (v != body.inputs[carried]) {
    const Equation* e = producer(v);
    if (e == nullptr) return false;
    if (e->primitive == &dynamic_update_slice_p) {
      if (body.avals[e->inputs[1]].shape.size() == whole) return false;
      v = e->inputs[0];
      continue;
    }
    if (e->primitive != &while_p && e->primitive != &scan_p) return false;
    const auto o = static_cast<std::size_t>(std::find(e->outputs.begin(), e->outputs.end(), v) -
                                            e->outputs.begin());
    const LoopOperands operands = loop_operands(*e);
    if (o >= operands.carried || !written_in_slices(operands.body, o)) return false;
    v = e->inputs[o];
  }
  return true;
}

bool is_everywhere(const Graph& g, const Uses& uses, ValueId v, std::int32_t number) {
  const auto producer = [&](ValueId x) -> const Equation* {
    return uses.producer[x] == Uses::none ? nullptr : &g.equations[uses.producer[x]];
  };
  const Equation* e = producer(v);
  if (e != nullptr && e->primitive == &broadcast_p) e = producer(e->inputs[0]);
  if (e == nullptr || e->primitive != &constant_p) return false;
  const HostArray& a = e->params.as<ConstantParams>().value.array();
  return a.aval.dtype == DType::i32 && a.size() == 1 && host::get<std::int32_t>(a, 0) == number;
}

bool writes_row_of_step(const Graph& body, const Uses& uses, std::size_t carried, Dim steps,
                        const std::function<bool(std::size_t carried)>& starts_at_zero) {
  const SliceChain chain = slices_below(body, uses, body.outputs[carried]);
  if (chain.updates.size() != 1 || chain.bottom != body.inputs[carried]) return false;
  const Equation& update = *chain.updates[0];
  const auto first =
      static_cast<std::size_t>(update.params.as<DynamicUpdateSliceParams>().batch_dims);
  const Shape &all = body.avals[update.inputs[0]].shape, &part = body.avals[update.inputs[1]].shape;
  for (std::size_t a = first; a < static_cast<std::size_t>(all.rank()); ++a) {
    const ValueId at = update.inputs[2 + a - first];
    const int axis = static_cast<int>(a);
    if (part[axis] != 1 || all[axis] < steps) continue;
    for (std::size_t c = 0; c < body.outputs.size(); ++c) {
      if (body.inputs[c] != at) continue;
      const std::uint32_t next = uses.producer[body.outputs[c]];
      if (next == Uses::none || body.equations[next].primitive != &add_p) continue;
      const Equation& count = body.equations[next];
      if (count.inputs[0] == at && is_everywhere(body, uses, count.inputs[1], 1) &&
          starts_at_zero(c))
        return true;
    }
  }
  return false;
}

bool read_in_slices(const Graph& g, ValueId update) {
  const Dim whole = g.avals[update].shape.size();
  for (const Equation& e : g.equations) {
    if (std::find(e.inputs.begin(), e.inputs.end(), update) == e.inputs.end()) continue;
    if (e.primitive == &while_p || e.primitive == &scan_p) {
      const std::size_t carried = loop_operands(e).carried;
      for (std::size_t i = carried; i < e.inputs.size(); ++i)
        if (e.inputs[i] == update) return false;
    } else if (e.primitive == &dynamic_update_slice_p) {
      if (e.inputs[1] == update) return false;
    } else if (e.primitive == &cond_p) {
      for (const GraphPtr& branch : e.params.graphs())
        for (std::size_t i = 1; i < e.inputs.size(); ++i) {
          const ValueId v = branch->inputs[i - 1];
          if (e.inputs[i] != update) continue;
          if (std::find(branch->outputs.begin(), branch->outputs.end(), v) !=
                  branch->outputs.end() ||
              !read_in_slices(*branch, v))
            return false;
        }
    } else if ((e.primitive != &dynamic_slice_p && e.primitive != &slice_p) ||
               2 * g.avals[e.outputs[0]].shape.size() > whole) {
      return false;
    }
  }
  return true;
}

std::optional<TakeOver> take_over(const Graph& g, const Uses& uses, std::uint32_t loop,
                                  std::size_t carried, const std::set<std::uint32_t>* among,
                                  const std::set<std::uint32_t>& open) {
  const Equation& e = g.equations[loop];
  const ValueId start = e.inputs[carried];
  TakeOver r{slices_below(g, uses, start), {}};
  std::set<ValueId> members{start, r.chain.bottom};
  for (const Equation* update : r.chain.updates) members.insert(update->outputs[0]);
  // Every update reads one of them and the loop the last: mostly nobody reads them besides.
  std::size_t reads = 0;
  for (ValueId v : members) reads += uses.count[v];
  if (reads == r.chain.updates.size() + 1) return r;
  // Nor may the loop read it otherwise: as it was before slices were written, for one.
  if (std::count_if(e.inputs.begin(), e.inputs.end(),
                    [&](ValueId v) { return members.contains(v); }) > 1)
    return std::nullopt;
  for (ValueId v : g.outputs)
    if (members.contains(v)) return std::nullopt;
  // What the loop gives, and what follows from it.
  std::vector<bool> later(g.avals.size(), false);
  for (ValueId v : e.outputs) later[v] = true;
  for (std::uint32_t other : open)
    for (ValueId v : g.equations[other].outputs) later[v] = true;
  for (std::uint32_t i = 0; i < g.equations.size(); ++i) {
    const Equation& reader = g.equations[i];
    const bool follows = std::any_of(reader.inputs.begin(), reader.inputs.end(),
                                     [&](ValueId v) { return later[v]; });
    for (ValueId v : reader.outputs) later[v] = later[v] || follows;
    if (i == loop || (among != nullptr && !among->contains(i)) ||
        std::none_of(reader.outputs.begin(), reader.outputs.end(),
                     [&](ValueId v) { return uses.live[v]; }))
      continue;
    const bool updates =
        std::find(r.chain.updates.begin(), r.chain.updates.end(), &reader) != r.chain.updates.end();
    if (std::none_of(reader.inputs.begin() + (updates ? 1 : 0), reader.inputs.end(),
                     [&](ValueId v) { return members.contains(v); }))
      continue;
    if (follows) return std::nullopt;
    if (updates) continue;  // evaluated before anything is written
    for (ValueId v : reader.outputs) {
      if (!uses.live[v]) continue;
      if (2 * g.avals[v].shape.size() > g.avals[start].shape.size()) return std::nullopt;
      r.earlier.push_back(v);
    }
  }
  return r;
}

}  // namespace gnomon
