// codegen/partition/fuse.cpp -- greedy partition of a graph into kernels.
#include "codegen/partition/fuse.h"
#include "codegen/partition/free_early.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/analysis/in_place.h"
#include "codegen/analysis/loop_lanes.h"
#include "codegen/analysis/updates.h"
#include "codegen/base/lists.h"
#include "codegen/cost/decisions.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/slicing.h"
#include "codegen/cost/work.h"
#include "codegen/emit/pieces.h"
#include "codegen/emit/workgroup.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/optimize/if_convert.h"
#include "codegen/partition/aliasing.h"
#include "codegen/partition/carried.h"
#include "codegen/partition/cut_long.h"
#include "codegen/partition/fusion_groups.h"
#include "codegen/partition/loop_placement.h"
#include "codegen/partition/loop_region.h"
#include "codegen/partition/materialization.h"
#include "codegen/partition/sequence.h"
#include "shaders/passes/simplify.h"

namespace gnomon {

namespace {

class Partitioner {
 public:
  Partitioner(const Graph& g, const Target& target, const CompileOptions& options, LoopNest nest)
      : g_(g), target_(target), options_(options), nest_(std::move(nest)), uses_(analyse_uses(g)) {}

  Partition run() {
    Materialization start = choose_materialization(g_, uses_, target_, options_);
    in_memory_ = std::move(start.in_memory);
    layouts_ = std::move(start.layouts);
    rows_ = std::move(start.rows);
    updates_ = Updates(g_, uses_, nest_.carried);
    for (ValueId v : updates_.outputs()) {
      in_memory_[v] = true;
      layouts_[v] = {};
    }
    if (options_.fuse)
      cut_long(placement(), {longest_kernel(), options_.residual_bytes}, in_memory_);
    if (options_.loops == LoopMapping::device || options_.loops == LoopMapping::workgroup)
      for (std::uint32_t i = 0; i < g_.equations.size(); ++i) run_on_device(i, "asked for");
    if (options_.loops == LoopMapping::automatic && options_.fuse)
      for (std::uint32_t i = 0; i < g_.equations.size(); ++i)
        if (const auto apart = better_as_kernels(g_.equations[i], target_);
            apart && !run_on_device(i, *apart) && convertible(g_.equations[i]))
          throw BranchTooLarge{};
    // Each round either succeeds, moves at least one more value to memory, or takes one loop apart.
    while (!build()) {
    }
    return order();
  }

 private:
  /// Instructions of a kernel without loops. What a loop starts in every iteration pays for a
  /// driver that takes its time once.
  double longest_kernel() const {
    return device_model(target_).longest_straight * (nest_.inside ? 8 : 1);
  }

  Placement placement() const { return {g_, uses_, in_memory_, layouts_}; }
  BackwardSlice backward_slice_of(ValueId root) const {
    return gnomon::backward_slice_of(placement(), root);
  }

  /// Non-memory outputs of the loops in a slice go to memory. False when there were none.
  bool cut(const BackwardSlice& c) {
    bool changed = false;
    for (std::uint32_t l : c.loops)
      for (ValueId v : g_.equations[l].outputs)
        if (!in_memory_[v] && uses_.count[v] > 0) changed = in_memory_[v] = true;
    return changed;
  }

