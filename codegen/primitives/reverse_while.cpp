// codegen/primitives/reverse_while.cpp -- reverse mode of while, with and without lanes.
#include "codegen/graph/effects.h"
#include "codegen/primitives/control_graphs.h"
#include "codegen/primitives/gather_scatter.h"
#include "codegen/primitives/lax.h"
#include "codegen/primitives/reverse.h"
#include "codegen/primitives/table.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;
using control::StepBack;

/// Rows of `max_steps` steps, behind the axis of the lanes if there are any.
Aval history_of(const Aval& a, const WhileParams& p) {
  return {a.dtype, a.shape.with_inserted(p.lanes > 0 ? 1 : 0, p.max_steps)};
}

Array i32(double x) { return lax::scalar(DType::i32, x); }

/// `history` with what step `count` begins with, for every lane its own count.
Array written(const Array& history, const Array& value, const Array& count, Dim lanes) {
  if (lanes == 0) return rules::with_row(history, value, count);
  Arrays in{history, lax::reshape(value, history.shape().with(1, 1)), count};
  for (int axis = 2; axis < history.rank(); ++axis)
    in.push_back(lax::full({DType::i32, {lanes}}, 0));
  return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{1}, in, {});
}

/// What step `at` began with, one for all lanes.
Array began(const Array& history, const Array& at, Dim lanes) {
  if (lanes == 0) return rules::row_of(history, at);
  Arrays in{history};
  for (int axis = 0; axis < history.rank(); ++axis) in.push_back(axis == 1 ? at : i32(0));
  const Array row =
      emit1(dynamic_slice_p, DynamicSliceParams{history.shape().with(1, 1), 0}, in, {});
  return lax::reshape(row, history.shape().without(1));
}

Array for_lanes(const Array& flags, const Array& like) {
  return like.rank() == 1 ? flags : lax::broadcast(flags, like.shape(), {0});
}

/// The loop as loops of segments.
Graph in_segments(const WhileParams& p, const Arrays& x, Loc loc) {
  const auto carried = static_cast<std::size_t>(p.carried);
  const Shape lanes = p.lanes > 0 ? Shape(p.lanes) : Shape();
  Trace outer;
  outer.loc = loc;
  Arrays in;
  for (const Array& v : x) in.push_back(outer.input(v.aval()));
  // Behind the carried values the number of the step: segments may hold more steps than the loop.
  Arrays start = part(in, 0, carried);
  start.push_back(lax::full({DType::i32, lanes}, 0, loc));
  const Arrays constants = part(in, carried, in.size() - carried);
  const auto traced = [&](const auto& f) {
    Trace t;
    t.loc = loc;
    Arrays own, k;
    for (const Array& v : start) own.push_back(t.input(v.aval()));
    for (const Array& v : constants) k.push_back(t.input(v.aval()));
    return control::share(t.finish(f(own, k)));
  };
  WhileParams q = p;
  q.carried = p.carried + 1;
  q.max_steps = control::segment_of(p.max_steps);
  q.condition = traced([&](const Arrays& own, const Arrays& k) {
    const Array left =
        lax::lt(own.back(), lax::full_like(own.back(), static_cast<double>(p.max_steps)));
    return Arrays{
        lax::logical_and(left, inline_graph(*p.condition, joined(part(own, 0, carried), k))[0])};
  });
  q.body = traced([&](const Arrays& own, const Arrays& k) {
    Arrays next = inline_graph(*p.body, joined(part(own, 0, carried), k));
    next.push_back(lax::add(own.back(), lax::full_like(own.back(), 1)));
    return next;
  });
  WhileParams segments = q;
  segments.max_steps = (p.max_steps + q.max_steps - 1) / q.max_steps;
  segments.body = traced([&](const Arrays& own, const Arrays& k) {
    return control::emit_while(q, joined(own, k), loc);
  });
  return outer.finish(
      part(control::emit_while(segments, joined(start, constants), loc), 0, carried));
}

