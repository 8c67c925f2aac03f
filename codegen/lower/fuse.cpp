// codegen/lower/fuse.cpp -- greedy partition of a graph into kernels.
#include "codegen/lower/fuse.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "codegen/graph/primitive.h"
#include "codegen/lower/cone.h"
#include "codegen/lower/loop_region.h"
#include "codegen/lower/sharing.h"
#include "codegen/lower/updates.h"
#include "codegen/primitives/control.h"
#include "codegen/primitives/gather_scatter.h"
#include "codegen/primitives/op_params.h"
#include "codegen/primitives/table.h"
#include "codegen/primitives/window.h"

namespace gnomon {

namespace {

constexpr double unbounded_cost = 1e9;

/// How often consumers in other positions ask for an element: not, by broadcasting, or by a
/// product, gather or loop.
enum class Demand : std::uint8_t { once, broadcast, repeated };

/// The largest number of lanes among the per-lane loops in a graph, nested ones included.
Dim laned_loop(const Graph& g);
Dim laned_loop(const Equation& e) {
  Dim n = 0;
  if (e.primitive == &while_p) n = e.params.as<WhileParams>().lanes;
  for (const GraphPtr& sub : e.params.graphs()) n = std::max(n, laned_loop(*sub));
  return n;
}
Dim laned_loop(const Graph& g) {
  Dim n = 0;
  for (const Equation& e : g.equations) n = std::max(n, laned_loop(e));
  return n;
}

class Partitioner {
 public:
  Partitioner(const Graph& g, const Target& target, const CompileOptions& options, LoopNest nest)
      : g_(g),
        target_(target),
        options_(options),
        nest_(std::move(nest)),
        uses_(analyse_uses(g)),
        in_memory_(g.avals.size(), false),
        cost_(g.avals.size(), 0),
        demand_(g.avals.size(), Demand::once),
        layouts_(g.avals.size()) {}

  Partition run() {
    for (ValueId v : g_.inputs) in_memory_[v] = true;
    find_demand();
    choose_memory();
    choose_layouts();
    updates_ = Updates(g_, uses_, nest_.carried);
    for (ValueId v : updates_.outputs()) {
      in_memory_[v] = true;
      layouts_[v].clear();
    }
    if (options_.loops == LoopMapping::device)
      for (std::uint32_t i = 0; i < g_.equations.size(); ++i) run_on_device(i, "asked for");
    // Each round either succeeds, moves at least one more value to memory, or takes one loop apart.
    while (!build()) {
    }
    return order();
  }

 private:
  void find_demand() {
    for (std::size_t i = g_.equations.size(); i-- > 0;) {
      const Equation& e = g_.equations[i];
      const Lowering& lower = e.primitive->lower;
      Demand out = Demand::once;
      for (ValueId v : e.outputs) out = std::max(out, demand_[v]);
      for (std::size_t j = 0; j < e.inputs.size(); ++j) {
        Demand d = Demand::once;
        switch (lower.kind) {
          case Lowering::Kind::element:
            if (lower.reuse == Reuse::many)
              d = e.primitive->name == "broadcast" ? Demand::broadcast : Demand::repeated;
            if (lower.cost == Cost::view) d = std::max(d, out);
            break;
          case Lowering::Kind::cond:
            d = j == 0 ? Demand::broadcast : Demand::once;
            break;
          case Lowering::Kind::scatter:
            d = j == 1 ? Demand::repeated : Demand::once;
            break;
          case Lowering::Kind::while_loop:
            d = static_cast<int>(j) < e.params.as<WhileParams>().carried ? Demand::once
                                                                         : Demand::repeated;
            break;
          case Lowering::Kind::scan: {
            const auto& p = e.params.as<ScanParams>();
            d = static_cast<int>(j) < p.carried + p.sequences ? Demand::once : Demand::repeated;
            break;
          }
          case Lowering::Kind::expand:
            break;
        }
        demand_[e.inputs[j]] = std::max(demand_[e.inputs[j]], d);
      }
    }
  }

