// codegen/partition/aliasing.cpp -- one overwriting at a time, as long as an order of the kernels
// is left.
#include "codegen/partition/aliasing.h"

#include <algorithm>
#include <functional>

#include "codegen/base/lists.h"
#include "codegen/emit/pieces.h"
#include "codegen/graph/primitive.h"
#include "codegen/partition/loop_region.h"

namespace gnomon {

namespace {

class Sharer {
 public:
  Sharer(const Placement& p, std::vector<Cluster>& clusters, std::size_t carried,
         const std::map<ValueId, ValueId>& updates)
      : p_(p),
        clusters_(clusters),
        updates_(updates),
        after_(clusters.size()),
        writers_(p.graph.avals.size()),
        kept_(p.graph.avals.size(), false),
        taken_(p.graph.avals.size(), false),
        is_home_(p.graph.avals.size(), false) {
    const Graph& g = p.graph;
    for (ValueId v = 0; v < g.avals.size(); ++v) result_.storage.push_back(v);
    for (std::size_t i = carried; i < g.inputs.size(); ++i) kept_[g.inputs[i]] = true;
    for (ValueId v : g.outputs) kept_[v] = true;
    for (std::size_t i = 0; i < std::min(carried, g.outputs.size()); ++i)
      home_[g.outputs[i]] = g.inputs[i];
    for (std::size_t i = 0; i < carried; ++i) is_home_[g.inputs[i]] = true;
    for (std::size_t i = 0; i < clusters.size(); ++i)
      for (ValueId v : clusters[i].writes)
        if (writers_[v].empty() || writers_[v].back() != i) writers_[v].push_back(i);
    for (std::size_t i = 0; i < clusters.size(); ++i)
      for (ValueId v : clusters[i].reads)
        for (const std::size_t w : writers_[v]) {
          // What both reads and writes a value continues what earlier ones wrote.
          const bool continues = w > i && contains(clusters[i].writes, v);
          if (w != i && !continues) after_[w].push_back(i);
        }
  }

  Aliasing run() {
    for (const auto& [v, operand] : updates_) {
      const auto k = writer(v);
      if (!k) continue;
      if (!take_over(v, operand, *k)) {
        result_.failed = v;
        return std::move(result_);
      }
      share_buffer(clusters_[*k].draft, operand, v);
    }
    for (const auto& [v, carry] : home_)
      if (const auto k = writer(v);
          k && (elementwise(clusters_[*k], carry) || read_first(clusters_[*k].draft, carry, v)))
        if (result_.storage[v] == v && take_over(v, carry, *k))
          share_buffer(clusters_[*k].draft, carry, v);
    for (std::size_t k = 0; k < clusters_.size(); ++k)
      if (clusters_[k].loop) enter_loop(k, *clusters_[k].loop);
    return std::move(result_);
  }

 private:
  std::optional<std::size_t> writer(ValueId v) const {
    if (writers_[v].empty()) return std::nullopt;
    return writers_[v].back();
  }

  bool reaches(std::size_t from, std::size_t to) const {
    std::vector<bool> seen(clusters_.size(), false);
    std::vector<std::size_t> open{from};
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      if (i == to) return true;
      if (seen[i]) continue;
      seen[i] = true;
      open.insert(open.end(), after_[i].begin(), after_[i].end());
    }
    return false;
  }

  /// Kernel k may overwrite `old`, when all other readers can come first; then they will.
  bool last_reader(ValueId old, std::size_t k) {
    if (kept_[old] || taken_[old] || !p_.in_memory[old]) return false;
    std::vector<std::size_t> readers;
    for (std::size_t i = 0; i < clusters_.size(); ++i)
      if (i != k && (contains(clusters_[i].reads, old) || contains(clusters_[i].writes, old)))
        readers.push_back(i);
    if (std::any_of(readers.begin(), readers.end(), [&](std::size_t r) { return reaches(k, r); }))
      return false;
    for (std::size_t r : readers) {
      after_[r].push_back(k);
      result_.order.emplace_back(r, k);
    }
    taken_[old] = true;
    return true;
  }

  /// `fresh`, which kernel k writes, comes to lie where `old` lies.
  bool take_over(ValueId fresh, ValueId old, std::size_t k) {
    const ValueId place = result_.storage[old];
    if (result_.storage[fresh] != fresh) return false;
    // What leaves as a carried value may lie in that one's own place or in a place of nobody.
    for (const auto& [v, home] : home_)
      if (result_.storage[v] == fresh && is_home_[place] && home != place) return false;
    if (!last_reader(old, k)) return false;
    for (ValueId& s : result_.storage)
      if (s == fresh) s = place;
    return true;
  }

