// codegen/primitives/control/while.cpp -- table entry of while, with and without lanes.
#include <algorithm>

#include "codegen/graph/effects.h"
#include "codegen/graph/evaluate.h"
#include "codegen/operations/collectives.h"
#include "codegen/operations/effects.h"
#include "codegen/primitives/control/in_step.h"
#include "codegen/primitives/control/reverse.h"
#include "codegen/primitives/families.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/jvp.h"
#include "codegen/transforms/vmap.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;

std::vector<Aval> shape_of_while(const Params& params, std::span<const Aval> in, Loc loc) {
  const auto& p = params.as<WhileParams>();
  const auto carried = static_cast<std::size_t>(p.carried);
  if (!p.condition || !p.body) usage_error("while", "needs a condition and a body", loc);
  control::check_inputs("while", "condition", *p.condition, in, loc);
  control::check_inputs("while", "body", *p.body, in, loc);
  const Aval want{DType::boolean, p.lanes > 0 ? Shape(p.lanes) : Shape()};
  const std::vector<Aval> condition = p.condition->output_avals();
  if (condition.size() != 1 || condition[0] != want)
    usage_error("while",
                "the condition gives " +
                    (condition.size() == 1 ? to_string(condition[0])
                                           : std::to_string(condition.size()) + " values") +
                    " and must give one " + to_string(want),
                loc);
  if (p.body->outputs.size() != carried)
    usage_error("while",
                "the body gives " + std::to_string(p.body->outputs.size()) + " values for " +
                    std::to_string(carried) + " carried ones",
                loc);
  control::check_carries("while", *p.body, carried, loc);
  for (std::size_t i = 0; p.lanes > 0 && i < carried; ++i)
    if (in[i].shape.rank() == 0 || in[i].shape[0] != p.lanes)
      usage_error("while",
                  "carried value " + std::to_string(i) + " is " + to_string(in[i]) +
                      " and needs a leading axis of " + std::to_string(p.lanes) + " lanes",
                  loc);
  return {in.begin(), in.begin() + p.carried};
}

Tangents jvp_while(const Params& params, const Arrays& x, const Arrays&, const Tangents& d) {
  auto p = params.as<WhileParams>();
  const auto carried = static_cast<std::size_t>(p.carried);
  const std::size_t constants = x.size() - carried;
  std::vector<bool> active;
  for (const auto& t : d) active.push_back(t.has_value());
  active = control::carried_flags(std::move(active), carried, [&](const std::vector<bool>& flags) {
    return active_outputs(*p.body, flags);
  });
  const std::vector<bool> moving(active.begin(), active.begin() + p.carried);
  const Arrays dx = control::flagged_tangents(x, d, active, 0, carried);
  const Arrays dk = control::flagged_tangents(x, d, active, carried, constants);
  Tangents r(carried);
  if (dx.empty()) return r;

  // The joint body takes (x, k, dx, dk); carried values come first in a loop: (x, dx, k, dk).
  std::vector<std::size_t> order;
  const auto append = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) order.push_back(first + i);
  };
  append(0, carried);
  append(x.size(), dx.size());
  append(carried, constants);
  append(x.size() + dx.size(), dk.size());
  // The loop itself makes the statements; this one goes over its steps again.
  const Graph joint = without_effects(gnomon::jvp(*p.body, active, moving));
  p.body = control::share(control::reordered(joint, order, control::indices(joint.outputs.size())));
  p.condition = control::share(control::widened(*p.condition, carried, dx, dk));
  p.carried += static_cast<int>(dx.size());
  const Arrays y = control::emit_while(
      p, joined(joined(part(x, 0, carried), dx), joined(part(x, carried, constants), dk)));
  for (std::size_t i = 0, next = carried; i < carried; ++i)
    if (moving[i]) r[i] = y[next++];
  return r;
}

/// A graph over m lanes as one over n * m lanes: its first `laned` inputs and its outputs have the
/// lanes in front, merged; of the others the flagged ones have the n in front.
Graph more_lanes(const Graph& graph, std::size_t laned, std::vector<bool> batched, Dim n) {
  std::fill(batched.begin(), batched.begin() + static_cast<std::ptrdiff_t>(laned), true);
  const Graph over =
      control::batch(graph, batched, std::vector<bool>(graph.outputs.size(), true), n);
  Trace trace;
  Arrays inputs, outputs;
  for (std::size_t i = 0; i < over.inputs.size(); ++i) {
    Aval a = over.avals[over.inputs[i]];
    if (i >= laned) {
      inputs.push_back(trace.input(a));
    } else {
      a.shape.erase(0);
      a.shape[0] *= n;
      inputs.push_back(control::split_lanes(trace.input(a), n));
    }
  }
  for (const Array& a : inline_graph(over, inputs)) outputs.push_back(control::merge_lanes(a));
  return trace.finish(outputs);
}

/// Whether the vmap that runs here is over an axis along which elements of the loop meet, and they
/// stop apart.
bool meets_apart(const WhileParams& p, const BatchAxes& axes, Dim n) {
  const Trace* trace = Trace::current();
  if (!trace || trace->mapped_axis.empty()) return false;
  std::vector<CollectiveParams> met;
  add_axes_met(*p.condition, met);
  add_axes_met(*p.body, met);
  if (std::none_of(met.begin(), met.end(),
                   [&](const auto& along) { return along.axis == trace->mapped_axis; }))
    return false;
  std::vector<bool> batched;
  for (const auto& axis : axes) batched.push_back(axis.has_value());
  batched = control::carried_flags(
      std::move(batched), static_cast<std::size_t>(p.carried),
      [&](const std::vector<bool>& flags) { return control::batched_outputs(*p.body, flags, n); });
  return control::batched_outputs(*p.condition, batched, n)[0];
}

