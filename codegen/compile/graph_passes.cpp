// codegen/compile/graph_passes.cpp -- passes over graphs, in order.
#include "codegen/compile/graph_passes.h"

#include <algorithm>

#include "codegen/cost/device_model.h"
#include "codegen/graph/text.h"
#include "codegen/graph/verify.h"
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
#include "codegen/partition/predicted_loops.h"
#include "codegen/simplify/simplify.h"

namespace gnomon {

// Passes that only this table calls: each is described in the file of its name in codegen/optimize.
std::optional<Graph> narrow_to_demand(const Graph&);

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

Made fits(const Graph& g, const GraphContext& c) {
  check_arrays(g, c.target, c.options.name);
  return std::nullopt;
}

Made if_converted(const Graph& g, const GraphContext& c) {
  if (!c.branch_too_large && !wants_if_conversion(g, c.target, c.options)) return std::nullopt;
  return simplify(narrow_choices(if_convert(g)));
}

Made products_in_front(const Graph& g, const GraphContext& c) {
  PredictedLoops loops(g, c.target, c.options);
  return input_products_in_front(g, [&](const Equation& e) { return loops.in_kernels(e); });
}

Made hoisted(const Graph& g, const GraphContext& c) {
  PredictedLoops loops(g, c.target, c.options);
  return hoist_invariants(
      g, [&](const Equation& e) { return loops.in_kernels(e); }, c.target);
}

Made transposed(const Graph& g, const GraphContext& c) {
  if (!runs_on_cores(c.target)) return std::nullopt;
  PredictedLoops loops(g, c.target, c.options);
  return transpose_for_lanes(g, [&](const Equation& e) { return loops.by_lanes(e); });
}

constexpr GraphPass table[] = {
    {"expand", [](const Graph& g, const GraphContext& c) -> Made { return expand(g, c.target); }, 0,
     expanded},
    {"simplify", [](const Graph& g, const GraphContext&) -> Made { return simplify(g); }, expanded,
     canonical},
    {"narrow_to_demand",
     [](const Graph& g, const GraphContext&) -> Made { return narrow_to_demand(g); }, canonical},
    // What no step of a loop or no output asks for need not fit the device.
    {"fit", fits, canonical, fitting},
    {.name = "save_residuals",
     .run = [](const Graph& g, const GraphContext& c) -> Made {
       return save_residuals(g, c.options.residual_bytes, c.options.decisions);
     },
     .needs = canonical,
     .of_control = true},
    {.name = "sink_accumulations",
     .run = [](const Graph& g, const GraphContext&) -> Made { return sink_accumulations(g); },
     .needs = canonical,
     .of_control = true},
    {"narrow_choices",
     [](const Graph& g, const GraphContext&) -> Made { return narrow_choices(g); }, canonical},
    {.name = "if_convert",
     .run = if_converted,
     .needs = canonical,
     .makes = converted,
     .of_control = true},
    {.name = "input_products", .run = products_in_front, .needs = converted, .of_control = true},
    {.name = "licm", .run = hoisted, .needs = converted, .of_control = true},
    {.name = "transpose_for_lanes", .run = transposed, .needs = converted, .of_control = true},
};
static_assert(finds_what_it_needs(table, 0));

bool has_control(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(),
                     [](const Equation& e) { return !e.params.graphs().empty(); });
}

std::size_t equations_of(const Graph& g) {
  std::size_t n = g.equations.size();
  for (const Equation& e : g.equations)
    for (const GraphPtr& sub : e.params.graphs()) n += equations_of(*sub);
  return n;
}

Graph run(const GraphPass& p, Graph g, const GraphContext& context, PassLog& log) {
  const PassClock clock(log);
  Made made;
  if (!p.of_control || has_control(g)) made = p.run(g, context);
  if (log.records()) {
    const double microseconds = clock.microseconds();
    const std::string before = print(g), after = made ? print(*made) : before;
    log.add(p.name, "graph", equations_of(g), equations_of(made ? *made : g), microseconds,
            after == before ? "" : after);
  }
  if (!made) return g;
  if (log.verifies()) verify(*made, std::string(p.name).c_str());
  return std::move(*made);
}

/// Nothing where a branch is more than a kernel holds.
std::optional<Division> divide(const Graph& g, const Target& target, const CompileOptions& options,
                               PassLog& log) {
  const PassClock clock(log);
  std::optional<Division> d{{split_reductions(g, target, options.decisions), {}}};
  const std::size_t equations = log.records() ? equations_of(d->graph) : 0;
  try {
    d->parts = partition(d->graph, target, options);
  } catch (const BranchTooLarge&) {
    d.reset();
  }
  if (log.records())
    log.add("partition", "graph", equations_of(g), equations, clock.microseconds(), "");
  return d;
}

}  // namespace

std::span<const GraphPass> graph_passes() { return table; }

Division run_graph_passes(Graph g, const Target& target, const CompileOptions& options,
                          PassLog& log) {
  GraphContext context{target, options};
  const GraphPass* first = std::begin(table);
  for (;;) {
    for (const GraphPass* p = first; p != std::end(table); ++p)
      if (log.runs(p->name)) g = run(*p, std::move(g), context, log);
    if (auto divided = divide(g, target, options, log)) return std::move(*divided);
    GNOMON_CHECK(!context.branch_too_large,
                 "a branch that was converted is too large for a kernel");
    context.branch_too_large = true;
    first = std::find_if(std::begin(table), std::end(table),
                         [](const GraphPass& p) { return p.makes == converted; });
  }
}

}  // namespace gnomon