  /// Instructions per element, operands included up to memory.
  double cost_of(const Equation& e) const {
    double inputs = 0;
    for (ValueId v : e.inputs) inputs += in_memory_[v] ? 0 : cost_[v];
    switch (e.primitive->lower.kind) {
      case Lowering::Kind::element:
        break;
      case Lowering::Kind::cond:
        return is_loop(e) ? unbounded_cost : inputs + 16;
      case Lowering::Kind::scatter:
      case Lowering::Kind::while_loop:
      case Lowering::Kind::scan:
      case Lowering::Kind::expand:
        return unbounded_cost;
    }
    double own = 1;
    if (e.primitive->lower.cost == Cost::view) own = 0;
    if (e.primitive->lower.cost == Cost::heavy) own = 12;
    // A reduction or product reads more elements than it gives.
    double trips = 1;
    const double out = static_cast<double>(std::max<Dim>(1, g_.avals[e.outputs[0]].shape.size()));
    for (ValueId v : e.inputs)
      trips = std::max(trips, static_cast<double>(g_.avals[v].shape.size()) / out);
    if (e.primitive->lower.cost == Cost::view) trips = 1;
    if (e.primitive->name == "dot_general" && !e.inputs.empty()) {
      const double a = static_cast<double>(g_.avals[e.inputs[0]].shape.size());
      const double b = static_cast<double>(g_.avals[e.inputs[1]].shape.size());
      trips = std::max(1.0, std::sqrt(a * b / out));
    }
    return std::min(unbounded_cost, trips * (own + inputs));
  }

  bool expensive_for(ValueId v, Demand demand) const {
    const bool scalar = g_.avals[v].shape.size() <= 1;
    switch (demand) {
      case Demand::once:
        return false;
      case Demand::broadcast:
        return cost_[v] > (scalar ? 80 : 4);
      case Demand::repeated:
        return cost_[v] > (scalar ? 40 : 0);
    }
    return false;
  }

  /// Puts what `v` shows, itself or through views, in memory when it costs a lot.
  void keep_if_costly(ValueId v) {
    const std::uint32_t p = uses_.producer[v];
    if (p == Uses::none || in_memory_[v] || cost_[v] < 64) return;
    const Equation& e = g_.equations[p];
    if (e.primitive->lower.kind != Lowering::Kind::element ||
        e.primitive->lower.cost != Cost::view) {
      in_memory_[v] = true;
    } else {
      for (ValueId in : e.inputs) keep_if_costly(in);
    }
  }

  /// Whether the lanes of a reduction fill a CPU, or there is next to nothing for them to do: what
  /// they reduce is then best computed where it is needed. (Neighbouring lanes of a GPU would read
  /// distant elements.)
  bool lanes_suffice(const Equation& e) const {
    if (!target_.contiguous_per_lane) return false;
    // Products have tiles of their own, and what is not computed element by element has no choice.
    for (ValueId v : e.inputs)
      if (!in_memory_[v])
        for (std::uint32_t i : cone_of(v).equations)
          if (g_.equations[i].primitive == &dot_general_p ||
              g_.equations[i].primitive->lower.kind != Lowering::Kind::element)
            return false;
    if (g_.avals[e.outputs[0]].shape.size() >= target_.parallel_lanes) return true;
    double work = 0;
    for (ValueId v : e.inputs)
      work += in_memory_[v] ? 0 : cost_[v] * static_cast<double>(g_.avals[v].shape.size());
    return work <= 1 << 15;
  }