  bool cut(const std::vector<ValueId>& members, const BackwardSlices& slices) {
    bool changed = false;
    for (ValueId v : members) changed = cut(slices.at(v)) || changed;
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
    BackwardSlices slices;
    for (ValueId v : roots) {
      slices[v] = backward_slice_of(v);
      if (updates_.contains(v) && !slices[v].loops.empty() && cut(slices[v])) return false;
    }

    const std::map<ValueId, std::vector<ValueId>> groups = group_by_loops(roots, slices);
    fusion_groups_ = {};
    for (const auto& [lead, members] : groups) fusion_groups_.set(members);
    for (const auto& [i, device] : device_) {
      const Cluster c = device.cluster();
      for (ValueId v : c.writes) slices[v].memory.insert(c.reads.begin(), c.reads.end());
      fusion_groups_.set(c.writes);
    }

    readers_.assign(g_.avals.size(), {});
    slices.for_each([&](ValueId root, const BackwardSlice& slice) {
      for (ValueId v : slice.memory) readers_[v].push_back(root);
    });

    std::vector<ValueId> plain;
    for (const auto& [lead, members] : groups) {
      std::set<std::uint32_t> loops;
      for (ValueId v : members) loops.insert(slices[v].loops.begin(), slices[v].loops.end());
      if (loops.empty()) {
        plain.insert(plain.end(), members.begin(), members.end());
        continue;
      }
      for (ValueId v : members)
        if (fusion_groups_.depends_on(slices, slices[v].memory, members) && cut(slices[v]))
          return false;
      try {
        if (!loop_cluster(members, loops, slices)) return false;
      } catch (const KernelTooLarge&) {
        if (!fuse_less(members, slices) && !take_apart(loops)) throw_too_large(members);
        return false;
      }
    }
    if (!map_clusters(plain, slices)) return false;
    for (const auto& [i, device] : device_) clusters_.push_back(device.cluster());
    std::map<ValueId, ValueId> in_place = updates_.operands();
    for (std::size_t i = 0; i < nest_.carried; ++i)
      for (const Cluster& c : clusters_)
        if (std::count(c.draft.in_place.begin(), c.draft.in_place.end(), g_.outputs[i]) > 0)
          in_place.emplace(g_.outputs[i], g_.inputs[i]);
    aliasing_ = share_memory(placement(), clusters_, nest_.carried, in_place);
    if (!aliasing_.failed) {
      // A small kernel in front costs less than to copy a large array in every iteration.
      constexpr Dim large = 1024;
      bool stored = false;
      for (ValueId v : aliasing_.late)
        if (nest_.inside && g_.avals[v].shape.size() >= large)
          stored = store_views(placement(), in_memory_, v) || stored;
      return !stored;
    }
    if (updates_.contains(*aliasing_.failed))
      updates_.read_earlier(placement(), in_memory_, *aliasing_.failed);
    else
      copied_.insert(*aliasing_.failed);
    return false;
  }

  /// Why a loop's iterations had better be kernels than each of so many lanes run its own, if so.
  std::optional<std::string> apart(std::uint32_t loop, Dim lanes, bool alone) const {
    const Equation& e = g_.equations[loop];
    std::optional<std::string> why;
    if (too_much_for(lanes, e, target_, may_play()))
      why = std::to_string(
                static_cast<std::uint64_t>(work_per_iteration(e) / static_cast<double>(lanes))) +
            " operations per iteration for each of " + std::to_string(lanes) + " lanes";
    else if (alone)
      why = better_as_kernels(g_, e, lanes, target_, nest_);
    const bool kernels =
        decide(options_.decisions, Question::kernels, g_, e.outputs[0], why.has_value());
    return kernels ? why.value_or("tried") : std::optional<std::string>();
  }

  /// True when something was changed: these are too few lanes for one of the loops.
  bool shared_by_more(Dim lanes, const std::set<std::uint32_t>& loops,
                      const std::vector<ValueId>& members, const BackwardSlices& slices) {
    for (std::uint32_t loop : loops)
      if (const auto why = apart(loop, lanes, loops.size() == 1);
          why && ((loops.size() > 1 && cut(members, slices)) || run_on_device(loop, *why)))
        return true;
    return false;
  }

