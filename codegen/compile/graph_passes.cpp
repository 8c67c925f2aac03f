// codegen/compile/graph_passes.cpp -- passes over graphs, in order.
#include "codegen/compile/graph_passes.h"

#include <algorithm>

#include "codegen/cost/device_model.h"
#include "codegen/graph/text.h"
#include "codegen/graph/verify.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/table.h"
#include "codegen/optimize/expand.h"
#include "codegen/optimize/if_convert.h"
#include "codegen/optimize/input_products.h"
#include "codegen/optimize/licm.h"
#include "codegen/optimize/narrow_choices.h"
#include "codegen/optimize/save_residuals.h"
#include "codegen/optimize/sink_accumulations.h"
#include "codegen/optimize/split.h"
#include "codegen/optimize/transpose_for_lanes.h"
#include "codegen/partition/loop_region.h"
#include "codegen/simplify/simplify.h"

namespace gnomon {
namespace {

using Made = std::optional<Graph>;

/// Copies of an array, one for each lane, in which each lane looks some elements up: nobody counts
/// their elements.
std::vector<bool> only_looked_up(const Graph& g) {
  std::vector<bool> r(g.avals.size(), false);
  for (const Equation& e : g.equations)
    if (e.primitive == &broadcast_p) r[e.outputs[0]] = true;
  for (const Equation& e : g.equations)
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
      if (e.primitive != &gather_p || i > 0) r[e.inputs[i]] = false;
  for (ValueId v : g.outputs) r[v] = false;
  return r;
}

/// Throws UsageError where the device lacks an element type that the graph uses, and for an array
/// whose elements 32 bits do not count.
void check_arrays(const Graph& g, const Target& target, std::string_view name) {
  const auto check = [&](const Aval& a, Loc loc) {
    // What else a device may lack, passes/legalize makes of what it has.
    if (a.dtype == DType::f64 && !target.features.float64)
      usage_error(name,
                  to_string(a.dtype, a.shape) + " needs 64-bit floats, which \"" + target.device +
                      "\" lacks; use f32",
                  loc);
  };
  const auto check_size = [&](const Aval& a, Loc loc) {
    if (a.shape.size() >= (Dim{1} << 31))
      usage_error(name, to_string(a.dtype, a.shape) + " has 2^31 elements or more; split it", loc);
  };
  for (ValueId v : g.inputs) {
    check(g.avals[v], {});
    check_size(g.avals[v], {});
  }
  const std::vector<bool> tables = only_looked_up(g);
  for (const Equation& e : g.equations) {
    for (ValueId v : e.outputs) {
      check(g.avals[v], e.loc);
      if (!tables[v]) check_size(g.avals[v], e.loc);
    }
    for (const GraphPtr& sub : e.params.graphs()) check_arrays(*sub, target, name);
  }
}

/// The bodies of loops whose iterations have kernels of their own.
std::set<const Graph*> bodies_in_kernels(const Graph& g, const Partition& parts) {
  std::set<ValueId> results;
  for (const Cluster& c : parts.clusters)
    if (c.loop && !c.loop->body.decides && c.loop->body.steps == 1)
      results.insert(c.writes.begin(), c.writes.end());
  std::set<const Graph*> bodies;
  for (const Equation& e : g.equations)
    if (std::any_of(e.outputs.begin(), e.outputs.end(),
                    [&](ValueId v) { return results.contains(v); }))
      for (const GraphPtr& body : e.params.graphs()) bodies.insert(body.get());
  return bodies;
}

/// The loops that every lane runs for itself, in one go.
LaneLoops loops_by_lane(const Graph& g, const Partition& parts) {
  std::map<ValueId, Dim> lanes;
  for (const Cluster& c : parts.clusters)
    if (!c.loop && !c.branch && c.draft.mapping == "lane")
      for (ValueId v : c.writes) lanes[v] = c.draft.kernel.lanes;
  LaneLoops loops;
  for (const Equation& e : g.equations)
    for (ValueId v : e.outputs)
      if (const auto l = lanes.find(v); l != lanes.end() && is_loop(e))
        for (const GraphPtr& body : e.params.graphs()) loops[body.get()] = l->second;
  return loops;
}

std::set<const Graph*> bodies_in_kernels(const Division& d) {
  return bodies_in_kernels(d.graph, d.parts);
}

Made fits(const Graph& g, const GraphContext& c) {
  check_arrays(g, c.target, c.options.name);
  return std::nullopt;
}

Made opened(const Graph& g, const GraphContext& c) {
  if (!c.division->branch_too_large) return std::nullopt;
  return simplify(narrow_choices(if_convert(g)));
}

Made transposed(const Graph& g, const GraphContext& c) {
  if (!runs_on_cores(c.target)) return std::nullopt;
  return transpose_for_lanes(g, loops_by_lane(c.division->graph, c.division->parts));
}

constexpr GraphPass table[] = {
    {"expand", [](const Graph& g, const GraphContext& c) -> Made { return expand(g, c.target); }, 0,
     expanded},
    {"simplify", [](const Graph& g, const GraphContext&) -> Made { return simplify(g); }, expanded,
     canonical},
    // What no step of a loop or no output asks for need not fit the device.
    {"fit", fits, canonical, fitting},
    {"save_residuals",
     [](const Graph& g, const GraphContext& c) -> Made {
       return save_residuals(g, c.options.kept_row_bytes);
     },
     canonical},
    {"sink_accumulations",
     [](const Graph& g, const GraphContext&) -> Made { return sink_accumulations(g); }, canonical},
    {"narrow_choices",
     [](const Graph& g, const GraphContext&) -> Made { return narrow_choices(g); }, canonical},
    {"if_convert", opened, canonical | divided, divisible},
    {"input_products",
     [](const Graph& g, const GraphContext& c) {
       return input_products_in_front(g, bodies_in_kernels(*c.division));
     },
     divisible | divided},
    {"licm",
     [](const Graph& g, const GraphContext& c) {
       return hoist_invariants(g, bodies_in_kernels(*c.division), c.target);
     },
     divisible | divided},
    {"transpose_for_lanes", transposed, divisible | divided},
};
static_assert(finds_what_it_needs(table, divided));

Division divide(const Graph& g, const Target& target, const CompileOptions& options) {
  Division d{split_reductions(g, target), {}};
  try {
    d.parts = partition(d.graph, target, options);
  } catch (const BranchTooLarge&) {
    d.branch_too_large = true;
  }
  return d;
}

std::size_t equations_of(const Graph& g) {
  std::size_t n = g.equations.size();
  for (const Equation& e : g.equations)
    for (const GraphPtr& sub : e.params.graphs()) n += equations_of(*sub);
  return n;
}

}  // namespace

std::span<const GraphPass> graph_passes() { return table; }

Division run_graph_passes(Graph g, const Target& target, const CompileOptions& options,
                          PassLog& log) {
  std::optional<Division> division;  // of the graph as it is
  for (const GraphPass& p : table) {
    if (!log.runs(p.name)) continue;
    if ((p.needs & divided) != 0 && !division) division = divide(g, target, options);
    const PassClock clock;
    Made made = p.run(g, {target, options, division ? &*division : nullptr});
    if (log.records()) {
      const double microseconds = clock.microseconds();
      const std::string before = print(g), after = made ? print(*made) : before;
      log.add(p.name, "graph", equations_of(g), equations_of(made ? *made : g), microseconds,
              after == before ? "" : after);
    }
    if (!made) continue;
    if (log.verifies()) verify(*made, std::string(p.name).c_str());
    g = std::move(*made);
    division.reset();
  }
  if (!division) division = divide(g, target, options);
  GNOMON_CHECK(!division->branch_too_large, "a branch that was opened is too large for a kernel");
  return std::move(*division);
}

}  // namespace gnomon
