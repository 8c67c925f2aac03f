// codegen/transforms/control_graphs.cpp -- hoisting, batching and tangents of the graphs in loops
// and branches.
#include "codegen/transforms/control_graphs.h"

#include <numeric>

#include "codegen/graph/effects.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/effects.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/vmap.h"

namespace gnomon {

std::string_view name(LoopKind kind) {
  switch (kind) {
    case LoopKind::automatic:
      return "automatic";
    case LoopKind::lax:
      return "lax";
    case LoopKind::checkpointed:
      return "checkpointed";
    case LoopKind::bounded:
      return "bounded";
    case LoopKind::stored:
      return "stored";
  }
  return "?";
}

}  // namespace gnomon

namespace gnomon::control {

GraphPtr share(Graph g) { return std::make_shared<const Graph>(std::move(g)); }

GraphPtr traced(const Arrays& own, const Arrays& constants, Loc loc,
                const std::function<Arrays(const Arrays&, const Arrays&)>& f) {
  Trace t;
  t.loc = loc;
  Arrays mine, k;
  for (const Array& v : own) mine.push_back(t.input(v.aval()));
  for (const Array& v : constants) k.push_back(t.input(v.aval()));
  return share(t.finish(f(mine, k)));
}

Graph reordered(const Graph& graph, const std::vector<std::size_t>& inputs,
                const std::vector<std::size_t>& outputs) {
  Graph r = graph;
  r.inputs.clear();
  r.outputs.clear();
  for (std::size_t i : inputs) r.inputs.push_back(graph.inputs[i]);
  for (std::size_t i : outputs) r.outputs.push_back(graph.outputs[i]);
  return canonicalize(std::move(r));
}

Graph widened(const Graph& graph, std::size_t before, const Arrays& more, const Arrays& constants) {
  Graph g = graph;
  const std::vector<ValueId> own = std::move(g.inputs);
  const auto middle = own.begin() + static_cast<std::ptrdiff_t>(before);
  g.inputs.assign(own.begin(), middle);
  for (const Array& a : more) g.inputs.push_back(g.fresh(a.aval()));
  g.inputs.insert(g.inputs.end(), middle, own.end());
  for (const Array& a : constants) g.inputs.push_back(g.fresh(a.aval()));
  return canonicalize(std::move(g));
}

std::vector<std::size_t> indices(std::size_t count) {
  std::vector<std::size_t> r(count);
  std::iota(r.begin(), r.end(), std::size_t{0});
  return r;
}

Arrays joined(Arrays a, const Arrays& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Arrays part(const Arrays& a, std::size_t first, std::size_t count) {
  const auto begin = a.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::optional<Hoisted> hoist(const Graph& body, std::size_t carried, std::size_t sequences) {
  Hoisted h;
  std::vector<std::size_t> invariant;
  for (std::size_t i = 0; i < carried; ++i)
    (body.outputs[i] == body.inputs[i] ? invariant : h.kept).push_back(i);
  if (invariant.empty()) return std::nullopt;
  h.inputs = h.kept;
  for (std::size_t i = 0; i < sequences; ++i) h.inputs.push_back(carried + i);
  h.inputs.insert(h.inputs.end(), invariant.begin(), invariant.end());
  for (std::size_t i = carried + sequences; i < body.inputs.size(); ++i) h.inputs.push_back(i);
  return h;
}

namespace {

Arrays picked(const Arrays& a, const std::vector<std::size_t>& which) {
  Arrays r;
  for (std::size_t i : which) r.push_back(a[i]);
  return r;
}

/// `inputs` of the old loop as its results, the kept ones replaced by what the new loop gives.
Arrays with_results(const Arrays& inputs, std::size_t carried, const std::vector<std::size_t>& kept,
                    const Arrays& results) {
  Arrays r = part(inputs, 0, carried);
  for (std::size_t i = 0; i < kept.size(); ++i) r[kept[i]] = results[i];
  return joined(std::move(r), part(results, kept.size(), results.size() - kept.size()));
}

}  // namespace

Arrays emit_while(WhileParams p, Arrays inputs, Loc loc) {
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto h = hoist(*p.body, carried, 0);
  const bool runs = has_effects(*p.body);
  if (!h) return carried == 0 && !runs ? Arrays{} : emit(while_p, std::move(p), inputs, loc);
  p.condition = share(reordered(*p.condition, h->inputs, {0}));
  p.body = share(reordered(*p.body, h->inputs, h->kept));
  p.carried = static_cast<int>(h->kept.size());
  // A loop that changes nothing has no result to run for.
  const Arrays results = h->kept.empty() && !runs
                             ? Arrays{}
                             : emit(while_p, std::move(p), picked(inputs, h->inputs), loc);
  return with_results(inputs, carried, h->kept, results);
}

Arrays emit_scan(ScanParams p, Arrays inputs, Loc loc) {
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto h = hoist(*p.body, carried, static_cast<std::size_t>(p.sequences));
  if (!h) return emit(scan_p, std::move(p), inputs, loc);
  std::vector<std::size_t> outputs = h->kept;
  for (std::size_t i = carried; i < p.body->outputs.size(); ++i) outputs.push_back(i);
  p.body = share(reordered(*p.body, h->inputs, outputs));
  p.carried = static_cast<int>(h->kept.size());
  const Arrays results = outputs.empty() && !has_effects(*p.body)
                             ? Arrays{}
                             : emit(scan_p, std::move(p), picked(inputs, h->inputs), loc);
  return with_results(inputs, carried, h->kept, results);
}

Array axis_front(const Array& x, std::optional<int> axis) {
  return axis ? lax::move_axis(x, *axis, 0) : x;
}

BatchAxes front_axes(const std::vector<bool>& batched) {
  BatchAxes r;
  for (bool b : batched) r.push_back(b ? std::optional<int>(0) : std::nullopt);
  return r;
}

Array split_lanes(const Array& a, Dim n) {
  Shape shape = a.shape().with_inserted(0, n);
  shape[1] /= n;
  return lax::reshape(a, shape);
}

Array merge_lanes(const Array& a) {
  Shape shape = a.shape().without(0);
  shape[0] *= a.shape()[0];
  return lax::reshape(a, shape);
}

std::vector<bool> batched_outputs(const Graph& graph, const std::vector<bool>& inputs, Dim size) {
  std::vector<bool> r;
  for (const auto& axis : vmap_in_place(graph, front_axes(inputs), size).out_axes)
    r.push_back(axis.has_value());
  return r;
}

Graph batch(const Graph& graph, const std::vector<bool>& inputs, const std::vector<bool>& outputs,
            Dim size) {
  return vmap(graph, front_axes(inputs), front_axes(outputs), size);
}

void check_inputs(std::string_view op, std::string_view graph_name, const Graph& graph,
                  std::span<const Aval> inputs, Loc loc) {
  if (graph.inputs.size() != inputs.size())
    usage_error(op,
                "the " + std::string(graph_name) + " takes " + std::to_string(graph.inputs.size()) +
                    " values and gets " + std::to_string(inputs.size()),
                loc);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (graph.avals[graph.inputs[i]] != inputs[i])
      usage_error(op,
                  "input " + std::to_string(i) + " of the " + std::string(graph_name) + " is " +
                      to_string(graph.avals[graph.inputs[i]]) + " and gets " + to_string(inputs[i]),
                  loc);
}

void check_carries(std::string_view op, const Graph& body, std::size_t carried, Loc loc) {
  if (body.outputs.size() < carried || body.inputs.size() < carried)
    usage_error(op,
                "the body takes " + std::to_string(body.inputs.size()) + " values and gives " +
                    std::to_string(body.outputs.size()) + "; both start with " +
                    std::to_string(carried) + " carried values",
                loc);
  for (std::size_t i = 0; i < carried; ++i) {
    const Aval& enters = body.avals[body.inputs[i]];
    const Aval& leaves = body.avals[body.outputs[i]];
    if (enters != leaves)
      usage_error(op,
                  "carried value " + std::to_string(i) + " enters the body as " +
                      to_string(enters) + " but leaves it as " + to_string(leaves) +
                      "; a carry keeps its " + (enters.shape == leaves.shape ? "dtype" : "shape"),
                  loc);
  }
}

Arrays flagged_tangents(const Arrays& x, const Tangents& d, const std::vector<bool>& flags,
                        std::size_t first, std::size_t count) {
  Arrays r;
  for (std::size_t i = first; i < first + count; ++i)
    if (flags[i]) r.push_back(d[i] ? *d[i] : lax::zeros_like(x[i]));
  return r;
}

}  // namespace gnomon::control