  bool loop_cluster(const std::vector<ValueId>& members, const std::set<std::uint32_t>& loops,
                    const BackwardSlices& slices) {
    const bool sequential = options_.loops == LoopMapping::sequential;
    std::string why = sequential ? "asked for" : "";
    if (!sequential) {
      ValueId blamed = members[0];
      bool only_consumers_failed = false;
      for (Dim lanes : lane_candidates(g_, loops)) {
        DraftFailure failure;
        if (shared_by_more(lanes, loops, members, slices)) return false;
        if (auto d = try_draft(members, Mapping::lane, lanes, failure)) {
          if (!fits_a_dispatch(*d, loops, members, slices)) return false;
          add(std::move(*d), members, slices, "every lane runs its own trips", live_out(members));
          return true;
        }
        why = failure.why;
        if (!direct_output(failure.root)) {
          only_consumers_failed = true;
          blamed = failure.root;
        }
      }
      if (only_consumers_failed && cut(slices.at(blamed))) return false;
      // Another loop of the slice may be what does not fit: give each its own kernel.
      if (loops.size() > 1 && cut(members, slices)) return false;
      const std::uint32_t loop = *loops.begin();
      const double work = work_per_iteration(g_.equations[loop]);
      if (worth_kernels(g_.equations[loop], 1, target_, may_play()) &&
          run_on_device(loop, std::to_string(static_cast<std::uint64_t>(work)) +
                                  " operations per iteration; " + why))
        return false;
    }
    // One lane walks everything: only what the loops themselves give.
    for (ValueId v : members)
      if (!direct_output(v) && g_.avals[v].shape.size() > 1 && cut(slices.at(v))) return false;
    DraftFailure failure;
    auto d = try_draft(members, Mapping::sequential, 1, failure);
    GNOMON_CHECK(d.has_value(), "the sequential mapping runs every graph, but: " + failure.why);
    if (!sequential && !fits_a_dispatch(*d, loops, members, slices)) return false;
    add(std::move(*d), members, slices, "sequential: " + (why.empty() ? "no lane axis" : why),
        live_out(members));
    return true;
  }

  /// The next kernel, which computes `roots`.
  DraftRequest request(const std::vector<ValueId>& roots, Mapping mapping, Dim lanes) const {
    return {g_,
            uses_,
            target_,
            in_memory_,
            layouts_,
            roots,
            std::vector<bool>(roots.size(), true),
            mapping,
            lanes,
            options_.name + "_" + std::to_string(clusters_.size()),
            {},
            true,
            &nest_.iterations,
            options_.decisions};
  }

  /// Which roots of a kernel are live out of it: the others, which only it reads, stay in
  /// registers.
  std::vector<bool> live_out(const std::vector<ValueId>& roots) const {
    const auto outside = [&](ValueId reader) { return !contains(roots, reader); };
    std::vector<bool> live;
    for (ValueId v : roots)
      live.push_back(direct_output(v) || contains(g_.outputs, v) ||
                     std::any_of(readers_[v].begin(), readers_[v].end(), outside));
    return live;
  }

  std::optional<Draft> try_draft(const std::vector<ValueId>& roots, Mapping mapping, Dim lanes,
                                 DraftFailure& failure) {
    DraftRequest r = request(roots, mapping, lanes);
    r.stored = live_out(roots);
    r.takeovers = takeovers(g_, uses_, nest_.carried, layouts_, roots, copied_);
    auto d = draft(r, failure);
    if (!d && !r.takeovers.empty()) {
      r.takeovers.clear();
      d = draft(r, failure);
    }
    if (d) d->has_loop = true;
    return d;
  }

  /// `stored`: which of the roots the kernel leaves in memory; empty: all.
  void add(Draft d, const std::vector<ValueId>& roots, const BackwardSlices& slices,
           std::string reason, const std::vector<bool>& stored = {}) {
    Cluster c;
    std::set<ValueId> reads;
    for (ValueId v : roots)
      for (ValueId m : slices.at(v).memory)
        if (std::find(roots.begin(), roots.end(), m) == roots.end()) reads.insert(m);
    c.draft = std::move(d);
    for (std::size_t i = 0; i < roots.size(); ++i)
      if (stored.empty() || stored[i]) c.writes.push_back(roots[i]);
    c.reads.assign(reads.begin(), reads.end());
    c.reason = std::move(reason);
    clusters_.push_back(std::move(c));
  }

  bool map_clusters(const std::vector<ValueId>& roots, const BackwardSlices& slices) {
    std::vector<std::vector<ValueId>> groups;
    if (options_.fuse)
      groups = group_elements({placement(), target_, updates_, slices, readers_, longest_kernel()},
                              roots, fusion_groups_);
    else
      for (ValueId v : roots) groups.push_back({v});
    for (const std::vector<ValueId>& group : groups) {
      try {
        if (!map_cluster(group, slices)) return false;
      } catch (const KernelTooLarge&) {
        if (!fuse_less(group, slices) && !large_.insert(group[0]).second &&
            !take_apart({uses_.producer[group[0]]}))
          throw_too_large(group);
        return false;
      }
    }
    return true;
  }

