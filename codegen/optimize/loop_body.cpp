// codegen/optimize/loop_body.cpp -- loops rewritten as graphs of one iteration, or of a slice of
// many.
#include "codegen/optimize/loop_body.h"

#include <algorithm>
#include <functional>

#include "codegen/lax/lax.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/optimize/narrow_choices.h"
#include "codegen/optimize/split.h"
#include "codegen/simplify/simplify.h"
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

/// What a loop needs of outside and can make for itself: literals, what is broadcast from them, and
/// counts. Nothing otherwise.
std::optional<Array> remade(const Graph& outer, ValueId v) {
  const Equation* e = producer(outer, v);
  if (e == nullptr) return std::nullopt;
  if (e->primitive == &constant_p || e->primitive == &iota_p)
    return emit1(*e->primitive, e->params, {}, e->loc);
  if (e->primitive != &broadcast_p) return std::nullopt;
  const auto from = remade(outer, e->inputs[0]);
  if (!from) return std::nullopt;
  return emit1(broadcast_p, e->params, {*from}, e->loc);
}

/// Inputs of a body behind the carried values, as they are asked for.
struct Constants {
  const Graph& outer;
  Trace& trace;
  std::vector<ValueId>& list;

  Array operator()(ValueId v) const {
    if (auto made = remade(outer, v)) return *made;
    list.push_back(v);
    return trace.input(outer.avals[v]);
  }
};

