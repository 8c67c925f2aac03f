// codegen/emit/pieces.cpp -- finds the parts of what is stored, and drafts the kernel that stores
// them.
#include "codegen/emit/pieces.h"

#include <algorithm>

#include "codegen/base/lists.h"
#include "codegen/cost/work.h"
#include "codegen/emit/workshop.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;
using kernel::Values;

namespace {

/// Neighbours in memory that belong to one part of a joined array, at least: fewer would be stored
/// one by one.
constexpr Dim shortest_run = 16;

const Equation* producer(const Placement& p, ValueId v) {
  const std::uint32_t i = p.uses.producer[v];
  return i == Uses::none ? nullptr : &p.graph.equations[i];
}

/// Whether shapes differ in axes of length 1 only.
bool same_lanes(const Shape& a, const Shape& b) {
  const auto longer = [](const Shape& s) {
    std::vector<Dim> r;
    for (int i = 0; i < s.rank(); ++i)
      if (s[i] != 1) r.push_back(s[i]);
    return r;
  };
  return longer(a) == longer(b);
}

/// The operands of a concatenation, if lanes may have an element of each.
bool joins_equal_parts(const Placement& p, const Equation& e) {
  if (e.primitive != &concatenate_p || e.inputs.size() < 2) return false;
  const Shape& part = p.graph.avals[e.inputs[0]].shape;
  const int axis = e.params.as<AxisParams>().axis;
  return part.part(axis, part.rank()).size() >= shortest_run &&
         std::all_of(e.inputs.begin(), e.inputs.end(),
                     [&](ValueId v) { return p.graph.avals[v].shape == part; });
}

Pieces pieces_of(const Placement& p, const InPlace& updates, ValueId root,
                 const std::vector<ValueId>& roots, bool by_parts) {
  Pieces r;
  r.root = r.value = root;
  if (updates.contains(root)) {
    r.update = producer(p, root);
    r.value = r.update->inputs[1];
    for (const Equation* e = producer(p, r.value);
         e != nullptr && e->primitive == &reshape_p && !p.in_memory[r.value] &&
         same_lanes(p.graph.avals[r.value].shape, p.graph.avals[e->inputs[0]].shape);
         e = producer(p, r.value))
      r.value = e->inputs[0];
  }
  r.parts = {r.value};
  const Equation* e = producer(p, r.value);
  if (!by_parts || e == nullptr || !joins_equal_parts(p, *e)) return r;
  if (r.value != root && p.in_memory[r.value] && !contains(roots, r.value)) return r;
  if (!p.layouts[r.value].row_major()) return r;
  r.parts = e->inputs;
  r.axis = e->params.as<AxisParams>().axis;
  return r;
}

}  // namespace

bool has_pieces(const Placement& p, const InPlace& updates, ValueId root) {
  return updates.contains(root) || pieces_of(p, updates, root, {root}, true).in_parts();
}

const Shape& lanes_of(const Graph& g, const Pieces& p) { return g.avals[p.parts[0]].shape; }

std::optional<std::vector<Pieces>> pieces_of(const Placement& p, const InPlace& updates,
                                             const std::vector<ValueId>& roots) {
  for (const bool by_parts : {true, false}) {
    std::vector<Pieces> all;
    for (ValueId v : roots) all.push_back(pieces_of(p, updates, v, roots, by_parts));
    if (std::all_of(all.begin(), all.end(), [&](const Pieces& other) {
          return same_lanes(lanes_of(p.graph, all[0]), lanes_of(p.graph, other));
        }))
      return all;
  }
  return std::nullopt;
}

bool streams(const Placement& p, ValueId root) {
  const auto equations = backward_slice_of(p, root).equations;
  return std::all_of(equations.begin(), equations.end(), [&](std::uint32_t i) {
    const Equation& e = p.graph.equations[i];
    const Lowering& lower = e.primitive->lower;
    if (lower.kind != Lowering::Kind::element || e.outputs.size() > 1) return false;
    if (p.graph.avals[e.outputs[0]].shape.size() == 1 || e.primitive == &broadcast_p ||
        e.primitive == &dynamic_slice_p || e.primitive == &dynamic_update_slice_p)
      return !reduces(e);
    return lower.reuse == Reuse::once && !reduces(e) && e.primitive != &permute_p &&
           e.primitive != &reverse_p;
  });
}

