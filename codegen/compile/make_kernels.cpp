// codegen/compile/make_kernels.cpp -- finds clusters of one kernel, and makes each kernel once.
#include "codegen/compile/make_kernels.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "codegen/compile/candidates.h"
#include "codegen/compile/invocations.h"
#include "codegen/cost/device_model.h"
#include "codegen/graph/primitive.h"
#include "codegen/optimize/kernel_passes.h"
#include "codegen/partition/loop_region.h"
#include "shaders/kernel/same.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/trips.h"
#include "shaders/passes/simplify.h"

namespace gnomon {

namespace {

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
    // What one workgroup plays is not started by itself.
    if (options_.candidates && !played) c.reason += candidates_text(c, target_);
    const std::uint32_t lanes = a.kernel.lanes;
    kernel::Kernel k;
    if (any_lanes(a, target_)) {
      k = any_invocations_of(a.kernel, a.clusters, target_);
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

}  // namespace

std::string make_kernels(Partition& parts, const Graph& graph, const Target& target,
                         const CompileOptions& options, PassLog& log, Program& program) {
  KernelMaker kernels(target, options, log, program);
  kernels.make(parts, graph);
  return kernels.text();
}

}  // namespace gnomon
