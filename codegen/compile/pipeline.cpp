// codegen/compile/pipeline.cpp -- the stages of compilation in order.
#include "codegen/compile/pipeline.h"

#include <algorithm>
#include <set>
#include <span>

#include "codegen/compile/graph_passes.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/estimate.h"
#include "codegen/cost/trip.h"
#include "codegen/emit/mapping.h"
#include "codegen/graph/text.h"
#include "codegen/operations/control.h"
#include "codegen/operations/table.h"
#include "codegen/optimize/kernel_passes.h"
#include "codegen/optimize/lower_effects.h"
#include "codegen/partition/fuse.h"
#include "codegen/partition/loop_region.h"
#include "codegen/plan/schedule.h"
#include "shaders/kernel/same.h"
#include "shaders/kernel/text.h"
#include "shaders/passes/coarsen.h"
#include "shaders/passes/fuse_loops.h"
#include "shaders/passes/legalize.h"
#include "shaders/passes/merge_counters.h"
#include "shaders/passes/refill.h"
#include "shaders/passes/simplify.h"

namespace gnomon {

namespace {

/// The values of a kernel, those of 64 bits twice.
std::size_t words_of(const kernel::Kernel& k) {
  std::size_t n = 0;
  for (const kernel::Type t : k.types) n += bits_of(t.scalar) > 32 ? 2 : 1;
  return n;
}

/// Elements that a kernel reads or writes at a time, loops walked once.
std::size_t accesses(const kernel::Region& r) {
  std::size_t n = 0;
  for (const kernel::Instruction& i : r.body) {
    n += i.op == kernel::Op::load || i.op == kernel::Op::store;
    for (const kernel::Region& inner : i.regions) n += accesses(inner);
  }
  return n;
}

/// Lanes per invocation of a kernel with loops: twice the device's preference where a trip is one
/// long chain of arithmetic, whose operations wait for one another, and its values are few; at most
/// two where trips are long.
std::uint32_t lanes_of_loop(const kernel::Kernel& k, const Target& t) {
  const std::uint32_t width = t.loop_coarsening;
  if (width < 2) return width;
  const Trip trip = longest_trip(k);
  // They have enough to do side by side, and values that wait in memory as it is.
  constexpr std::size_t long_trip = 640;
  if (trip.instructions > long_trip) return 2;
  // Two units of a core that take four cycles for each; and what its caches hand back at once:
  // eight lanes take lavapipe 22.3 and 25.0 0.73 of the time that four take (`ode_sde`, Zen 5).
  constexpr double under_way = 8;
  constexpr std::size_t most_live = 128;
  const bool waits = trip.accesses == 0 && width * trip.parallelism() < under_way;
  return waits && 2 * width * trip.live <= most_live ? 2 * width : width;
}

/// Lanes per invocation: the device's preference, unless there are too few lanes to share, or their
/// loops carry more than there are registers. `played`: by one workgroup, beside other kernels.
std::uint32_t coarsening(const Draft& d, const kernel::Kernel& k, const Target& t, bool played) {
  if (d.mapping == "sequential") return 1;
  if (d.width > 0) return d.width;
  std::uint32_t width = d.has_loop ? lanes_of_loop(k, t) : t.map_coarsening;
  // What lanes read of a matrix is read once for all of an invocation's: eight take SwiftShader 0.7
  // of the time that two take (`neural_ode_step`, Zen 5), and its loops are no faster for more than
  // one otherwise.
  constexpr std::uint32_t lanes_of_products = 8;
  if (d.written_terms > 0) width = lanes_of_products;
  if (!d.has_loop) {
    // One access of 16 bytes each: more would make a large function larger, and win nothing there.
    if (played) width = std::min(width, 4u);
    const DeviceModel& model = device_model(t);
    while (width > 4 && width * accesses(k.body) > model.accesses_side_by_side) width /= 2;
    while (width > 1 && width * kernel::most_carried(k) > t.accumulators) width /= 2;
    while (width > 1 && width * words_of(k) > model.words_side_by_side) width /= 2;
    if (words_of(k) > model.words_by_sixteen) width = std::min(width, 8u);
    // A GPU waits for memory with lanes: 100,000 elements of an optimiser take an H100 14 us as
    // 25,000 lanes, and 5 as 100,000.
    while (width > 1 && !runs_on_cores(t) && d.kernel.lanes / width < t.parallel_lanes) width /= 2;
  }
  // At least a few dozen invocations stay, so that every core has some.
  while (width > 1 && d.kernel.lanes / width < 32) width /= 2;
  // An invocation that fills whole words needs no atomics.
  if (d.mapping == "map" && !d.has_loop) width = std::max(width, kernel::lanes_per_word(d.kernel));
  return width;
}

/// Invocations of a workgroup. Where cores share workgroups, few invocations are spread over
/// several, as far as each has enough to do.
std::uint32_t group_size(const kernel::Kernel& k, std::uint32_t invocations, const Target& t) {
  const DeviceModel& model = device_model(t);
  std::uint32_t size = std::min(t.group_size, t.max_group_invocations);
  if (invocations / size >= model.groups_for_few) return size;
  double groups = model.groups_for_few;
  if (const auto work = operations(k))
    groups =
        std::min(groups, *work * k.lanes / (model.group_operations * model.group_microseconds));
  while (size > simd_lanes && invocations / size < groups) size /= 2;
  return size;
}

/// How the lanes of a kernel with a loop share their time: each for itself, measured or not, or
/// taking turns, if it is of that kind and there are enough of them. `width`: lanes per invocation.
void share_time(kernel::Kernel& k, Cluster& c, std::uint32_t width, const Target& target,
                Refill wanted) {
  if (wanted == Refill::off || c.draft.mapping != "lane") return;
  const std::uint32_t persistent = device_model(target).persistent_invocations;
  const std::uint32_t most = persistent > 0 ? persistent * width : target.parallel_lanes;
  const std::uint32_t slots = std::min(most, k.lanes / 4) / width * width;
  if (slots < 32 * width) return;
  auto turns = kernel::refill(k, {slots, target.loop_budget});
  constexpr std::uint64_t most_dispatches = 64;  // each of them costs something, even when idle
  if (!turns || turns->dispatches > most_dispatches) return;
  std::uint32_t memory = 0;
  if (wanted == Refill::on) {
    k = std::move(turns->kernel);
    c.refills = turns->dispatches;
    c.draft.operands.push_back({true, 0, sizeof(std::int32_t)});
    memory = turns->counter;
  } else {
    auto counted = kernel::count_trips(k);
    c.draft.operands.push_back({true, 0, std::uint64_t{k.lanes} * sizeof(std::uint32_t)});
    c.counts_together = simd_lanes * width;
    memory = counted->trips;
    k = std::move(counted->kernel);
  }
  GNOMON_CHECK(memory + 1 == c.draft.operands.size(), "what turns need is the last operand");
  k = kernel::simplify(k);
}

/// Clusters that have one kernel: what they do differs in arrays, or in their number of lanes too.
struct Alike {
  std::vector<Cluster*> clusters;
  kernel::Kernel kernel;  // simplified, of the one with the most lanes
};

/// Which clusters do what this one does, as it is or, if its kernel need not know the number of its
/// lanes, to arrays of other sizes.
bool alike(const Alike& a, const Cluster& c, const kernel::Kernel& k) {
  const Draft &x = a.clusters[0]->draft, &y = c.draft;
  const bool any_size = x.mapping == "map" && !x.has_loop && a.kernel.lanes > 0;
  return x.mapping != "lane" && x.mapping == y.mapping && x.has_loop == y.has_loop &&
         x.width == y.width && x.written_terms == y.written_terms && x.carried == y.carried &&
         x.parameters.size() == 1 && y.parameters.size() == 1 &&
         (any_size ? k.lanes > 0 : a.kernel.lanes == k.lanes) &&
         kernel::same_but_lanes(a.kernel, k);
}

/// Whether a kernel of these clusters is one for any number of lanes.
bool any_lanes(const Alike& a, const Target& target) {
  constexpr std::size_t many = 4;
  const Draft& d = a.clusters[0]->draft;
  return runs_on_cores(target) && a.clusters.size() >= many && d.mapping == "map" && !d.has_loop &&
         a.kernel.lanes > 0 && kernel::worst_case_trips(a.kernel) == 0;
}

/// Those of one number of lanes each, where no kernel is for any.
void split_by_lanes(std::vector<Alike>& all, const Target& target) {
  std::vector<Alike> split;
  for (Alike& a : all) {
    if (a.clusters.size() == 1 || a.kernel.lanes == 0 || any_lanes(a, target)) {
      split.push_back(std::move(a));
      continue;
    }
    const std::size_t first = split.size();
    for (Cluster* c : a.clusters) {
      const auto of_size = [&](const Alike& s) { return s.kernel.lanes == c->draft.kernel.lanes; };
      auto at =
          std::find_if(split.begin() + static_cast<std::ptrdiff_t>(first), split.end(), of_size);
      if (at == split.end()) {
        at = split.insert(at, {{}, a.kernel});
        at->kernel.lanes = c->draft.kernel.lanes;
      }
      at->clusters.push_back(c);
    }
  }
  all = std::move(split);
}

/// The kernels of clusters, each once, in the order of their first clusters. `played`: by one
/// workgroup, whose kernels are part of another.
std::vector<Alike> kernels_of(std::span<Cluster> clusters, const Target& target, bool played) {
  std::vector<Alike> all;
  std::multimap<std::size_t, std::size_t> known;  // by hash, into `all`
  for (Cluster& c : clusters) {
    if (c.branch || c.loop) {
      all.push_back({{&c}, {}});
      continue;
    }
    kernel::Kernel k = kernel::simplify(c.draft.kernel);
    const std::size_t hash = kernel::hash_but_lanes(k);
    const auto [first, last] = known.equal_range(hash);
    const auto found = std::find_if(
        first, last, [&](const auto& entry) { return !played && alike(all[entry.second], c, k); });
    if (found == last) {
      known.emplace(hash, all.size());
      all.push_back({{&c}, std::move(k)});
      continue;
    }
    Alike& a = all[found->second];
    a.clusters.push_back(&c);
    std::vector<kernel::SourceLine>& lines = a.kernel.lanes < k.lanes ? k.lines : a.kernel.lines;
    const auto& others = a.kernel.lanes < k.lanes ? a.kernel.lines : k.lines;
    lines.insert(lines.end(), others.begin(), others.end());
    if (a.kernel.lanes < k.lanes) a.kernel = std::move(k);
  }
  split_by_lanes(all, target);
  return all;
}

void count_groups(Cluster& c, std::uint32_t count, std::uint32_t group_size) {
  c.groups = (count + group_size - 1) / group_size;
  c.invocations = count;
}

/// A kernel for several numbers of lanes, which are parameters of each dispatch.
kernel::Kernel any_invocations_of(const Alike& a, const Target& target) {
  constexpr std::uint32_t trips = 16;
  const std::uint32_t width = coarsening(a.clusters[0]->draft, a.kernel, target, false);
  const std::uint32_t size = std::max(simd_lanes, width);
  for (Cluster* c : a.clusters) {
    const std::uint32_t lanes = c->draft.kernel.lanes;
    count_groups(*c, std::max(lanes / width, 1u), size * trips);
    c->draft.parameters[0].insert(c->draft.parameters[0].end(), {lanes / width, lanes % width});
  }
  return kernel::coarsen(kernel::counters_merged(a.kernel),
                         {.width = width, .group_size = size, .trips = trips});
}

/// A kernel that lanes run each for themselves, as invocations run it; sets the number of
/// workgroups.
kernel::Kernel invocations_of(kernel::Kernel k, Cluster& c, const Target& target, Refill refill,
                              bool played) {
  k = loops_merged(std::move(k), c.draft, target);
  const std::uint32_t width = coarsening(c.draft, k, target, played);
  share_time(k, c, width, target, refill);
  const std::uint32_t count = kernel::invocations(k.lanes, width);
  const std::uint32_t size = group_size(k, count, target);
  count_groups(c, count, size);
  // Per-lane trip counts: neighbours tend to cost alike, and a CPU's cores get contiguous shares.
  const bool uneven = c.draft.has_loop && runs_on_cores(target) && c.refills == 0;
  if (uneven) c.invocations = c.groups * size;
  // Lanes that take turns begin anew in the middle of a loop: what they count stays as it is.
  if (c.refills == 0) k = kernel::counters_merged(std::move(k));
  return kernel::coarsen(k, {.width = width, .group_size = size, .deal = uneven ? 16u : 1u});
}

void check_budget(const kernel::Kernel& k, const Cluster& c, const Graph& g, const Target& target,
                  const std::string& name) {
  if (target.loop_budget == 0) return;
  const std::uint64_t trips = kernel::worst_case_trips(k);
  if (trips <= target.loop_budget) return;
  Loc loc;
  std::string what = "a reduction";
  for (const Equation& e : g.equations)
    for (ValueId v : c.writes)
      if (std::find(e.outputs.begin(), e.outputs.end(), v) != e.outputs.end()) {
        loc = e.loc;
        what = "`" + std::string(e.primitive->name) + "`";
      }
  usage_error(name,
              what + " may take " + (trips == ~0ull ? "any number of" : std::to_string(trips)) +
                  " loop trips in one kernel, and \"" + target.device +
                  "\" silently stops a kernel after " + std::to_string(target.loop_budget) +
                  "; lower max_steps, or use a device without this limit",
              loc);
}

/// Kernels of partitions, loops' bodies included: from lane form to what is run.
class KernelMaker {
 public:
  KernelMaker(const Target& target, const CompileOptions& options, PassLog& log, Program& program)
      : target_(target), options_(options), log_(log), program_(program) {}