/// `count` rows of `all` along its first axis.
/// Every output gets an equation of its own: what is an input, or another output as well, is
/// copied. The first so many may be the input with their index.
void own_outputs(Graph& g, std::size_t carried) {
  std::vector<bool> taken(g.avals.size(), false);
  for (ValueId v : g.inputs) taken[v] = true;
  for (std::size_t i = 0; i < g.outputs.size(); ++i) {
    ValueId& out = g.outputs[i];
    if (i < carried && out == g.inputs[i]) continue;
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
  const Constants constant{outer, t, r.constants};
  const Array step =
      p.reverse ? lax::sub_from(static_cast<double>(p.length - 1), iteration) : iteration;
  for (std::size_t i = 0; i < carried; ++i)
    if (counts[i]) {
      const Array by = lax::constant(*step_of(body, i));
      in[i] = lax::add(constant(e.inputs[i]), lax::mul(lax::convert(iteration, by.dtype()), by));
    }
  for (std::size_t s = carried; s < carried + sequences; ++s)
    in[s] = rules::row_of(constant(e.inputs[s]), step);
  for (std::size_t c = carried + sequences; c < in.size(); ++c) in[c] = constant(e.inputs[c]);
  const Arrays out = inline_graph(body, in);
  Arrays next;
  for (std::size_t i = 0; i < carried; ++i)
    if (!counts[i]) next.push_back(out[i]);
  for (std::size_t o = carried; o < e.outputs.size(); ++o)
    if (wanted[e.outputs[o]]) next.push_back(rules::with_row(stacked[o], out[o], step));
  r.graph = t.finish(next);
  return r;
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
    const Constants constant{outer, t, r.constants};
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

/// Long sums in stages, every next value an equation of its own.
LoopBody finished(LoopBody r, const Target& target, Decisions* decisions) {
  r.graph = split_reductions(simplify(narrow_choices(r.graph)), target, decisions);
  own_outputs(r.graph, r.carried.size());
  if (!r.condition) return r;
  Graph& condition = *r.condition;
  condition = split_reductions(simplify(condition), target, decisions);
  const ValueId copy = condition.fresh({DType::boolean, {}});
  condition.equations.push_back(
      {&reshape_p, ReshapeParams{{}}, {condition.outputs[0]}, {copy}, {}});
  condition.outputs = {copy};
  return r;
}

// ---- slices

GraphPtr traced_graph(const std::vector<Aval>& inputs,
                      const std::function<Arrays(const Arrays&)>& f) {
  Trace t;
  Arrays in;
  for (const Aval& a : inputs) in.push_back(t.input(a));
  return std::make_shared<const Graph>(t.finish(f(in)));
}

/// The first `carried` operands of a loop as inputs of the body of its slices, which carries them.
Arrays carry(const Graph& outer, const Equation& e, const std::vector<bool>& wanted,
             std::size_t carried, Trace& t, LoopBody& r) {
  Arrays in;
  for (std::size_t i = 0; i < carried; ++i) {
    in.push_back(t.input(outer.avals[e.inputs[i]]));
    r.carried.push_back({e.inputs[i], wanted[e.outputs[i]] ? e.outputs[i] : LoopBody::none});
  }
  return in;
}

/// Gives a loop one more carried value, the steps taken, of type `count`, and one more constant,
/// how many those may be.
void count_steps(const WhileParams& p, const Aval& count, WhileParams& counting) {
  const auto carried = static_cast<std::size_t>(p.carried);
  std::vector<Aval> avals = p.body->input_avals();
  avals.insert(avals.begin() + p.carried, count);
  avals.push_back({DType::i32, {}});
  const auto original = [&](const Arrays& a) {
    Arrays without(a.begin(), a.end() - 1);
    without.erase(without.begin() + p.carried);
    return without;
  };
  ++counting.carried;
  counting.condition = traced_graph(avals, [&](const Arrays& a) {
    const Array limit = lax::broadcast(a.back(), count.shape, {});
    return Arrays{
        lax::logical_and(inline_graph(*p.condition, original(a))[0], lax::lt(a[carried], limit))};
  });
  counting.body = traced_graph(avals, [&](const Arrays& a) {
    Arrays next = inline_graph(*p.body, original(a));
    next.push_back(lax::add(a[carried], 1.0));
    return next;
  });
}

/// Slices before the one that ends the loop take all their steps: what is left follows from the
/// number of the slice, or is carried where slices differ.
LoopBody sliced_while(const Graph& outer, const Equation& e, const WhileParams& p,
                      const std::vector<bool>& wanted, const Slicing& slicing) {
  const std::uint64_t steps = slicing.steps;
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto most = static_cast<std::uint64_t>(std::max<Dim>(p.max_steps, 0));
  // The last slice takes fewer steps than the others, or none at all.
  const bool counts = slicing.paced || (p.max_steps >= 0 && (most == 0 || most % steps != 0));
  const Aval count{DType::i32, p.lanes > 0 ? Shape(p.lanes) : Shape()}, number{DType::i32, {}};
  LoopBody r;
  r.decides = true;
  r.paced = slicing.paced;
  if (p.max_steps >= 0 && !r.paced)
    r.trips = std::max<std::uint64_t>(1, (most + steps - 1) / steps);
  WhileParams inner = p;
  inner.max_steps = static_cast<Dim>(steps);
  if (r.paced) inner.max_steps = slicing.most > 0 ? static_cast<Dim>(slicing.most) : -1;
  if (counts) count_steps(p, count, inner);
  Trace t;
  t.loc = e.loc;
  Arrays in = carry(outer, e, wanted, carried, t, r);
  // Where slices differ: the steps taken before this one.
  const bool adds = r.paced && p.max_steps >= 0;
  const DType sum = most < (std::uint64_t{1} << 31) ? DType::i32 : DType::i64;
  Array taken;
  if (adds) {
    taken = t.input({sum, {}});
    r.carried.push_back({LoopBody::none, LoopBody::none});
  }
  const Array iteration = t.input(number);
  Array limit;
  if (r.paced) limit = t.input(number);
  const Constants constant{outer, t, r.constants};
  Arrays constants;
  for (std::size_t c = carried; c < e.inputs.size(); ++c)
    constants.push_back(constant(e.inputs[c]));
  if (counts) in.push_back(lax::full(count, 0.0));
  in.insert(in.end(), constants.begin(), constants.end());
  const Array all = lax::scalar_integer(sum, static_cast<std::int64_t>(most));
  if (adds) {
    // In the first slice nothing was stored yet.
    taken =
        lax::select(lax::eq(iteration, lax::zeros_like(iteration)), lax::zeros_like(taken), taken);
    limit = lax::convert(emit1(min_p, {}, {lax::convert(limit, sum), lax::sub(all, taken)}, e.loc),
                         DType::i32);
    taken = lax::add(taken, lax::convert(limit, sum));
  } else if (counts && !r.paced) {
    limit = lax::select(lax::eq(iteration, lax::full(number, static_cast<double>(*r.trips - 1))),
                        lax::full(number, static_cast<double>(most % steps)),
                        lax::full(number, static_cast<double>(steps)));
  }
  if (counts) in.push_back(limit);
  Arrays next = emit(while_p, inner, in, e.loc);
  next.resize(carried);
  Arrays last = next;
  last.insert(last.end(), constants.begin(), constants.end());
  Array go = inline_graph(*p.condition, last)[0];
  if (p.lanes > 0) go = emit1(reduce_max_p, AxesParams{{0}}, {go}, e.loc);
  if (adds) {
    next.push_back(taken);
    go = lax::logical_and(go, lax::lt(taken, all));
  }
  next.push_back(go);
  r.graph = t.finish(next);
  return r;
}

/// A scan without rows as the loop that it is.
WhileParams as_while(const ScanParams& p) {
  WhileParams w;
  w.condition = traced_graph(p.body->input_avals(), [](const Arrays&) {
    return Arrays{lax::eq(lax::scalar(DType::i32, 0), lax::scalar(DType::i32, 0))};
  });
  w.body = p.body;
  w.carried = p.carried;
  w.max_steps = p.length;
  return w;
}

/// `steps` divides the length.
LoopBody sliced_scan(const Graph& outer, const Equation& e, const std::vector<bool>& wanted,
                     Dim steps) {
  const auto& p = e.params.as<ScanParams>();
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto sequences = static_cast<std::size_t>(p.sequences);
  LoopBody r;
  r.trips = static_cast<std::uint64_t>(p.length / steps);
  Trace t;
  t.loc = e.loc;
  Arrays in = carry(outer, e, wanted, carried, t, r);
  Arrays stacked;
  for (std::size_t o = carried; o < e.outputs.size(); ++o) {
    stacked.push_back(t.input(outer.avals[e.outputs[o]]));
    r.carried.push_back({LoopBody::none, wanted[e.outputs[o]] ? e.outputs[o] : LoopBody::none});
  }
  const Array iteration = t.input({DType::i32, {}});
  const Array block =
      p.reverse ? lax::sub_from(static_cast<double>(p.length / steps - 1), iteration) : iteration;
  const Array start = lax::mul(block, static_cast<double>(steps));
  const Constants constant{outer, t, r.constants};
  for (std::size_t i = carried; i < e.inputs.size(); ++i) {
    const Array whole = constant(e.inputs[i]);
    in.push_back(i < carried + sequences ? rules::rows_of(whole, start, steps) : whole);
  }
  ScanParams inner = p;
  inner.length = steps;
  Arrays next = emit(scan_p, inner, in, e.loc);
  for (std::size_t o = carried; o < e.outputs.size(); ++o)
    next[o] = rules::with_rows(stacked[o - carried], next[o], start);
  r.graph = t.finish(next);
  return r;
}

}  // namespace

std::optional<LoopBody> loop_body(const Graph& outer, const Equation& e,
                                  const std::vector<bool>& wanted, const Target& target,
                                  Decisions* decisions) {
  if (e.primitive == &while_p) return finished(while_body(outer, e, wanted), target, decisions);
  if (e.primitive != &scan_p || e.params.as<ScanParams>().length == 0) return std::nullopt;
  return finished(scan_body(outer, e, wanted), target, decisions);
}

std::optional<LoopBody> sliced_loop_body(const Graph& outer, const Equation& e,
                                         const std::vector<bool>& wanted, const Target& target,
                                         const Slicing& slicing, Decisions* decisions) {
  if (e.primitive == &while_p)
    return finished(sliced_while(outer, e, e.params.as<WhileParams>(), wanted, slicing), target,
                    decisions);
  if (e.primitive != &scan_p) return std::nullopt;
  const auto& p = e.params.as<ScanParams>();
  if (slicing.paced)
    return finished(sliced_while(outer, e, as_while(p), wanted, slicing), target, decisions);
  const Dim length = p.length;
  Dim part = std::min(length, static_cast<Dim>(slicing.steps));
  while (part > 1 && length % part != 0) --part;
  if (part < 2 || part == length) return std::nullopt;
  return finished(sliced_scan(outer, e, wanted, part), target, decisions);
}

std::vector<Graph> branch_graphs(const Equation& e, const std::vector<bool>& wanted,
                                 const Target& target, Decisions* decisions) {
  std::vector<Graph> r;
  for (const GraphPtr& branch : e.params.graphs()) {
    Graph g = *branch;
    g.outputs.clear();
    for (std::size_t o = 0; o < e.outputs.size(); ++o)
      if (wanted[e.outputs[o]]) g.outputs.push_back(branch->outputs[o]);
    g = split_reductions(simplify(g), target, decisions);
    own_outputs(g, 0);
    r.push_back(std::move(g));
  }
  return r;
}

}  // namespace gnomon