  void choose_memory() {
    const auto defined = [&](ValueId v) { return uses_.producer[v] != Uses::none; };
    for (ValueId v : g_.outputs) in_memory_[v] = true;
    for (const Equation& e : g_.equations) {
      // A reduction has fewer lanes than its operand: what costs a lot there is computed by the
      // operand's lanes.
      if (e.primitive->lower.kind == Lowering::Kind::element &&
          e.primitive->lower.cost != Cost::view)
        for (ValueId v : e.inputs)
          if (g_.avals[v].shape.size() >= 4 * g_.avals[e.outputs[0]].shape.size() &&
              !lanes_suffice(e))
            keep_if_costly(v);
      // Operands that were turned around for the sake of a product (lower/split.h).
      if (e.primitive == &dot_general_p && large_product(g_, e))
        for (ValueId v : e.inputs)
          if (defined(v) && g_.equations[uses_.producer[v]].primitive == &permute_p)
            in_memory_[v] = true;
      // Many windows show an element of an image: the border is put around it once.
      if (e.primitive == &conv_p && defined(e.inputs[0]) &&
          g_.equations[uses_.producer[e.inputs[0]]].primitive == &pad_p)
        in_memory_[e.inputs[0]] = true;
      const double cost = cost_of(e);
      const auto kind = e.primitive->lower.kind;
      for (std::size_t o = 0; o < e.outputs.size(); ++o) {
        const ValueId v = e.outputs[o];
        cost_[v] = cost;
        if (!uses_.live[v]) continue;
        const bool stacked = kind == Lowering::Kind::scan &&
                             static_cast<int>(o) >= e.params.as<ScanParams>().carried;
        if (kind == Lowering::Kind::scatter || stacked || !options_.fuse ||
            expensive_for(v, demand_[v]))
          in_memory_[v] = true;
      }
    }
    // A value that several roots need is computed once, unless it costs next to nothing.
    constexpr ValueId nobody = ~0u;
    constexpr ValueId several = ~0u - 1;
    std::vector<ValueId> owner(g_.avals.size(), nobody);
    for (std::size_t i = g_.equations.size(); i-- > 0;) {
      const Equation& e = g_.equations[i];
      const bool loop = is_loop(e);
      for (ValueId v : e.outputs) {
        if (owner[v] == several && !loop && cost_[v] > 4) in_memory_[v] = true;
        if (in_memory_[v]) owner[v] = v;
      }
      for (ValueId v : e.outputs) {
        // Outputs of a loop come together: one owner for all that feeds it.
        const ValueId o = loop ? e.outputs[0] : owner[v];
        if (o == nobody) continue;
        for (ValueId in : e.inputs)
          if (defined(in)) owner[in] = owner[in] == nobody || owner[in] == o ? o : several;
      }
    }
  }

  /// Intermediates that lanes read or write get the lane axis innermost. Inputs and outputs are
  /// row-major.
  void choose_layouts() {
    std::vector<bool> fixed(g_.avals.size(), false);
    for (ValueId v : g_.inputs) fixed[v] = true;
    for (ValueId v : g_.outputs) fixed[v] = true;
    const auto outermost =
        [&](ValueId v, int axis) {  // the axis that lanes walk, in front of those they share
          const int rank = g_.avals[v].shape.rank();
          if (fixed[v] || rank < 2 || axis == 0) return;
          layouts_[v] = {axis};
          for (int a = 0; a < rank; ++a)
            if (a != axis) layouts_[v].push_back(a);
        };
    for (const Equation& e : g_.equations) {
      if (e.primitive->lower.kind == Lowering::Kind::scatter)
        outermost(e.outputs[0], e.params.as<ScatterParams>().axis);
      if (e.primitive == &gather_p) outermost(e.inputs[0], e.params.as<GatherParams>().axis);
      if (e.primitive == &while_p && e.params.as<WhileParams>().lanes > 0)
        for (ValueId v : e.outputs) {
          const int rank = g_.avals[v].shape.rank();
          if (fixed[v] || rank < 2) continue;
          layouts_[v].clear();
          for (int a = 1; a < rank; ++a) layouts_[v].push_back(a);
          layouts_[v].push_back(0);
        }
    }
  }

  Placement placement() const { return {g_, uses_, in_memory_, layouts_}; }
  Cone cone_of(ValueId root) const { return gnomon::cone_of(placement(), root); }

  /// Non-memory outputs of the loops in a cone go to memory. False when there were none.
  bool cut(const Cone& c) {
    bool changed = false;
    for (std::uint32_t l : c.loops)
      for (ValueId v : g_.equations[l].outputs)
        if (!in_memory_[v] && uses_.count[v] > 0) changed = in_memory_[v] = true;
    return changed;
  }