  /// Those of `parts` but the last so many. `played`: by one workgroup.
  void make(Partition& parts, const Graph& graph, bool played = false, std::size_t left_out = 0) {
    const auto made = std::span(parts.clusters).first(parts.clusters.size() - left_out);
    for (Alike& a : kernels_of(made, target_, played)) {
      Cluster& c = *a.clusters[0];
      if (c.branch) {
        for (BranchRegion::Side& side : c.branch->sides) make(side.parts, side.graph, played);
      } else if (c.loop) {
        make_loop(*c.loop, played);
      } else {
        make_one(a, graph, played);
      }
    }
  }

  const std::string& text() const { return text_; }

 private:
  void make_loop(LoopRegion& loop, bool played) {
    const bool inside = played || loop.by_group;
    make(loop.parts, loop.body.graph, inside, loop.body.decides ? loop.gate : 0);
    if (loop.body.condition) make(loop.condition, *loop.body.condition, inside, loop.gate);
  }

  void make_one(Alike& a, const Graph& graph, bool played) {
    Cluster& c = *a.clusters[0];
    const std::uint32_t lanes = a.kernel.lanes;
    kernel::Kernel k;
    if (any_lanes(a, target_)) {
      k = any_invocations_of(a, target_);
    } else {
      k = std::move(a.kernel);
      c.groups = c.draft.groups;
      if (lanes > 0) k = invocations_of(std::move(k), c, target_, options_.refill, played);
      for (Cluster* other : a.clusters) {
        other->groups = lanes > 0 ? c.groups : other->draft.groups;
        other->invocations = c.invocations;
      }
    }
    k = run_kernel_passes(std::move(k),
                          {.target = target_, .alone = lanes == 1, .team = lanes == 0}, log_);
    check_budget(k, c, graph, target_, options_.name);
    for (Cluster* other : a.clusters)
      other->kernel = static_cast<std::uint32_t>(program_.kernels.size());
    if (options_.dump) text_ += kernel::print(k) + "\n";
    program_.kernels.push_back(std::move(k));
  }

