// codegen/lower/companions.cpp -- groups roots that share loops, positions or a dispatch.
#include "codegen/lower/companions.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "codegen/cost/device_model.h"
#include "codegen/graph/primitive.h"
#include "codegen/lower/mapping.h"
#include "codegen/primitives/table.h"

namespace gnomon {

void Companions::set(const std::vector<ValueId>& roots) {
  for (ValueId v : roots) {
    if (group_of_.size() <= v) group_of_.resize(v + 1, alone);
    group_of_[v] = static_cast<std::uint32_t>(groups_.size());
  }
  groups_.push_back(roots);
}

// Asked for every pair of a root and a group, so it goes over each value and each group once, and
// marks them in vectors.
bool Companions::depends_on(const Cones& cones, const std::set<ValueId>& from,
                            const std::vector<ValueId>& targets) const {
  std::vector<bool> wanted, seen, expanded(groups_.size());
  const auto mark = [](std::vector<bool>& marks, ValueId v) {
    if (marks.size() <= v) marks.resize(v + 1);
    const bool before = marks[v];
    marks[v] = true;
    return !before;
  };
  for (ValueId v : targets) mark(wanted, v);
  std::vector<ValueId> open;
  const auto reach = [&](const std::set<ValueId>& values) {
    for (ValueId v : values)
      if (mark(seen, v)) open.push_back(v);
  };
  reach(from);
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    if (v < wanted.size() && wanted[v]) return true;
    const std::uint32_t group = v < group_of_.size() ? group_of_[v] : alone;
    if (group == alone || expanded[group]) continue;
    expanded[group] = true;
    for (ValueId mate : groups_[group]) reach(cones.at(mate).memory);
  }
  return false;
}

std::map<ValueId, std::vector<ValueId>> group_by_loops(const std::vector<ValueId>& roots,
                                                       const Cones& cones) {
  std::map<ValueId, ValueId> leader;
  for (ValueId v : roots) leader[v] = v;
  const std::function<ValueId(ValueId)> find = [&](ValueId v) {
    return leader[v] == v ? v : leader[v] = find(leader[v]);
  };
  std::map<std::uint32_t, ValueId> first_of_loop;
  for (ValueId v : roots)
    for (std::uint32_t l : cones.at(v).loops) {
      auto [it, fresh] = first_of_loop.try_emplace(l, v);
      if (!fresh) leader[find(v)] = find(it->second);
    }
  std::map<ValueId, std::vector<ValueId>> groups;
  for (ValueId v : roots) groups[find(v)].push_back(v);
  return groups;
}

/// Whether `v` is a large product, or follows from one, and its kernel has tiles.
bool in_tiles(const Placement& place, const Cones& cones, ValueId v) {
  const auto& equations = cones.at(v).equations;
  return std::any_of(equations.begin(), equations.end(), [&](std::uint32_t i) {
    const Equation& e = place.graph.equations[i];
    return e.primitive == &dot_general_p && large_product(place.graph, e);
  });
}

/// Whether `v` reads arrays as large as itself that are not of the group.
bool reads_more(const Placement& place, const Cones& cones, ValueId v,
                const std::vector<ValueId>& group) {
  const auto& memory = cones.at(v).memory;
  return std::any_of(memory.begin(), memory.end(), [&](ValueId m) {
    return place.graph.avals[m].shape.size() == place.graph.avals[v].shape.size() &&
           std::find(group.begin(), group.end(), m) == group.end();
  });
}

/// Whether elements of `v` need those of what it reads at their own place, or numbers.
bool elementwise(const Placement& place, const Cones& cones, ValueId v) {
  const auto& equations = cones.at(v).equations;
  return std::all_of(equations.begin(), equations.end(), [&](std::uint32_t i) {
    const Equation& e = place.graph.equations[i];
    const Lowering& lower = e.primitive->lower;
    if (lower.kind != Lowering::Kind::element || e.outputs.size() > 1) return false;
    if (e.primitive == &broadcast_p) return place.graph.avals[e.inputs[0]].shape.size() == 1;
    return (lower.reuse == Reuse::once && lower.cost != Cost::view) ||
           place.graph.avals[e.outputs[0]].shape.size() == 1;
  });
}

/// Whether `v` and one of the group read the same array, as large as they are, element by element:
/// one kernel loads it once. Moments of a gradient, say.
bool shares_operand(const Placement& place, const Cones& cones, ValueId v,
                    const std::vector<ValueId>& group) {
  constexpr std::size_t most_arrays = 12;  // streams that a CPU's caches still follow
  const Shape& shape = place.graph.avals[v].shape;
  const auto as_large = [&](ValueId m) { return place.graph.avals[m].shape == shape; };
  std::set<ValueId> arrays(group.begin(), group.end());
  arrays.insert(v);
  bool shared = false;
  for (ValueId r : group) {
    const std::set<ValueId>& read = cones.at(r).memory;
    for (ValueId m : cones.at(v).memory) shared |= as_large(m) && read.contains(m);
    std::copy_if(read.begin(), read.end(), std::inserter(arrays, arrays.end()), as_large);
  }
  if (!shared) return false;
  const std::set<ValueId>& read = cones.at(v).memory;
  std::copy_if(read.begin(), read.end(), std::inserter(arrays, arrays.end()), as_large);
  return arrays.size() <= most_arrays && elementwise(place, cones, v) &&
         std::all_of(group.begin(), group.end(),
                     [&](ValueId r) { return elementwise(place, cones, r); });
}