  /// What computes these roots goes through memory from here on: all of it, since the kernel is too
  /// large, or only what is heavy. False when it does already.
  bool fuse_less(const std::vector<ValueId>& roots, const BackwardSlices& slices, bool all = true) {
    bool changed = false;
    for (ValueId root : roots)
      for (std::uint32_t i : slices.at(root).equations)
        if (all || g_.equations[i].primitive->lower.cost == Cost::heavy)
          for (ValueId v : g_.equations[i].outputs)
            if (!in_memory_[v] && uses_.live[v]) changed = in_memory_[v] = true;
    return changed;
  }

  /// The iterations of these loops, or the branches, become kernels of their own, which are cut in
  /// turn. False when none has such a form.
  bool take_apart(const std::set<std::uint32_t>& loops) {
    bool changed = false;
    for (std::uint32_t loop : loops)
      changed = run_on_device(loop, "too many instructions for one kernel") || changed;
    return changed;
  }

  [[noreturn]] void throw_too_large(const std::vector<ValueId>& roots) const {
    const Equation& e = g_.equations[uses_.producer[roots[0]]];
    if (convertible(e)) throw BranchTooLarge{};
    usage_error(options_.name,
                "`" + std::string(e.primitive->name) +
                    "` makes a kernel of more than 200,000 instructions; split what it computes",
                e.loc);
  }

  /// The kernel of a scatter or of an update in place.
  template <class Drafting>
  static Draft draft_in_place(DraftRequest r, Drafting drafting) {
    try {
      return drafting(r);
    } catch (const NotLaneLocal&) {
      r.pins = false;  // as in draft_elements
      return drafting(r);
    }
  }

  bool map_cluster(const std::vector<ValueId>& roots, const BackwardSlices& slices) {
    const Equation& e = g_.equations[uses_.producer[roots[0]]];
    const Shape& shape = g_.avals[roots[0]].shape;
    if (shape.size() == 0) return true;
    if (std::any_of(roots.begin(), roots.end(),
                    [&](ValueId v) { return has_pieces(placement(), updates_.operands(), v); })) {
      const auto pieces = pieces_of(placement(), updates_.operands(), roots);
      if (pieces && stored_in_pieces(placement(), *pieces))
        return piece_cluster(*pieces, roots, slices);
    }
    if (e.primitive->lower.kind == Lowering::Kind::scatter) {
      return scatter_cluster(roots[0], e, slices);
    }
    DraftRequest r = request(roots, Mapping::map, shape.size());
    r.stored = live_out(roots);
    for (ValueId v : roots)
      if (const auto row = rows_.find(v); row != rows_.end()) r.row = row->second;
    if (auto d = draft_workgroup(r, placement());
        d && decide(options_.decisions, Question::workgroup, g_, roots[0], true)) {
      add(std::move(d->draft), roots, slices, std::move(d->reason), r.stored);
      return true;
    }
    if (r.row == 0) r.tile = choose_tile(placement(), target_, roots);
    if (r.row > 0) r.lanes = shape.size() / r.row;
    // What is still larger when nothing is fused any more stays so.
    if (!large_.contains(roots[0])) r.value_limit = pleasant_kernel;
    if (r.tile) r.lanes = r.tile->lanes(shape);
    Draft d = draft_elements(r);
    if (too_many_trips(d.kernel) && walk_apart(roots, slices)) return false;
    add(std::move(d), roots, slices, mapping_text(r), r.stored);
    if (options_.candidates) clusters_.back().others = other_mappings(r, placement());
    return true;
  }

  bool too_many_trips(const kernel::Kernel& k) const {
    return over_budget(k, target_) && over_budget(kernel::simplify(k), target_);
  }

  /// A kernel of these roots walks over what is walked over itself, a sum over sums: the inner ones
  /// go through memory, and branches that hold some are taken apart. False when there are none.
  bool walk_apart(const std::vector<ValueId>& roots, const BackwardSlices& slices) {
    bool changed = fuse_less(roots, slices, false);
    for (ValueId root : roots)
      for (std::uint32_t i : slices.at(root).equations) {
        if (g_.equations[i].primitive != &cond_p || device_.contains(i)) continue;
        changed = run_on_device(i, "more loop trips than one kernel may take") || changed;
        if (!changed && convertible(g_.equations[i])) throw BranchTooLarge{};
      }
    return changed;
  }

  // ---- loops whose iterations are several kernels