  bool elementwise(const Cluster& c, ValueId carry) const {
    if (c.loop || c.branch || !c.draft.disjoint) return false;
    if (c.draft.mapping != "map" && c.draft.mapping != "tile" && c.draft.mapping != "update")
      return false;
    const std::vector<ValueId> roots = roots_of(c);
    const auto all = pieces_of(p_, updates_, roots);
    return all && lanes_of(p_.graph, (*all)[0]) == p_.graph.avals[carry].shape &&
           std::all_of(all->begin(), all->end(), [&](const Pieces& p) {
             return p_.layouts[p.root].row_major() && at_own_place(p_, p, carry);
           });
  }

  /// What a kernel computes: what it leaves in memory, and what only it reads.
  std::vector<ValueId> roots_of(const Cluster& c) const {
    std::vector<ValueId> roots = c.writes;
    for (std::size_t i = 0; i < roots.size(); ++i)
      for (ValueId v : backward_slice_of(p_, roots[i]).memory)
        if (p_.uses.producer[v] != Uses::none && writers_[v].empty() && !contains(roots, v))
          roots.push_back(v);
    return roots;
  }

  /// Whether a kernel of one lane, which alone gives `fresh`, has read all of `old` when it begins
  /// to write.
  static bool read_first(const Draft& d, ValueId old, ValueId fresh) {
    if (d.kernel.lanes != 1 || d.parameters.size() != 1) return false;
    if (d.mapping == "scatter") return false;  // another kernel began to write it
    const auto buffer = [&](ValueId v) {
      const auto at = std::find_if(d.operands.begin(), d.operands.end(),
                                   [&](const auto& o) { return !o.scratch && o.value == v; });
      return static_cast<std::uint64_t>(at - d.operands.begin());
    };
    const std::uint64_t from = buffer(old), to = buffer(fresh);
    const std::function<bool(const kernel::Instruction&, kernel::Op, std::uint64_t)> accesses =
        [&](const kernel::Instruction& i, kernel::Op op, std::uint64_t which) {
          if (i.op == op && i.immediate == which) return true;
          return std::any_of(i.regions.begin(), i.regions.end(), [&](const kernel::Region& r) {
            return std::any_of(r.body.begin(), r.body.end(),
                               [&](const auto& inner) { return accesses(inner, op, which); });
          });
        };
    bool written = false;
    for (const kernel::Instruction& i : d.kernel.body.body) {
      const bool writes = accesses(i, kernel::Op::store, to);
      // In a loop or a branch that does both, the order is anybody's guess.
      if (accesses(i, kernel::Op::load, from) && (written || writes)) return false;
      written = written || writes;
    }
    return true;
  }

  /// A loop begins in the memory of a value that nobody needs afterwards.
  void enter_loop(std::size_t k, LoopRegion& loop) {
    const auto& carried = loop.body.carried;
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const auto [init, end] = carried[i];
      if (init == LoopBody::none || contains(loop.body.constants, init)) continue;
      if (std::count_if(carried.begin(), carried.end(),
                        [&, v = init](const auto& c) { return c.init == v; }) > 1)
        continue;
      loop.takes_init[i] = end != LoopBody::none && loop.ends_at_home(i) ? take_over(end, init, k)
                                                                         : last_reader(init, k);
      if (!loop.takes_init[i] && !kept_[init] && !taken_[init]) result_.late.push_back(init);
    }
  }

  const Placement& p_;
  std::vector<Cluster>& clusters_;
  const std::map<ValueId, ValueId>& updates_;  // in place, by output: what is updated
  std::vector<std::vector<std::size_t>> after_;
  std::vector<std::vector<std::size_t>> writers_;  // of a value, in order
  std::vector<bool> kept_;                         // inputs that are not carried, and outputs
  std::vector<bool> taken_;
  std::map<ValueId, ValueId> home_;  // per next carried value: the carried one
  std::vector<bool> is_home_;
  Aliasing result_;
};

}  // namespace

Aliasing share_memory(const Placement& p, std::vector<Cluster>& clusters, std::size_t carried,
                      const std::map<ValueId, ValueId>& updates) {
  return Sharer(p, clusters, carried, updates).run();
}

}  // namespace gnomon