Batched batch_while(const Params& params, const Arrays& x, const BatchAxes& axes, Dim n) {
  auto p = params.as<WhileParams>();
  const auto carried = static_cast<std::size_t>(p.carried);
  if (meets_apart(p, axes, n)) {
    const BatchedGraph all = vmap_in_place(control::in_step(p, Trace::where()), axes, n);
    return {inline_graph(all.graph, x), all.out_axes};
  }
  if (const auto h = control::hoist(*p.body, carried, 0)) {
    // What stays the same needs no lane of its own.
    p.condition = control::share(control::reordered(*p.condition, h->inputs, {0}));
    p.body = control::share(control::reordered(*p.body, h->inputs, h->kept));
    p.carried = static_cast<int>(h->kept.size());
    Arrays inner;
    BatchAxes inner_axes;
    for (std::size_t i : h->inputs) {
      inner.push_back(x[i]);
      inner_axes.push_back(axes[i]);
    }
    Batched r{part(x, 0, carried),
              {axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(carried)}};
    if (h->kept.empty() && !has_effects(*p.body)) return r;
    const Batched loop = batch_while(p, inner, inner_axes, n);
    for (std::size_t i = 0; i < h->kept.size(); ++i) {
      r.values[h->kept[i]] = loop.values[i];
      r.axes[h->kept[i]] = loop.axes[i];
    }
    return r;
  }

  std::vector<bool> batched;
  for (const auto& axis : axes) batched.push_back(axis.has_value());
  bool by_lane = p.lanes > 0;
  if (!by_lane) {
    batched =
        control::carried_flags(std::move(batched), carried, [&](const std::vector<bool>& flags) {
          return control::batched_outputs(*p.body, flags, n);
        });
    by_lane = control::batched_outputs(*p.condition, batched, n)[0];
  }
  if (by_lane) std::fill(batched.begin(), batched.begin() + p.carried, true);
  const std::vector<bool> carry(batched.begin(), batched.begin() + p.carried);

  Arrays inputs;
  for (std::size_t i = 0; i < x.size(); ++i)
    inputs.push_back(batched[i] ? rules::batch_front(x[i], axes[i], n) : x[i]);
  if (p.lanes == 0) {
    p.condition = control::share(control::batch(*p.condition, batched, {by_lane}, n));
    p.body = control::share(effects::inside_loop(control::batch(*p.body, batched, carry, n)));
    if (by_lane) p.lanes = n;
    return {control::emit_while(p, inputs), control::front_axes(carry)};
  }
  p.condition = control::share(more_lanes(*p.condition, carried, batched, n));
  p.body = control::share(effects::inside_loop(more_lanes(*p.body, carried, batched, n)));
  p.lanes *= n;
  for (std::size_t i = 0; i < carried; ++i) inputs[i] = control::merge_lanes(inputs[i]);
  Batched r{{}, control::front_axes(carry)};
  for (const Array& a : control::emit_while(p, inputs))
    r.values.push_back(control::split_lanes(a, n));
  return r;
}

/// Rows of `next` for the lanes that still run.
void take_lanes(HostArray& value, const HostArray& next, const std::vector<bool>& running) {
  const std::size_t row = value.bytes.size() / running.size();
  for (std::size_t lane = 0; lane < running.size(); ++lane)
    if (running[lane])
      std::copy_n(next.bytes.data() + lane * row, row, value.bytes.data() + lane * row);
}

std::vector<HostArray> reference_while(const Params& params, std::span<const Aval>,
                                       std::span<const HostArray> in) {
  const auto& p = params.as<WhileParams>();
  std::vector<HostArray> values(in.begin(), in.end());
  // Without lanes the loop is one lane that is never empty.
  std::vector<bool> running(static_cast<std::size_t>(p.lanes > 0 ? p.lanes : 1), true);
  for (Dim step = 0; p.max_steps < 0 || step < p.max_steps; ++step) {
    const HostArray go = evaluate(*p.condition, values)[0];
    bool any = false;
    for (std::size_t lane = 0; lane < running.size(); ++lane) {
      running[lane] = running[lane] && go.integer(static_cast<Dim>(lane)) != 0;
      any |= running[lane];
    }
    if (!any) break;
    std::vector<HostArray> next = evaluate(*p.body, values);
    for (std::size_t i = 0; i < next.size(); ++i)
      if (p.lanes > 0)
        take_lanes(values[i], next[i], running);
      else
        values[i] = std::move(next[i]);
  }
  values.resize(static_cast<std::size_t>(p.carried));
  return values;
}

}  // namespace

const Primitive while_p{
    .name = "while",
    .parse = parse_params<WhileParams>,
    .shape = shape_of_while,
    .jvp = jvp_while,
    .transpose = [](const TransposeArgs& t) { return control::transposed(while_reverse, t); },
    .batch = batch_while,
    .lower = Lowering::structured(Lowering::Kind::while_loop),
    .reference = reference_while,
    .reverse = &while_reverse,
};

}  // namespace gnomon