  struct Device {
    std::shared_ptr<LoopRegion> loop;
    std::shared_ptr<BranchRegion> branch;  // one of them
    std::string reason;

    Cluster cluster() const { return loop ? cluster_of(loop, reason) : cluster_of(branch, reason); }
  };

  /// Whether one workgroup may play loops of this graph.
  bool may_play() const { return options_.loops != LoopMapping::device && !nest_.gated; }

  /// False when something was changed: a kernel of these loops would take more trips than the
  /// driver lets it take, or might take long.
  bool fits_a_dispatch(const Draft& d, const std::set<std::uint32_t>& loops,
                       const std::vector<ValueId>& members, const BackwardSlices& slices) {
    std::optional<kernel::Kernel> merged;
    if (over_budget(d.kernel, target_))
      merged = loops_merged(kernel::simplify(d.kernel), d, target_);
    const bool refused = merged && over_budget(*merged, target_);
    const auto by_time = [&](std::uint32_t loop, std::uint64_t most) {
      // Inside of another loop a slice would cost every one of its iterations a decision.
      return nest_.outermost() ? slices_by_time(g_.equations[loop], d.kernel.lanes, target_, most)
                               : Slicing{};
    };
    if (!refused && std::none_of(loops.begin(), loops.end(),
                                 [&](std::uint32_t l) { return by_time(l, 0).steps > 0; }))
      return true;
    if (loops.size() > 1 && cut(members, slices)) return false;
    const std::string why =
        refused ? "more loop trips than one kernel may take" : "might take long";
    const auto in_slices = [&](std::uint32_t loop, const Slicing& s) {
      return s.steps > 0 && run_on_device(loop,
                                          why + ": slices of " + std::to_string(s.steps) +
                                              (s.paced ? " steps at first" : " steps"),
                                          s);
    };
    for (std::uint32_t loop : loops) {
      const Equation& e = g_.equations[loop];
      if (!refused) {
        if (in_slices(loop, by_time(loop, 0))) return false;
        continue;
      }
      // A lane that does a part of the steps would carry large arrays in and out for each part.
      if (carries_much(g_, e, d.kernel.lanes) && run_on_device(loop, why)) return false;
      Slicing slicing = slices_by_trips(e, *merged, target_, false);
      if (slicing.steps == 0) {
        slicing = slices_by_trips(e, *merged, target_, true);
        if (slicing.steps > 0 && !is_kernel(loop, slicing)) slicing = {};
      }
      if (slicing.steps > 0 && most_steps(e) > 0 && in_slices(loop, by_time(loop, slicing.steps)))
        return false;
      if (in_slices(loop, slicing) || run_on_device(loop, why)) return false;
      if (convertible(e)) throw BranchTooLarge{};
    }
    return true;
  }

  /// Whether such a slice of a loop is no loop of several kernels itself.
  bool is_kernel(std::uint32_t loop, const Slicing& slices) const {
    const auto region =
        loop_region(g_, g_.equations[loop], uses_.live, target_, options_, nest_, slices);
    return region && std::none_of(region->parts.clusters.begin(), region->parts.clusters.end(),
                                  [](const Cluster& c) { return c.loop != nullptr; });
  }

  /// False when the loop or branch has no such form.
  bool run_on_device(std::uint32_t equation, const std::string& reason,
                     const Slicing& slices = {}) {
    CompileOptions options = options_;
    options.name += "_loop" + std::to_string(device_.size());
    const Equation& e = g_.equations[equation];
    Device device{loop_region(g_, e, uses_.live, target_, options, nest_, slices),
                  branch_region(e, uses_.live, target_, options, nest_), reason};
    if (!device.loop && !device.branch) return false;
    if (device.loop && may_play() && slices.steps == 0 &&
        choose_players(*device.loop, e, target_, options.loops)) {
      device.reason += "; one workgroup, since starting kernels would take longer";
      const auto again = [&](const Target& played) {
        return loop_region(g_, e, uses_.live, played, options, nest_);
      };
      fit_players(*device.loop, target_, again);
    }
    const auto in_rows = [&](ValueId v) {
      in_memory_[v] = true;
      layouts_[v] = {};
    };
    const Cluster c = device.cluster();
    for (ValueId v : c.reads) in_rows(v);
    for (ValueId v : c.writes) in_rows(v);
    device_.emplace(equation, std::move(device));
    return true;
  }