Arrays forward(const Params& params, const Arrays& x, const std::vector<bool>& active, Loc loc) {
  WhileParams p = params.as<WhileParams>();
  const auto carried = static_cast<std::size_t>(p.carried);
  const std::size_t constants = x.size() - carried;
  if (p.max_steps < 0)
    usage_error("grad",
                "reverse mode keeps what every step of a loop began with, and this while_loop may "
                "take any number of steps; give it {.max_steps = n}, or use jvp",
                loc);
  if (p.max_steps > control::most_kept)
    return control::forward_by(in_segments(p, x, loc), x, active);
  const StepBack step(*p.body, carried, active);
  // Behind the carried values: the number of the step, histories.
  Arrays start = part(x, 0, carried);
  start.push_back(lax::full({DType::i32, p.lanes > 0 ? Shape(p.lanes) : Shape()}, 0));
  for (std::size_t i = 0; i < carried; ++i)
    if (step.used[i]) start.push_back(lax::full(history_of(x[i].aval(), p), 0));
  const auto traced = [&](const Graph& g, bool body) {
    Trace t;
    t.loc = loc;
    Arrays own, added, k;
    for (std::size_t i = 0; i < start.size(); ++i)
      (i < carried ? own : added).push_back(t.input(start[i].aval()));
    for (std::size_t i = 0; i < constants; ++i) k.push_back(t.input(x[carried + i].aval()));
    Arrays next = inline_graph(g, joined(own, k));
    if (!body) return t.finish(next);
    next.push_back(lax::add(added[0], lax::full_like(added[0], 1)));
    for (std::size_t i = 0, h = 1; i < carried; ++i)
      if (step.used[i]) next.push_back(written(added[h++], own[i], added[0], p.lanes));
    return t.finish(next);
  };
  WhileParams q = p;
  q.condition = control::share(traced(*p.condition, false));
  q.body = control::share(traced(*p.body, true));
  q.carried = static_cast<int>(start.size());
  return control::emit_while(q, joined(start, part(x, carried, constants)), loc);
}

Tangents backward(const ReverseArgs& a) {
  const auto& p = a.params.as<WhileParams>();
  if (p.max_steps > control::most_kept)
    return control::backward_by(in_segments(p, a.inputs, Trace::active("grad").loc), a);
  const auto carried = static_cast<std::size_t>(p.carried);
  const std::size_t constants = a.inputs.size() - carried;
  const bool laned = p.lanes > 0;
  const Graph& body = *p.body;
  const StepBack step(body, carried, a.active);
  const Array count = a.saved[0];
  // All lanes go back together, from the step that the last one took.
  const Array last = laned ? emit1(reduce_max_p, AxesParams{{0}}, {count}, {}) : count;

  // Carried: the number of the step, cotangents of carried values, sums for constants.
  Arrays start = joined({last}, control::dense(a.cotangents, step.outputs, body.output_avals()));
  const std::size_t moving = start.size() - 1;
  for (std::size_t i = carried; i < a.inputs.size(); ++i)
    if (step.active[i]) start.push_back(lax::zeros_like(a.inputs[i]));
  // Constants: counts and histories, the loop's own; what lanes that have stopped are at.
  Arrays shared = joined(a.saved, part(a.inputs, carried, constants));
  if (laned)
    for (std::size_t i = 0; i < carried; ++i)
      if (step.used[i]) shared.push_back(a.inputs[i]);
  const auto traced = [&](bool condition) {
    Trace t;
    Arrays own, k;
    for (const Array& v : start) own.push_back(t.input(v.aval()));
    for (const Array& v : shared) k.push_back(t.input(v.aval()));
    if (condition) return t.finish({lax::lt(i32(0), own[0])});
    const Array at = lax::sub(own[0], i32(1));
    Array runs;
    if (laned) runs = lax::lt(lax::broadcast(at, {p.lanes}, {}), k[0]);
    Arrays in;
    for (std::size_t i = 0, h = 0; i < carried; ++i) {
      if (!step.used[i]) {
        in.push_back(lax::full(body.avals[body.inputs[i]], 0));
        continue;
      }
      Array v = began(k[1 + h], at, p.lanes);
      // Any place where the body is defined will do for a lane that has stopped.
      if (laned) v = lax::select(for_lanes(runs, v), v, k[a.saved.size() + constants + h]);
      in.push_back(v);
      ++h;
    }
    in = joined(in, part(k, a.saved.size(), constants));
    for (std::size_t i = 0; i < moving; ++i) {
      const Array& c = own[1 + i];
      in.push_back(laned ? lax::select(for_lanes(runs, c), c, lax::zeros_like(c)) : c);
    }
    const Arrays found = inline_graph(step.graph, in);
    Arrays next{at};
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Array& was = own[1 + i];
      if (i >= moving)
        next.push_back(lax::add(was, found[i]));
      else
        next.push_back(laned ? lax::select(for_lanes(runs, was), found[i], was) : found[i]);
    }
    return t.finish(next);
  };
  WhileParams q;
  q.condition = control::share(traced(true));
  q.body = control::share(traced(false));
  q.carried = static_cast<int>(start.size());
  q.max_steps = p.max_steps;
  const Arrays out = control::emit_while(q, joined(start, shared));

  Tangents r(a.inputs.size());
  for (std::size_t i = 0, next = 1; i < r.size(); ++i) {
    if (!step.active[i]) continue;
    if (a.active[i]) r[i] = out[next];
    ++next;
  }
  return r;
}

}  // namespace

const ReverseMode while_reverse{forward, backward};

}  // namespace gnomon