  bool direct_output(ValueId root) const {
    const std::uint32_t p = uses_.producer[root];
    return p != Uses::none && is_loop(g_.equations[p]);
  }

  bool build() {
    clusters_.clear();
    std::vector<ValueId> roots;
    for (std::uint32_t i = 0; i < g_.equations.size(); ++i)
      for (ValueId v : g_.equations[i].outputs)
        if (in_memory_[v] && uses_.live[v] && !device_.contains(i)) roots.push_back(v);
    std::map<ValueId, Cone> cones;
    for (ValueId v : roots) {
      cones[v] = cone_of(v);
      if (updates_.contains(v) && !cones[v].loops.empty() && cut(cones[v])) return false;
    }

    // Roots that share a loop share a kernel: a loop is never run twice.
    std::map<ValueId, ValueId> leader;
    for (ValueId v : roots) leader[v] = v;
    const std::function<ValueId(ValueId)> find = [&](ValueId v) {
      return leader[v] == v ? v : leader[v] = find(leader[v]);
    };
    std::map<std::uint32_t, ValueId> first_of_loop;
    for (ValueId v : roots)
      for (std::uint32_t l : cones[v].loops) {
        auto [it, fresh] = first_of_loop.try_emplace(l, v);
        if (!fresh) leader[find(v)] = find(it->second);
      }
    std::map<ValueId, std::vector<ValueId>> groups;
    for (ValueId v : roots) groups[find(v)].push_back(v);
    together_.clear();
    for (const auto& [lead, members] : groups)
      for (ValueId v : members) together_[v] = members;
    for (const auto& [i, device] : device_) {
      const Cluster c = device.cluster();
      for (ValueId v : c.writes) {
        cones[v].memory.insert(c.reads.begin(), c.reads.end());
        together_[v] = c.writes;
      }
    }

    std::vector<std::vector<ValueId>> plain;
    for (auto& [lead, members] : groups) {
      std::set<std::uint32_t> loops;
      for (ValueId v : members) loops.insert(cones[v].loops.begin(), cones[v].loops.end());
      if (loops.empty()) {
        plain.push_back(members);
        continue;
      }
      for (ValueId v : members)
        if (depends_on(cones, cones[v].memory, members) && cut(cones[v])) return false;
      try {
        if (!loop_cluster(members, loops, cones)) return false;
      } catch (const KernelTooLarge&) {
        fuse_less(members, cones);
        return false;
      }
    }
    if (!map_clusters(plain, cones)) return false;
    for (const auto& [i, device] : device_) clusters_.push_back(device.cluster());
    sharing_ = share_memory(placement(), clusters_, nest_.carried, updates_.operands());
    if (!sharing_.failed) return true;
    updates_.read_earlier(placement(), in_memory_, *sharing_.failed);
    return false;
  }

  /// Whether any of `from` is computed from a root in `targets`; what shares a kernel waits for all
  /// that kernel reads.
  bool depends_on(const std::map<ValueId, Cone>& cones, const std::set<ValueId>& from,
                  const std::vector<ValueId>& targets) const {
    std::set<ValueId> seen;
    std::vector<ValueId> open(from.begin(), from.end());
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (!seen.insert(v).second) continue;
      if (std::find(targets.begin(), targets.end(), v) != targets.end()) return true;
      if (auto mates = together_.find(v); mates != together_.end())
        for (ValueId m : mates->second) {
          const std::set<ValueId>& reads = cones.at(m).memory;
          open.insert(open.end(), reads.begin(), reads.end());
        }
    }
    return false;
  }

