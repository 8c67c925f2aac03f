// codegen/lower/loop_region.cpp -- loops rewritten as graphs of one iteration.
#include "codegen/lower/loop_region.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "codegen/graph/primitive.h"
#include "codegen/graph/simplify.h"
#include "codegen/lower/split.h"
#include "codegen/lower/uses.h"
#include "codegen/primitives/control.h"
#include "codegen/primitives/gather_scatter.h"
#include "codegen/primitives/lax.h"
#include "codegen/trace/trace.h"

namespace gnomon {

namespace {

const Equation* producer(const Graph& g, ValueId v) {
  for (const Equation& e : g.equations)
    for (ValueId o : e.outputs)
      if (o == v) return &e;
  return nullptr;
}

/// The number that all elements of `v` are, when it is written in the graph.
const HostArray* literal(const Graph& g, ValueId v) {
  const Equation* e = producer(g, v);
  if (e == nullptr || e->primitive != &constant_p) return nullptr;
  return &e->params.as<ConstantParams>().value.array();
}

/// What an iteration adds to a carried integer that does nothing else.
const HostArray* step_of(const Graph& body, std::size_t i) {
  const Aval& a = body.avals[body.inputs[i]];
  if (a.shape.rank() > 0 || !is_integer(a.dtype)) return nullptr;
  const Equation* e = producer(body, body.outputs[i]);
  if (e == nullptr || e->primitive != &add_p) return nullptr;
  if (e->inputs[0] == body.inputs[i]) return literal(body, e->inputs[1]);
  if (e->inputs[1] == body.inputs[i]) return literal(body, e->inputs[0]);
  return nullptr;
}

/// A row of `all` along its first axis.
Array row_of(const Array& all, const Array& at) {
  const Shape& shape = all.shape();
  DynamicSliceParams p{shape.with(0, 1), 0};
  Arrays in{all, at};
  for (int a = 1; a < shape.rank(); ++a) in.push_back(lax::scalar_integer(DType::i32, 0));
  return lax::reshape(emit1(dynamic_slice_p, p, in, {}), shape.without(0));
}

Array with_row(const Array& all, const Array& row, const Array& at) {
  const Shape& shape = all.shape();
  Arrays in{all, lax::reshape(row, shape.with(0, 1)), at};
  for (int a = 1; a < shape.rank(); ++a) in.push_back(lax::scalar_integer(DType::i32, 0));
  return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{}, in, {});
}

/// Every next carried value gets an equation of its own: what is an input, or another's next value
/// as well, is copied.
void own_outputs(Graph& g, std::size_t carried) {
  std::vector<bool> taken(g.avals.size(), false);
  for (ValueId v : g.inputs) taken[v] = true;
  for (std::size_t i = 0; i < carried; ++i) {
    ValueId& out = g.outputs[i];
    if (out == g.inputs[i]) continue;
    if (!taken[out]) {
      taken[out] = true;
      continue;
    }
    const Aval a = g.avals[out];
    const ValueId copy = g.fresh(a);
    taken.push_back(true);
    g.equations.push_back({&reshape_p, ReshapeParams{a.shape}, {out}, {copy}, {}});
    out = copy;
  }
}

LoopBody scan_body(const Graph& outer, const Equation& e, const std::vector<bool>& wanted) {
  const auto& p = e.params.as<ScanParams>();
  const Graph& body = *p.body;
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto sequences = static_cast<std::size_t>(p.sequences);
  LoopBody r;
  r.trips = static_cast<std::uint64_t>(p.length);
  Trace t;
  t.loc = e.loc;
  Arrays in(body.inputs.size());
  std::vector<bool> counts(carried, false);
  for (std::size_t i = 0; i < carried; ++i) {
    counts[i] = step_of(body, i) != nullptr && !wanted[e.outputs[i]];
    if (counts[i]) continue;
    in[i] = t.input(body.avals[body.inputs[i]]);
    r.carried.push_back({e.inputs[i], wanted[e.outputs[i]] ? e.outputs[i] : LoopBody::none});
  }
  Arrays stacked(e.outputs.size());
  for (std::size_t o = carried; o < e.outputs.size(); ++o) {
    if (!wanted[e.outputs[o]]) continue;
    stacked[o] = t.input(outer.avals[e.outputs[o]]);
    r.carried.push_back({LoopBody::none, e.outputs[o]});
  }
  const Array iteration = t.input({DType::i32, {}});
  const auto constant = [&](ValueId v) {
    if (const HostArray* known = literal(outer, v)) return lax::constant(*known);
    r.constants.push_back(v);
    return t.input(outer.avals[v]);
  };
  const Array step =
      p.reverse ? lax::sub_from(static_cast<double>(p.length - 1), iteration) : iteration;
  for (std::size_t i = 0; i < carried; ++i)
    if (counts[i]) {
      const Array by = lax::constant(*step_of(body, i));
      in[i] = lax::add(constant(e.inputs[i]), lax::mul(lax::convert(iteration, by.dtype()), by));
    }
  for (std::size_t s = carried; s < carried + sequences; ++s)
    in[s] = row_of(constant(e.inputs[s]), step);
  for (std::size_t c = carried + sequences; c < in.size(); ++c) in[c] = constant(e.inputs[c]);
  const Arrays out = inline_graph(body, in);
  Arrays next;
  for (std::size_t i = 0; i < carried; ++i)
    if (!counts[i]) next.push_back(out[i]);
  for (std::size_t o = carried; o < e.outputs.size(); ++o)
    if (wanted[e.outputs[o]]) next.push_back(with_row(stacked[o], out[o], step));
  r.graph = t.finish(next);
  return r;
}

/// Loops of at most this many iterations need no counter in memory.
constexpr std::uint64_t most_unrolled = 32;

/// The number of an iteration is no array; loops that begin with it get a copy that is.
void store_iterations(Graph& g, const std::map<ValueId, IterationSource>& iterations) {
  std::map<ValueId, ValueId> copies;
  for (Equation& e : g.equations) {
    if (!is_loop(e) || e.primitive == &cond_p) continue;
    const int carried = e.primitive == &while_p ? e.params.as<WhileParams>().carried
                                                : e.params.as<ScanParams>().carried;
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

double elements(const Aval& a) { return static_cast<double>(a.shape.size()); }

double work_of(const Graph& g) {
  double sum = 0;
  for (const Equation& e : g.equations) {
    switch (e.primitive->lower.kind) {
      case Lowering::Kind::while_loop: {
        // How often is not known; a few times at least.
        const auto& p = e.params.as<WhileParams>();
        const double trips = p.max_steps < 0 ? 16 : std::min<double>(16, p.max_steps);
        sum += trips * work_per_iteration(e);
        continue;
      }
      case Lowering::Kind::scan:
        sum += static_cast<double>(e.params.as<ScanParams>().length) * work_per_iteration(e);
        continue;
      case Lowering::Kind::cond:
        for (const GraphPtr& branch : e.params.graphs()) sum += work_of(*branch);
        continue;
      case Lowering::Kind::scatter:
        sum += elements(g.avals[e.inputs[2]]) + elements(g.avals[e.outputs[0]]);
        continue;
      case Lowering::Kind::element:
      case Lowering::Kind::expand:
        break;
    }
    double size = 0;
    for (ValueId v : e.outputs) size += elements(g.avals[v]);
    if (e.primitive == &dot_general_p) {
      const double a = elements(g.avals[e.inputs[0]]), b = elements(g.avals[e.inputs[1]]);
      size = std::sqrt(a * b * std::max(1.0, size));
    } else if (e.primitive->lower.cost == Cost::view) {
      size = 0;  // whoever reads it pays
    } else {
      for (ValueId v : e.inputs) size = std::max(size, elements(g.avals[v]));
      if (e.primitive->lower.cost == Cost::heavy) size *= 12;
    }
    sum += size;
  }
  return sum;
}

Array all_lanes(const Array& flags, const Shape& shape) {
  return shape.rank() == 1 ? flags : lax::broadcast(flags, shape, {0});
}

LoopBody while_body(const Graph& outer, const Equation& e, const std::vector<bool>& wanted) {
  const auto& p = e.params.as<WhileParams>();
  const Graph& body = *p.body;
  const auto carried = static_cast<std::size_t>(p.carried);
  const bool laned = p.lanes > 0;
  LoopBody r;
  if (p.max_steps >= 0) r.trips = static_cast<std::uint64_t>(p.max_steps);
  // Body and condition are traced alike, so that their inputs correspond.
  const auto traced = [&](bool condition) {
    r.carried.clear();
    r.constants.clear();
    Trace t;
    t.loc = e.loc;
    Arrays in(body.inputs.size());
    std::vector<bool> counts(carried, false);
    for (std::size_t i = 0; i < carried; ++i) {
      // A lane that has stopped stops counting.
      counts[i] = !laned && step_of(body, i) != nullptr && !wanted[e.outputs[i]];
      if (counts[i]) continue;
      in[i] = t.input(body.avals[body.inputs[i]]);
      r.carried.push_back({e.inputs[i], wanted[e.outputs[i]] ? e.outputs[i] : LoopBody::none});
    }
    Array running;
    if (laned) {
      running = t.input({DType::boolean, {p.lanes}});
      r.carried.push_back({LoopBody::none, LoopBody::none});
    }
    const Array iteration = t.input({DType::i32, {}});
    const auto constant = [&](ValueId v) {
      if (const HostArray* known = literal(outer, v)) return lax::constant(*known);
      r.constants.push_back(v);
      return t.input(outer.avals[v]);
    };
    for (std::size_t i = 0; i < carried; ++i)
      if (counts[i]) {
        const Array by = lax::constant(*step_of(body, i));
        in[i] = lax::add(constant(e.inputs[i]), lax::mul(lax::convert(iteration, by.dtype()), by));
      }
    for (std::size_t c = carried; c < in.size(); ++c) in[c] = constant(e.inputs[c]);
    Array go;
    if (laned || condition) go = inline_graph(*p.condition, in)[0];
    if (laned) {
      // In the first iteration nothing was stored yet: every lane whose condition holds runs.
      const Array first = lax::eq(iteration, lax::zeros_like(iteration));
      const Array before = emit1(or_p, {}, {lax::broadcast(first, {p.lanes}, {}), running}, e.loc);
      go = lax::logical_and(before, go);
    }
    if (condition)
      return t.finish({laned ? emit1(reduce_max_p, AxesParams{{0}}, {go}, e.loc) : go});
    const Arrays out = inline_graph(body, in);
    Arrays next;
    for (std::size_t i = 0; i < carried; ++i)
      if (!counts[i])
        next.push_back(laned ? lax::select(all_lanes(go, in[i].shape()), out[i], in[i]) : out[i]);
    if (laned) next.push_back(go);
    return t.finish(next);
  };
  r.condition = traced(true);
  r.graph = traced(false);
  return r;
}

/// The body of a loop; nothing when it has another form.
std::optional<LoopBody> loop_body(const Graph& outer, const Equation& e,
                                  const std::vector<bool>& wanted, const Target& target) {
  std::optional<LoopBody> r;
  if (e.primitive == &scan_p && e.params.as<ScanParams>().length > 0)
    r = scan_body(outer, e, wanted);
  if (e.primitive == &while_p) r = while_body(outer, e, wanted);
  if (!r) return r;
  r->graph = split_reductions(simplify(r->graph), target);
  own_outputs(r->graph, r->carried.size());
  if (!r->condition) return r;
  Graph& condition = *r->condition;
  condition = split_reductions(simplify(condition), target);
  const ValueId copy = condition.fresh({DType::boolean, {}});
  condition.equations.push_back(
      {&reshape_p, ReshapeParams{{}}, {condition.outputs[0]}, {copy}, {}});
  condition.outputs = {copy};
  return r;
}

bool holds_gates(const Partition& p) {
  return std::any_of(p.clusters.begin(), p.clusters.end(),
                     [](const Cluster& c) { return c.loop && c.loop->gated; });
}

/// Dispatches of one iteration with the loops inside written out.
double dispatches(const Partition& p) {
  double sum = 0;
  for (const Cluster& c : p.clusters)
    sum += c.loop ? static_cast<double>(*c.loop->body.trips) * dispatches(c.loop->parts)
                  : static_cast<double>(c.draft.parameters.size());
  return sum;
}

}  // namespace

double work_per_iteration(const Equation& loop) {
  double sum = 0;
  for (const GraphPtr& g : loop.params.graphs()) {
    sum += work_of(*g);
    for (ValueId v : g->outputs) sum += elements(g->avals[v]);
  }
  return sum;
}

std::shared_ptr<LoopRegion> loop_region(const Graph& outer, const Equation& e,
                                        const std::vector<bool>& wanted, const Target& target,
                                        const CompileOptions& options, const LoopNest& nest) {
  if (!is_loop(e) ||
      std::none_of(e.outputs.begin(), e.outputs.end(), [&](ValueId v) { return wanted[v]; }))
    return nullptr;
  auto body = loop_body(outer, e, wanted, target);
  if (!body) return nullptr;
  auto r = std::make_shared<LoopRegion>();
  r->body = std::move(*body);
  const std::size_t carried = r->body.carried.size();
  r->takes_init.assign(carried, false);
  const auto inside = [&](const Graph& g, IterationSource iteration, bool gated) {
    LoopNest inner{0, {{g.inputs[carried], iteration}}, gated};
    for (std::size_t i = 0; i < r->body.constants.size(); ++i)
      if (auto known = nest.iterations.find(r->body.constants[i]); known != nest.iterations.end())
        inner.iterations[g.inputs[carried + 1 + i]] = known->second;
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
  if (!r->body.condition) {
    // Written out where a gate decides about all of it; else a counter makes chunks possible.
    const bool counter = !nest.gated && *r->body.trips > most_unrolled;
    ready = take_apart({true, counter, 0}, false);
    constexpr double most_between_gates = 64;
    r->gated = holds_gates(r->parts) ||
               (nest.gated &&
                static_cast<double>(*r->body.trips) * dispatches(r->parts) > most_between_gates);
  }
  if (r->body.condition || r->gated) ready = take_apart({false, true, 0}, true);
  r->body.graph = std::move(ready);
  if (r->body.condition) {
    const LoopNest inner = inside(*r->body.condition, {false, true, 1}, true);
    store_iterations(*r->body.condition, inner.iterations);
    r->condition = partition(*r->body.condition, target, options, inner);
    for (std::size_t i = 0; i < r->condition.clusters.size(); ++i) {
      const Cluster& c = r->condition.clusters[i];
      if (!c.loop && c.draft.mapping == "map" && c.draft.iterations.empty() &&
          c.writes == r->body.condition->outputs)
        r->gate = i;
    }
  }
  return r;
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