  bool piece_cluster(const std::vector<Pieces>& pieces, const std::vector<ValueId>& roots,
                     const BackwardSlices& slices) {
    bool changed = false, updates = false;
    for (const Pieces& p : pieces)
      if (p.update != nullptr) {
        updates = true;
        changed = updates_.store_operands(placement(), in_memory_, *p.update) || changed;
      }
    if (changed) return false;
    const Shape& lanes = lanes_of(g_, pieces[0]);
    DraftRequest r = request(roots, Mapping::map, lanes.size());
    r.stored = live_out(roots);
    if (!large_.contains(roots[0]) && roots.size() > 1) r.value_limit = pleasant_kernel;
    Draft d = draft_in_place(r, [&](const DraftRequest& of) { return draft_pieces(of, pieces); });
    if (too_many_trips(d.kernel) && walk_apart(roots, slices)) return false;
    add(std::move(d), roots, slices,
        updates ? "in place, one lane per element of the update"
                : "one lane per element of each part, " + to_string(lanes),
        r.stored);
    return true;
  }

  bool scatter_cluster(ValueId v, const Equation& e, const BackwardSlices& slices) {
    // First the operand is written to the output, as if the scatter were the identity; then updates
    // accumulate in it.
    BackwardSlice operand =
        in_memory_[e.inputs[0]] ? BackwardSlice{} : backward_slice_of(e.inputs[0]);
    if (in_memory_[e.inputs[0]]) operand.memory.insert(e.inputs[0]);
    DraftRequest r = request({v}, Mapping::map, g_.avals[v].shape.size());
    r.name += "_init";
    r.stand_in = e.inputs[0];
    Cluster init;
    init.draft = draft_elements(r);
    init.writes = {v};
    init.reads.assign(operand.memory.begin(), operand.memory.end());
    init.reason = "scatter: the operand first";
    clusters_.push_back(std::move(init));
    if (g_.avals[e.inputs[2]].shape.size() == 0) return true;

    Cluster c;
    c.draft = draft_in_place(request({v}, Mapping::lane, 1),
                             [&](const DraftRequest& of) { return draft_scatter(of, e); });
    if (too_many_trips(c.draft.kernel) && walk_apart({v}, slices)) return false;
    std::set<ValueId> reads{v};
    for (ValueId in : {e.inputs[1], e.inputs[2]}) {
      if (in_memory_[in]) {
        reads.insert(in);
        continue;
      }
      const BackwardSlice slice = backward_slice_of(in);
      reads.insert(slice.memory.begin(), slice.memory.end());
    }
    c.writes = {v};
    c.reads.assign(reads.begin(), reads.end());
    c.reason = e.params.as<ScatterParams>().unique
                   ? "updates that never meet, one lane per element of them"
                   : "every lane owns a part of the output and walks all updates in order";
    clusters_.push_back(std::move(c));
    return true;
  }

  Partition order() {
    std::vector<std::size_t> sequence = sequence_of(clusters_, aliasing_.order);
    if (nest_.outermost()) free_early(g_, clusters_, aliasing_, sequence);
    Partition p;
    for (std::size_t i : sequence) p.clusters.push_back(std::move(clusters_[i]));
    p.in_memory = in_memory_;
    p.storage = aliasing_.storage;
    return p;
  }

  const Graph& g_;
  const Target& target_;
  const CompileOptions& options_;
  LoopNest nest_;
  Uses uses_;
  std::vector<bool> in_memory_;
  std::vector<Layout> layouts_;
  Rows rows_;
  FusionGroups fusion_groups_;
  FusionGroups::Readers readers_;
  std::vector<Cluster> clusters_;
  std::map<std::uint32_t, Device> device_;  // per equation: loops taken apart
  std::set<ValueId> large_;                 // roots of kernels that cannot be cut any more
  std::set<ValueId> copied_;  // next values that loops cannot make where the carried ones lie
  Updates updates_;
  Aliasing aliasing_;
};

}  // namespace

Partition partition(const Graph& g, const Target& target, const CompileOptions& options,
                    const LoopNest& nest) {
  return Partitioner(g, target, options, nest).run();
}

}  // namespace gnomon