  std::vector<Dim> lane_candidates(const std::set<std::uint32_t>& loops) const {
    std::vector<Dim> r;
    const auto add = [&](Dim n) {
      if (n > 1 && std::find(r.begin(), r.end(), n) == r.end()) r.push_back(n);
    };
    std::vector<Dim> sizes;
    std::vector<Shape> carried;
    for (std::uint32_t l : loops) {
      const Equation& e = g_.equations[l];
      add(laned_loop(e));
      for (std::size_t o = 0; o < e.outputs.size(); ++o) {
        const Shape& s = g_.avals[e.outputs[o]].shape;
        const bool stacked =
            e.primitive == &scan_p && static_cast<int>(o) >= e.params.as<ScanParams>().carried;
        if (s.rank() > (stacked ? 1 : 0)) sizes.push_back(s[stacked ? 1 : 0]);
        if (!stacked) carried.push_back(s);
      }
    }
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    // What is carried without the lane axis is computed by every lane: not most of it.
    const auto shared = [&](Dim n) {
      Dim own = 0, same = 0;
      for (const Shape& s : carried) (s.rank() > 0 && s[0] == n ? own : same) += s.size();
      return same > own;
    };
    for (Dim n : sizes)
      if (!shared(n)) add(n);
    return r;
  }

  bool loop_cluster(const std::vector<ValueId>& members, const std::set<std::uint32_t>& loops,
                    const std::map<ValueId, Cone>& cones) {
    const bool sequential = options_.loops == LoopMapping::sequential;
    std::string why = sequential ? "asked for" : "";
    if (!sequential) {
      ValueId blamed = members[0];
      bool only_consumers_failed = false;
      for (Dim lanes : lane_candidates(loops)) {
        DraftFailure failure;
        if (auto d = try_draft(members, Mapping::lane, lanes, failure)) {
          if (!within_budget(*d, loops, members, cones)) return false;
          add(std::move(*d), members, cones, "every lane runs its own trips");
          return true;
        }
        why = failure.why;
        if (!direct_output(failure.root)) {
          only_consumers_failed = true;
          blamed = failure.root;
        }
      }
      if (only_consumers_failed && cut(cones.at(blamed))) return false;
      // Another loop of the cone may be what does not fit: give each its own kernel.
      if (loops.size() > 1) {
        bool changed = false;
        for (ValueId v : members) changed = cut(cones.at(v)) || changed;
        if (changed) return false;
      }
      const std::uint32_t loop = *loops.begin();
      const double work = work_per_iteration(g_.equations[loop]);
      if (work >= worth_kernels() &&
          run_on_device(loop, std::to_string(static_cast<std::uint64_t>(work)) +
                                  " operations per iteration; " + why))
        return false;
    }
    // One lane walks everything: only what the loops themselves give.
    for (ValueId v : members)
      if (!direct_output(v) && g_.avals[v].shape.size() > 1 && cut(cones.at(v))) return false;
    DraftFailure failure;
    auto d = try_draft(members, Mapping::sequential, 1, failure);
    GNOMON_CHECK(d.has_value(), "the sequential mapping runs every graph, but: " + failure.why);
    if (!sequential && !within_budget(*d, loops, members, cones)) return false;
    add(std::move(*d), members, cones, "sequential: " + (why.empty() ? "no lane axis" : why));
    return true;
  }

  std::optional<Draft> try_draft(const std::vector<ValueId>& roots, Mapping mapping, Dim lanes,
                                 DraftFailure& failure) {
    DraftRequest r{g_,       target_, in_memory_,
                   layouts_, roots,   std::vector<bool>(roots.size(), true),
                   mapping,  lanes,   options_.name + "_" + std::to_string(clusters_.size()),
                   {},       true,    &nest_.iterations};
    auto d = draft(r, failure);
    if (d) d->has_loop = true;
    return d;
  }

  void add(Draft d, const std::vector<ValueId>& roots, const std::map<ValueId, Cone>& cones,
           std::string reason) {
    Cluster c;
    std::set<ValueId> reads;
    for (ValueId v : roots)
      for (ValueId m : cones.at(v).memory)
        if (std::find(roots.begin(), roots.end(), m) == roots.end()) reads.insert(m);
    c.draft = std::move(d);
    c.writes = roots;
    c.reads.assign(reads.begin(), reads.end());
    c.reason = std::move(reason);
    clusters_.push_back(std::move(c));
  }

  bool pointwise(ValueId root, ValueId target) const {
    return gnomon::pointwise(placement(), root, target);
  }