  const Target& target_;
  const CompileOptions& options_;
  PassLog& log_;
  Program& program_;
  std::string text_;
};

/// Throws UsageError for names of passes that are not there or that others rely on.
void check_left_out(const CompileOptions& options) {
  std::string names;
  std::set<std::string_view> known;
  const auto add = [&](const auto& passes) {
    for (const auto& p : passes)
      if (may_be_left_out(p)) {
        known.insert(p.name);
        names += (names.empty() ? "" : ", ") + std::string(p.name);
      }
  };
  add(graph_passes());
  add(kernel_passes());
  for (const std::string& pass : options.passes.left_out)
    if (!known.contains(pass))
      usage_error(options.name, "there is no pass `" + pass + "` to leave out; there are " + names,
                  {});
}

}  // namespace

Program compile(const Graph& traced, const Target& device, const CompileOptions& options) {
  Graph input = lower_effects(traced, {options.print_bytes}).graph;
  Target target = device;
  target.built_in_functions |= options.fast_math;
  if (target.built_in_functions) target.refine = {};
  const auto dump = [&](const char* stage, auto text) {
    if (options.dump) options.dump(options.dump_user, stage, text());
  };
  dump("traced", [&] { return print(traced, {.source_lines = false}); });
  Program program;
  program.name = options.name;
  program.inputs = input.input_avals();
  program.outputs = input.output_avals();

  check_left_out(options);
  PassLog log(options.passes);
  Division division = run_graph_passes(std::move(input), target, options, log);
  const Graph& graph = division.graph;
  Partition& parts = division.parts;
  program.graph_hash = structural_hash(traced);
  if (options.keep_text) program.graph_text = print(graph);
  dump("graph", [&] { return print(graph); });

  if (options.keep_text) program.fusion_text = print(parts, graph);
  dump("fusion", [&] { return print(parts, graph); });

  KernelMaker kernels(target, options, log, program);
  kernels.make(parts, graph);
  if (options.passes.record) dump("passes", [&] { return log.text(); });
  dump("kernel", [&] { return kernels.text(); });

  schedule(program, graph, parts, target);
  dump("memory", [&] { return print(program); });
  dump("plan", [&] { return print(program); });
  return program;
}

}  // namespace gnomon