/// Rows that one kernel writes into histories, at most: a device binds so many buffers.
constexpr std::size_t most_updates = 8;

std::vector<std::vector<ValueId>> group_elements(const Placement& place, const Target& target,
                                                 const Updates& updates, const Cones& cones,
                                                 std::vector<ValueId> roots,
                                                 Companions& companions) {
  const Graph& g = place.graph;
  const Uses& uses = place.uses;
  std::vector<std::vector<ValueId>> groups;
  std::sort(roots.begin(), roots.end(),
            [&](ValueId a, ValueId b) { return uses.producer[a] < uses.producer[b]; });
  for (ValueId v : roots) {
    const Equation& e = g.equations[uses.producer[v]];
    bool joined = false;
    // Rows of histories, which nobody reads before the loop is over.
    const auto joins_updates = [&](const std::vector<ValueId>& group) {
      const Equation& first = g.equations[uses.producer[group[0]]];
      if (!updates.contains(group[0]) || group.size() >= most_updates ||
          g.avals[first.inputs[1]].shape != g.avals[e.inputs[1]].shape)
        return false;
      const auto only_written = [&](ValueId to) {
        const ValueId old = updates.operands().at(to);
        std::ptrdiff_t own = 0;  // reads of what it overwrites
        for (std::uint32_t i : cones.at(to).equations)
          own += std::count(g.equations[i].inputs.begin(), g.equations[i].inputs.end(), old);
        return own == uses.count[old] && uses.count[to] == 1 &&
               std::find(g.outputs.begin(), g.outputs.end(), to) != g.outputs.end();
      };
      return only_written(v) && std::all_of(group.begin(), group.end(), only_written);
    };
    if (updates.contains(v)) {
      for (std::vector<ValueId>& group : groups) {
        if (!joins_updates(group)) continue;
        std::set<ValueId> reads;
        for (ValueId r : group) reads.insert(cones.at(r).memory.begin(), cones.at(r).memory.end());
        if (companions.depends_on(cones, cones.at(v).memory, group) ||
            companions.depends_on(cones, reads, {v}))
          continue;
        group.push_back(v);
        companions.set(group);
        joined = true;
        break;
      }
    } else if (e.primitive->lower.kind == Lowering::Kind::element)
      for (std::vector<ValueId>& group : groups) {
        if (updates.contains(group[0])) continue;
        const Equation& first = g.equations[uses.producer[group[0]]];
        if (first.primitive->lower.kind != Lowering::Kind::element) continue;
        if (g.avals[group[0]].shape != g.avals[v].shape) continue;
        const bool uses_group = std::any_of(group.begin(), group.end(),
                                            [&](ValueId r) { return pointwise(place, v, r); });
        const bool same_equation = uses.producer[group[0]] == uses.producer[v];
        // Small kernels cost more to start than to run: neighbours that need nothing of each
        // other go together. A GPU runs them side by side as they are, and large products of
        // few elements would only wait for one another's operands, and keep them.
        const auto large = [&](ValueId r) {
          return !runs_on_cores(target) && in_tiles(place, cones, r);
        };
        const bool small =
            g.avals[v].shape.size() <= 4096 && group.size() < 8 && !large(v) && !large(group[0]);
        if (!uses_group && !same_equation && !small && !shares_operand(place, cones, v, group))
          continue;
        if (runs_on_cores(target) && !small && !same_equation && in_tiles(place, cones, group[0]) &&
            reads_more(place, cones, v, group))
          continue;
        // Everything else it reads must be computable before the group.
        std::set<ValueId> others;
        bool clean = true;
        for (ValueId m : cones.at(v).memory)
          if (std::find(group.begin(), group.end(), m) == group.end())
            others.insert(m);
          else
            clean = clean && pointwise(place, v, m);
        if (!clean || companions.depends_on(cones, others, group)) continue;
        std::set<ValueId> reads;
        for (ValueId r : group) reads.insert(cones.at(r).memory.begin(), cones.at(r).memory.end());
        if (companions.depends_on(cones, reads, {v})) continue;
        group.push_back(v);
        companions.set(group);
        joined = true;
        break;
      }
    if (!joined) groups.push_back({v});
  }
  return groups;
}

}  // namespace gnomon