  bool map_clusters(const std::vector<std::vector<ValueId>>& plain,
                    const std::map<ValueId, Cone>& cones) {
    struct Group {
      std::vector<ValueId> roots;
    };
    std::vector<Group> groups;
    std::vector<ValueId> order;
    for (const auto& p : plain) order.insert(order.end(), p.begin(), p.end());
    std::sort(order.begin(), order.end(),
              [&](ValueId a, ValueId b) { return uses_.producer[a] < uses_.producer[b]; });
    for (ValueId v : order) {
      const Equation& e = g_.equations[uses_.producer[v]];
      bool joined = false;
      if (options_.fuse && e.primitive->lower.kind == Lowering::Kind::element &&
          !updates_.contains(v))
        for (Group& group : groups) {
          if (updates_.contains(group.roots[0])) continue;
          const Equation& first = g_.equations[uses_.producer[group.roots[0]]];
          if (first.primitive->lower.kind != Lowering::Kind::element) continue;
          if (g_.avals[group.roots[0]].shape != g_.avals[v].shape) continue;
          const bool uses_group = std::any_of(group.roots.begin(), group.roots.end(),
                                              [&](ValueId r) { return pointwise(v, r); });
          const bool same_equation = uses_.producer[group.roots[0]] == uses_.producer[v];
          // Small kernels cost more to start than to run: neighbours that need nothing of each
          // other go together.
          const bool small = g_.avals[v].shape.size() <= 4096 && group.roots.size() < 8;
          if (!uses_group && !same_equation && !small) continue;
          // Everything else it reads must be computable before the group.
          std::set<ValueId> others;
          bool clean = true;
          for (ValueId m : cones.at(v).memory)
            if (std::find(group.roots.begin(), group.roots.end(), m) == group.roots.end())
              others.insert(m);
            else
              clean = clean && pointwise(v, m);
          if (!clean || depends_on(cones, others, group.roots)) continue;
          std::set<ValueId> reads;
          for (ValueId r : group.roots)
            reads.insert(cones.at(r).memory.begin(), cones.at(r).memory.end());
          if (depends_on(cones, reads, {v})) continue;
          group.roots.push_back(v);
          for (ValueId r : group.roots) together_[r] = group.roots;
          joined = true;
          break;
        }
      if (!joined) groups.push_back({{v}});
    }
    for (const Group& group : groups) {
      try {
        if (!map_cluster(group.roots, cones)) return false;
      } catch (const KernelTooLarge&) {
        fuse_less(group.roots, cones);
        return false;
      }
    }
    return true;
  }

  /// A kernel of these roots is too large: what computes them goes through memory from here on.
  void fuse_less(const std::vector<ValueId>& roots, const std::map<ValueId, Cone>& cones) {
    bool changed = false;
    for (ValueId root : roots)
      for (std::uint32_t i : cones.at(root).equations)
        for (ValueId v : g_.equations[i].outputs)
          if (!in_memory_[v] && uses_.live[v]) changed = in_memory_[v] = true;
    if (changed) return;
    const Equation& e = g_.equations[uses_.producer[roots[0]]];
    usage_error(options_.name,
                "`" + std::string(e.primitive->name) +
                    "` makes a kernel of more than 200,000 instructions; split what it computes",
                e.loc);
  }

  bool map_cluster(const std::vector<ValueId>& roots, const std::map<ValueId, Cone>& cones) {
    const Equation& e = g_.equations[uses_.producer[roots[0]]];
    const Shape& shape = g_.avals[roots[0]].shape;
    if (shape.size() == 0) return true;
    if (updates_.contains(roots[0])) return update_cluster(roots[0], e, cones);
    if (e.primitive->lower.kind == Lowering::Kind::scatter) {
      scatter_cluster(roots[0], e);
      return true;
    }
    DraftFailure failure;
    DraftRequest r{
        g_,           target_,      in_memory_,
        layouts_,     roots,        std::vector<bool>(roots.size(), true),
        Mapping::map, shape.size(), options_.name + "_" + std::to_string(clusters_.size()),
        {},           true,         &nest_.iterations};
    r.tile = choose_tile(placement(), target_, roots);
    if (r.tile) r.lanes = r.tile->lanes(shape);
    auto d = draft(r, failure);
    if (!d) {
      // A branch asked for other positions than its lane's: every lane computes all it needs by
      // itself.
      r.pins = false;
      d = draft(r, failure);
    }
    GNOMON_CHECK(d.has_value(), "an elementwise kernel has no loop to fail: " + failure.why);
    add(std::move(*d), roots, cones,
        r.tile ? "tiles of " + std::to_string(r.tile->rows) + " by " +
                     std::to_string(r.tile->columns) + " elements of " + to_string(shape)
               : "one lane per element of " + to_string(shape));
    return true;
  }

