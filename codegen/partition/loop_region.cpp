// codegen/partition/loop_region.cpp -- loops whose bodies are partitioned on their own.
#include "codegen/partition/loop_region.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "codegen/analysis/in_place.h"
#include "codegen/analysis/uses.h"
#include "codegen/cost/work.h"
#include "codegen/graph/primitive.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/optimize/loop_body.h"

namespace gnomon {

namespace {

/// Loops of at most this many iterations need no counter in memory.
constexpr std::uint64_t most_unrolled = 32;
/// And of slices, between which whoever watches looks.
constexpr std::uint64_t most_slices_unrolled = 4;

/// The number of an iteration is no array; loops that begin with it, and branches that it
/// chooses, get a copy that is.
void store_iterations(Graph& g, const std::map<ValueId, IterationSource>& iterations) {
  std::map<ValueId, ValueId> copies;
  for (Equation& e : g.equations) {
    if (!is_loop(e)) continue;
    const int carried = e.primitive == &while_p  ? e.params.as<WhileParams>().carried
                        : e.primitive == &scan_p ? e.params.as<ScanParams>().carried
                                                 : 1;  // the index of a branch
    for (std::size_t i = 0; i < static_cast<std::size_t>(carried); ++i) {
      if (!iterations.contains(e.inputs[i])) continue;
      const auto [copy, fresh] = copies.try_emplace(e.inputs[i], 0);
      if (fresh) copy->second = g.fresh(g.avals[e.inputs[i]]);
      e.inputs[i] = copy->second;
    }
  }
  for (const auto& [v, copy] : copies)
    g.equations.insert(g.equations.begin(), {&reshape_p, ReshapeParams{{}}, {v}, {copy}, {}});
}

/// Microseconds that the dispatches of one iteration take to start, and what one workgroup plays
/// inside; loops of unknown length make a few iterations.
double starting(const Partition& p, double start) {
  double sum = 0;
  for (const Cluster& c : p.clusters) {
    if (c.loop) {
      const auto trips =
          static_cast<double>(std::min<std::uint64_t>(16, c.loop->body.trips.value_or(16)));
      sum += c.loop->by_group ? start + trips * c.loop->group_microseconds
                              : trips * (starting(c.loop->parts, start) + start);
    } else if (c.branch) {
      for (const BranchRegion::Side& side : c.branch->sides) sum += starting(side.parts, start);
    } else {
      sum += start * static_cast<double>(c.draft.parameters.size());
    }
  }
  return sum;
}

bool holds_gates(const Partition& p) {
  return std::any_of(p.clusters.begin(), p.clusters.end(),
                     [](const Cluster& c) { return c.branch || (c.loop && c.loop->gated); });
}

/// Dispatches of one iteration with the loops inside written out.
double dispatches(const Partition& p) {
  double sum = 0;
  for (const Cluster& c : p.clusters)
    sum += c.loop ? static_cast<double>(*c.loop->body.trips) * dispatches(c.loop->parts)
                  : static_cast<double>(c.draft.parameters.size());
  return sum;
}

bool loads(const kernel::Region& r) {
  return std::any_of(r.body.begin(), r.body.end(), [](const kernel::Instruction& i) {
    return i.op == kernel::Op::load || std::any_of(i.regions.begin(), i.regions.end(), loads);
  });
}

/// Whether a gate, one invocation that reads memory as it was written, may do the work of a kernel.
bool gate_may_do(const Cluster& c) {
  if (c.loop || c.branch || !c.draft.iterations.empty() || c.draft.kernel.lanes != 1) return false;
  if (c.draft.parameters.size() != 1 || !c.draft.parameters[0].empty()) return false;
  // What long loops read is read as texels, by a kernel of its own.
  constexpr std::uint64_t short_loops = 256;
  const std::vector<kernel::Instruction>& body = c.draft.kernel.body.body;
  return kernel::worst_case_trips(c.draft.kernel) <= short_loops ||
         std::none_of(body.begin(), body.end(), [](const kernel::Instruction& i) {
           return std::any_of(i.regions.begin(), i.regions.end(), loads);
         });
}

/// How many clusters at the end may be the gate's; the last of them gives the decision.
std::size_t tail_for_gate(const Partition& p, ValueId decision) {
  std::size_t n = 0;
  while (n < p.clusters.size() && gate_may_do(p.clusters[p.clusters.size() - 1 - n])) ++n;
  return n > 0 && std::count(p.clusters.back().writes.begin(), p.clusters.back().writes.end(),
                             decision) > 0
             ? n
             : 0;
}

}  // namespace

double starting_per_iteration(const LoopRegion& r, double start) {
  return starting(r.parts, start) + starting(r.condition, start) + (r.gated ? start : 0);
}

std::shared_ptr<LoopRegion> loop_region(const Graph& outer, const Equation& e,
                                        const std::vector<bool>& wanted, const Target& target,
                                        const CompileOptions& options, const LoopNest& nest,
                                        const Slicing& slicing) {
  if (!is_loop(e) ||
      std::none_of(e.outputs.begin(), e.outputs.end(), [&](ValueId v) { return wanted[v]; }))
    return nullptr;
  auto body = slicing.steps > 0
                  ? sliced_loop_body(outer, e, wanted, target, slicing, options.decisions)
                  : loop_body(outer, e, wanted, target, options.decisions);
  if (!body) return nullptr;
  auto r = std::make_shared<LoopRegion>();
  r->body = std::move(*body);
  r->body.most_steps = most_steps(e);
  r->body.all_steps = e.primitive == &scan_p;
  r->body.most_per_slice = slicing.most;
  if (slicing.steps > 0)
    r->body.steps = r->body.decides ? slicing.steps : r->body.most_steps / *r->body.trips;
  const std::size_t carried = r->body.carried.size();
  r->takes_init.assign(carried, false);
  const auto inside = [&](const Graph& g, IterationSource iteration, bool gated) {
    LoopNest inner{0, {{g.inputs[carried], iteration}}, gated, true};
    for (std::size_t i = 0; i < r->body.constants.size(); ++i)
      if (auto known = nest.iterations.find(r->body.constants[i]); known != nest.iterations.end())
        inner.iterations[g.inputs[r->body.first_constant() + i]] = known->second;
    return inner;
  };
  const auto take_apart = [&](IterationSource iteration, bool gated) {
    r->iteration = iteration;
    r->gated = gated;
    LoopNest inner = inside(r->body.graph, iteration, nest.gated || gated);
    inner.carried = carried;
    Graph g = r->body.graph;
    store_iterations(g, inner.iterations);
    r->parts = partition(g, target, options, inner);
    return g;
  };
  Graph ready;
  if (!r->body.condition && !r->body.decides) {
    // Written out where a gate decides about all of it; else a counter makes chunks possible.
    const std::uint64_t most = r->body.steps > 1 ? most_slices_unrolled : most_unrolled;
    const bool counter = !nest.gated && *r->body.trips > most;
    ready = take_apart({true, counter, 0}, false);
    constexpr double most_between_gates = 64;
    r->gated = holds_gates(r->parts) ||
               (nest.gated &&
                static_cast<double>(*r->body.trips) * dispatches(r->parts) > most_between_gates);
  }
  // A body that decides runs before the first decision, when the counter stands at -1.
  if (r->body.condition || r->body.decides || r->gated)
    ready = take_apart({false, true, r->body.decides ? 1 : 0}, true);
  r->body.graph = std::move(ready);
  if (r->body.decides) r->gate = tail_for_gate(r->parts, r->body.decision());
  if (r->body.condition) {
    const LoopNest inner = inside(*r->body.condition, {false, true, 1}, true);
    store_iterations(*r->body.condition, inner.iterations);
    r->condition = partition(*r->body.condition, target, options, inner);
    r->gate = tail_for_gate(r->condition, r->body.decision());
  }
  return r;
}

std::shared_ptr<BranchRegion> branch_region(const Equation& e, const std::vector<bool>& wanted,
                                            const Target& target, const CompileOptions& options,
                                            const LoopNest& nest) {
  if (e.primitive != &cond_p || e.params.as<CondParams>().lanes > 0) return nullptr;
  auto r = std::make_shared<BranchRegion>();
  r->index = e.inputs[0];
  r->operands.assign(e.inputs.begin() + 1, e.inputs.end());
  for (ValueId v : e.outputs)
    if (wanted[v]) r->results.push_back(v);
  if (r->results.empty() || nest.iterations.contains(r->index)) return nullptr;
  for (Graph& g : branch_graphs(e, wanted, target, options.decisions)) {
    LoopNest inner{0, {}, true, true};
    for (std::size_t i = 0; i < r->operands.size(); ++i)
      if (auto known = nest.iterations.find(r->operands[i]); known != nest.iterations.end())
        inner.iterations[g.inputs[i]] = known->second;
    store_iterations(g, inner.iterations);
    CompileOptions named = options;
    named.name += "_side" + std::to_string(r->sides.size());
    Partition parts = partition(g, target, named, inner);
    r->sides.push_back({std::move(g), std::move(parts)});
  }
  return r;
}

Cluster cluster_of(std::shared_ptr<BranchRegion> region, std::string reason) {
  Cluster c;
  std::set<ValueId> reads(region->operands.begin(), region->operands.end());
  reads.insert(region->index);
  c.reads.assign(reads.begin(), reads.end());
  c.writes = region->results;
  c.branch = std::move(region);
  c.reason = std::move(reason);
  return c;
}

Cluster cluster_of(std::shared_ptr<LoopRegion> region, std::string reason) {
  Cluster c;
  std::set<ValueId> reads(region->body.constants.begin(), region->body.constants.end());
  for (const auto& [init, end] : region->body.carried) {
    if (init != LoopBody::none) reads.insert(init);
    if (end != LoopBody::none) c.writes.push_back(end);
  }
  c.reads.assign(reads.begin(), reads.end());
  c.loop = std::move(region);
  c.reason = std::move(reason);
  return c;
}

}  // namespace gnomon