bool stored_in_pieces(const Placement& p, const std::vector<Pieces>& all) {
  if (std::any_of(all.begin(), all.end(), [](const Pieces& x) { return x.update != nullptr; }))
    return true;
  return std::any_of(all.begin(), all.end(), [](const Pieces& x) { return x.in_parts(); }) &&
         std::all_of(all.begin(), all.end(), [&](const Pieces& x) { return streams(p, x.root); });
}

bool at_own_place(const Placement& p, const Pieces& pieces, ValueId target) {
  if (pieces.value == target || contains(pieces.parts, target)) return true;
  const auto reads = [&](ValueId v) {
    return p.in_memory[v] ? v == target : reads_from_memory(p, v, target);
  };
  if (pieces.update != nullptr &&
      std::any_of(pieces.update->inputs.begin() + 2, pieces.update->inputs.end(), reads))
    return false;
  // A part in memory that is no root of the kernel is only read.
  const bool root = !pieces.in_parts() && pieces.update == nullptr;
  return std::all_of(pieces.parts.begin(), pieces.parts.end(), [&](ValueId v) {
    if (!root && p.in_memory[v]) return true;
    return pointwise(p, v, target) || !reads_from_memory(p, v, target);
  });
}

namespace {

/// Where an element of the row `e` writes comes to lie. `at`: its place in the row.
Index place_of(Workshop& w, Frame& f, const Equation& e, const Index& at) {
  auto& k = w.k;
  const Graph& g = w.request.graph;
  const Shape &row = g.avals[e.inputs[1]].shape, &shape = g.avals[e.outputs[0]].shape;
  const int batch = e.params.as<DynamicUpdateSliceParams>().batch_dims;
  Values position;
  for (int a = 0; a < shape.rank(); ++a) {
    Value c = at(k, a);
    if (a >= batch && row[a] != shape[a]) {
      Values before;
      for (int i = 0; i < batch; ++i) before.push_back(at(k, i));
      const ValueId start = e.inputs[2 + static_cast<std::size_t>(a - batch)];
      const Value asked =
          f.element(start, Index::coordinates(g.avals[start].shape, std::move(before)));
      const Value low = k.binary(Op::maximum, asked, k.i32(0));
      const Value last = k.i32(static_cast<std::int32_t>(shape[a] - row[a]));
      c = k.add(c, k.convert(k.binary(Op::minimum, low, last), DType::u32));
    }
    position.push_back(c);
  }
  return Index::coordinates(shape, std::move(position));
}

}  // namespace

Draft draft_pieces(const DraftRequest& r, const std::vector<Pieces>& all) {
  const Graph& g = r.graph;
  DraftRequest request = r;
  request.mapping = Mapping::map;
  request.lanes = lanes_of(g, all[0]).size();
  Workshop w(request);
  Frame f(w.emitter, g);
  w.bind_inputs(f);
  auto& k = w.k;
  struct Stored {
    ValueId root;
    Index at;
    Value value;
  };
  // All elements first, stores after, as in kernels of several roots.
  std::vector<Stored> stored;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Pieces& p = all[i];
    if (!r.stored[i]) continue;
    Dim offset = 0;
    for (ValueId part : p.parts) {
      const Shape& shape = g.avals[part].shape;
      Index at = part == p.root ? w.position(part) : Index::flat(shape, w.emitter.lane);
      const Value value = f.element(part, at);
      if (p.in_parts()) {
        Values c;
        for (int a = 0; a < shape.rank(); ++a)
          c.push_back(a == p.axis ? k.add(at(k, a), k.u32(word(offset))) : at(k, a));
        at = Index::coordinates(g.avals[p.value].shape, std::move(c));
        offset += shape[p.axis];
      }
      if (p.update != nullptr)
        at = place_of(w, f, *p.update, at.reshaped(k, g.avals[p.update->inputs[1]].shape));
      stored.push_back({p.root, std::move(at), value});
    }
  }
  for (const Stored& s : stored)
    w.emitter.store(w.memory(s.root, kernel::Access::write), g.avals[s.root].shape, s.at, s.value);
  const bool updates =
      std::any_of(all.begin(), all.end(), [](const Pieces& p) { return p.update != nullptr; });
  return w.finish(updates ? "update" : "map");
}

}  // namespace gnomon