  // ---- loops whose iterations are several kernels

  struct Device {
    std::shared_ptr<LoopRegion> loop;
    std::shared_ptr<BranchRegion> branch;  // one of them
    std::string reason;

    Cluster cluster() const { return loop ? cluster_of(loop, reason) : cluster_of(branch, reason); }
  };

  /// Work per iteration that pays for starting a few kernels. On a CPU a dispatch costs what tens
  /// of thousands of instructions do; on a GPU a lone invocation is slow, and starting is cheap.
  double worth_kernels() const { return target_.contiguous_per_lane ? 16384 : 512; }

  /// False when something was changed: a kernel of these loops would take more trips than the
  /// driver lets it take.
  bool within_budget(const Draft& d, const std::set<std::uint32_t>& loops,
                     const std::vector<ValueId>& members, const std::map<ValueId, Cone>& cones) {
    const std::uint64_t trips = kernel::worst_case_trips(d.kernel);
    if (target_.loop_budget == 0 || trips <= target_.loop_budget) return true;
    bool changed = false;
    if (loops.size() > 1)
      for (ValueId v : members) changed = cut(cones.at(v)) || changed;
    if (changed) return false;
    constexpr std::uint64_t worth_a_dispatch = 64;
    const std::string why = "more loop trips than one kernel may take";
    for (std::uint32_t loop : loops) {
      // Where the number of steps is open, so is that of trips: a first guess.
      const std::uint64_t steps = most_steps(g_.equations[loop]);
      const std::uint64_t room = target_.loop_budget / 4 * 3;
      const std::uint64_t slice = steps == 0 ? 1024 : room / ((trips + steps - 1) / steps);
      if (slice >= worth_a_dispatch && (steps == 0 || slice < steps) &&
          run_on_device(loop, why + ": slices of " + std::to_string(slice) + " steps", slice))
        return false;
      if (run_on_device(loop, why)) return false;
    }
    return true;
  }

  /// False when the loop or branch has no such form.
  bool run_on_device(std::uint32_t equation, const std::string& reason, std::uint64_t slice = 0) {
    CompileOptions options = options_;
    options.name += "_loop" + std::to_string(device_.size());
    const Equation& e = g_.equations[equation];
    Device device{loop_region(g_, e, uses_.live, target_, options, nest_, slice),
                  branch_region(e, uses_.live, target_, options, nest_), reason};
    if (!device.loop && !device.branch) return false;
    const auto in_rows = [&](ValueId v) {
      in_memory_[v] = true;
      layouts_[v].clear();
    };
    const Cluster c = device.cluster();
    for (ValueId v : c.reads) in_rows(v);
    for (ValueId v : c.writes) in_rows(v);
    device_.emplace(equation, std::move(device));
    return true;
  }

  bool update_cluster(ValueId v, const Equation& e, const std::map<ValueId, Cone>& cones) {
    if (updates_.store_operands(placement(), in_memory_, e)) return false;
    Draft d = draft_update({g_,
                            target_,
                            in_memory_,
                            layouts_,
                            {v},
                            {true},
                            Mapping::map,
                            1,
                            options_.name + "_" + std::to_string(clusters_.size()),
                            {},
                            true,
                            &nest_.iterations},
                           e);
    add(std::move(d), {v}, cones, "in place, one lane per element of the update");
    return true;
  }

  void scatter_cluster(ValueId v, const Equation& e) {
    // First the operand is written to the output, as if the scatter were the identity; then updates
    // accumulate in it.
    Cone operand = in_memory_[e.inputs[0]] ? Cone{} : cone_of(e.inputs[0]);
    if (in_memory_[e.inputs[0]]) operand.memory.insert(e.inputs[0]);
    DraftFailure failure;
    const std::string name = options_.name + "_" + std::to_string(clusters_.size());
    const Dim size = g_.avals[v].shape.size();
    auto first = draft({g_,
                        target_,
                        in_memory_,
                        layouts_,
                        {v},
                        {true},
                        Mapping::map,
                        size,
                        name + "_init",
                        e.inputs[0],
                        true,
                        &nest_.iterations},
                       failure);
    GNOMON_CHECK(first.has_value(), failure.why);
    Cluster init;
    init.draft = std::move(*first);
    init.writes = {v};
    init.reads.assign(operand.memory.begin(), operand.memory.end());
    init.reason = "scatter: the operand first";
    clusters_.push_back(std::move(init));
    if (g_.avals[e.inputs[2]].shape.size() == 0) return;

    Cluster c;
    c.draft = draft_scatter({g_,
                             target_,
                             in_memory_,
                             layouts_,
                             {v},
                             {true},
                             Mapping::lane,
                             1,
                             name,
                             {},
                             true,
                             &nest_.iterations},
                            e);
    std::set<ValueId> reads{v};
    for (ValueId in : {e.inputs[1], e.inputs[2]}) {
      if (in_memory_[in]) {
        reads.insert(in);
        continue;
      }
      const Cone cone = cone_of(in);
      reads.insert(cone.memory.begin(), cone.memory.end());
    }
    c.writes = {v};
    c.reads.assign(reads.begin(), reads.end());
    c.reason = "every lane owns a part of the output and walks all updates in order";
    clusters_.push_back(std::move(c));
  }

  Partition order() {
    // Depth first over who writes what a cluster reads; clusters that write the same value keep
    // their order.
    std::map<ValueId, std::vector<std::size_t>> writers;
    for (std::size_t i = 0; i < clusters_.size(); ++i)
      for (ValueId v : clusters_[i].writes) writers[v].push_back(i);
    std::vector<std::vector<std::size_t>> before(clusters_.size());
    for (const auto& [first, second] : sharing_.order) before[second].push_back(first);
    std::vector<int> state(clusters_.size(), 0);
    Partition p;
    const std::function<void(std::size_t)> visit = [&](std::size_t i) {
      if (state[i] == 2) return;
      GNOMON_CHECK(state[i] == 0, "kernels depend on each other in a circle");
      state[i] = 1;
      for (ValueId v : clusters_[i].reads)
        for (std::size_t w : writers[v])
          if (w != i &&
              !(w > i && std::count(clusters_[i].writes.begin(), clusters_[i].writes.end(), v) > 0))
            visit(w);
      for (std::size_t b : before[i]) visit(b);
      state[i] = 2;
      p.clusters.push_back(std::move(clusters_[i]));
    };
    for (std::size_t i = 0; i < clusters_.size(); ++i) visit(i);
    p.in_memory = in_memory_;
    p.storage = sharing_.storage;
    return p;
  }

  const Graph& g_;
  const Target& target_;
  const CompileOptions& options_;
  LoopNest nest_;
  Uses uses_;
  std::vector<bool> in_memory_;
  std::vector<double> cost_;
  std::vector<Demand> demand_;
  std::vector<std::vector<int>> layouts_;
  std::map<ValueId, std::vector<ValueId>> together_;  // per root: the roots of its kernel
  std::vector<Cluster> clusters_;
  std::map<std::uint32_t, Device> device_;  // per equation: loops taken apart
  Updates updates_;
  Sharing sharing_;
};

}  // namespace

Partition partition(const Graph& g, const Target& target, const CompileOptions& options,
                    const LoopNest& nest) {
  return Partitioner(g, target, options, nest).run();
}

}  // namespace gnomon
