// codegen/primitives/control/reverse_while.cpp -- reverse mode of while, with and without lanes.
#include <algorithm>

#include "codegen/lax/lax.h"
#include "codegen/operations/buffer.h"
#include "codegen/operations/table.h"
#include "codegen/primitives/control/in_step.h"
#include "codegen/primitives/control/reverse_steps.h"
#include "codegen/primitives/control/written_out.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/unbatch.h"
#include "codegen/transforms/write_once.h"

namespace gnomon {
namespace {

using control::joined;
using control::Lanes;
using control::part;
using control::StepBack;

/// The loop of one lane of many that know nothing of one another, so that each goes back on its
/// own count.
struct LaneLoop {
  WhileParams loop;
  std::vector<bool> varies;  // per input: it has the lanes in front
};

std::optional<LaneLoop> lane_loop(const WhileParams& p, const Arrays& x) {
  if (p.lanes == 0) return std::nullopt;
  LaneLoop one{p, {}};
  for (const Array& v : x) one.varies.push_back(v.rank() > 0 && v.shape()[0] == p.lanes);
  const auto condition = unbatch(*p.condition, one.varies, p.lanes);
  const auto body = condition ? unbatch(*p.body, one.varies, p.lanes) : std::nullopt;
  if (!body) return std::nullopt;
  one.loop.condition = control::share(*condition);
  one.loop.body = control::share(*body);
  one.loop.lanes = 0;
  return one;
}

/// `f` for every lane. Of what it gets the flagged ones vary, and so does all that it gives.
template <class F>
Arrays for_each_lane(Dim lanes, const Arrays& x, const std::vector<bool>& varies, const F& f) {
  const auto of_one = [&] {
    Trace t;
    Arrays in;
    for (std::size_t i = 0; i < x.size(); ++i)
      in.push_back(t.input({x[i].dtype(), varies[i] ? x[i].shape().without(0) : x[i].shape()}));
    return t.finish(f(in));
  };
  const Graph one = of_one();
  return inline_graph(
      control::batch(one, varies, std::vector<bool>(one.outputs.size(), true), lanes), x);
}

control::Segments segments_of(const WhileParams& p, const StepBack& step) {
  if (p.kind == LoopKind::automatic &&
      control::keeps_little(step, p.body->output_avals(), p.max_steps))
    return {};
  return control::segments_of(p.kind,
                              {*p.body, static_cast<std::size_t>(p.carried), p.condition.get()},
                              p.max_steps, control::fewest_of_while);
}

/// The loop as a loop of segments, each a loop or written out.
Graph in_segments(const WhileParams& p, const control::Segments& s, const Arrays& x, Loc loc) {
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
  const auto traced = [&](const auto& f) { return control::traced(start, constants, loc, f); };
  WhileParams q = p;
  q.carried = p.carried + 1;
  q.max_steps = s.steps;
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
  segments.kind = s.kind;
  segments.max_steps = (p.max_steps + q.max_steps - 1) / q.max_steps;
  segments.body = traced([&](const Arrays& own, const Arrays& k) {
    return s.written_out ? control::written_out(q, joined(own, k), loc)
                         : control::emit_while(q, joined(own, k), loc);
  });
  return outer.finish(
      part(control::emit_while(segments, joined(start, constants), loc), 0, carried));
}

/// Whether it keeps what every step began with: as many checkpoints as steps are no schedule.
bool keeps_all(const WhileParams& p) {
  return p.kind != LoopKind::checkpointed ||
         (p.max_steps >= 0 && p.checkpoints >= std::max<Dim>(1, p.max_steps));
}

Arrays forward_while(const Params& params, const Arrays& x, const std::vector<bool>& active,
                     const Buffers& buffers, Loc loc) {
  const auto& p = params.as<WhileParams>();
  control::check_kind("while_loop", p.kind, p.max_steps, loc);
  if (control::stops_apart(p))
    return control::forward_by(control::in_step(p, loc), x, active, buffers);
  if (!keeps_all(p)) return control::checkpointed_forward(p, x, active, buffers, loc);
  if (const auto one = lane_loop(p, x))
    return for_each_lane(p.lanes, x, one->varies, [&](const Arrays& in) {
      return forward_while(one->loop, in, active, buffers, loc);
    });
  const auto carried = static_cast<std::size_t>(p.carried);
  const StepBack step(*p.body, carried, active, buffers, p.lanes == 0);
  if (const auto s = segments_of(p, step); s.steps > 0)
    return control::forward_by(in_segments(p, s, x, loc), x, active, buffers);
  const std::size_t constants = x.size() - carried;
  const Lanes lanes{p.lanes};
  // Behind the carried values: the number of the step, histories.
  Arrays start = part(x, 0, carried);
  start.push_back(lanes.integer(0));
  for (std::size_t i = 0; i < carried; ++i)
    if (step.kept(i)) {
      const Aval rows = lanes.rows(x[i].aval(), p.max_steps);
      start.push_back(emit1(unwritten_p, BufferParams{rows.dtype, rows.shape}, {}, loc));
    }
  for (ValueId v : step.residuals.outputs) {
    const Aval rows = lanes.rows(step.residuals.avals[v], p.max_steps);
    start.push_back(emit1(unwritten_p, BufferParams{rows.dtype, rows.shape}, {}, loc));
  }
  const auto traced = [&](const Graph& g, bool body) {
    Trace t;
    t.loc = loc;
    Arrays own, added, k;
    for (std::size_t i = 0; i < start.size(); ++i)
      (i < carried ? own : added).push_back(t.input(start[i].aval()));
    for (std::size_t i = 0; i < constants; ++i) k.push_back(t.input(x[carried + i].aval()));
    Arrays next = inline_graph(g, joined(own, k));
    if (!body) return t.finish(next);
    // The row of a step that changes nothing is that of the next one.
    const Array one = lax::full_like(added[0], 1);
    next.push_back(lax::add(added[0], step.goes
                                          ? lax::select(inline_graph(*step.goes, joined(own, k))[0],
                                                        one, lax::zeros_like(one))
                                          : one));
    std::size_t h = 1;
    for (std::size_t i = 0; i < carried; ++i)
      if (step.kept(i)) next.push_back(lanes.with_row(added[h++], own[i], added[0]));
    if (h < added.size())
      for (const Array& residual : inline_graph(step.residuals, joined(own, k)))
        next.push_back(lanes.with_row(added[h++], residual, added[0]));
    return t.finish(next);
  };
  WhileParams q = settled(while_p, p, buffers).as<WhileParams>();
  q.condition = control::share(traced(*q.condition, false));
  q.body = control::share(traced(*q.body, true));
  q.carried = static_cast<int>(start.size());
  const Arrays out = control::emit_while(q, joined(start, part(x, carried, constants)), loc);
  return joined(out, control::settled_of(step, carried, out));
}

Tangents backward_while(const ReverseArgs&);

/// The backward pass of many lanes by that of one.
Tangents backward_by_lane(const LaneLoop& one, Dim lanes, const ReverseArgs& a) {
  Arrays x = joined(a.inputs, a.saved);
  std::vector<bool> varies = one.varies;
  for (const auto& c : a.cotangents)
    if (c) x.push_back(*c);
  varies.resize(x.size(), true);
  std::vector<std::size_t> found;
  const Arrays out = for_each_lane(lanes, x, varies, [&](const Arrays& in) {
    const Arrays inputs = part(in, 0, a.inputs.size());
    const Arrays saved = part(in, inputs.size(), a.saved.size());
    Tangents cotangents(a.cotangents.size());
    for (std::size_t i = 0, next = inputs.size() + saved.size(); i < cotangents.size(); ++i)
      if (a.cotangents[i]) cotangents[i] = in[next++];
    const Tangents r =
        backward_while(ReverseArgs{one.loop, inputs, a.active, saved, cotangents, a.buffers});
    Arrays present;
    for (std::size_t i = 0; i < r.size(); ++i) {
      if (!r[i]) continue;
      found.push_back(i);
      present.push_back(*r[i]);
    }
    return present;
  });
  Tangents r(a.inputs.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    r[found[i]] = one.varies[found[i]] ? out[i] : emit1(sum_p, AxesParams{{0}}, {out[i]}, {});
  return r;
}

Tangents backward_while(const ReverseArgs& a) {
  const auto& p = a.params.as<WhileParams>();
  if (control::stops_apart(p)) return control::backward_by(control::in_step(p, Trace::where()), a);
  if (!keeps_all(p)) return control::checkpointed_backward(a);
  if (const auto one = lane_loop(p, a.inputs)) return backward_by_lane(*one, p.lanes, a);
  const auto carried = static_cast<std::size_t>(p.carried);
  const StepBack full(*p.body, carried, a.active, a.buffers, p.lanes == 0);
  if (const auto s = segments_of(p, full); s.steps > 0)
    return control::backward_by(in_segments(p, s, a.inputs, Trace::where()), a);
  const StepBack step = full.narrowed(*p.body, carried, a.cotangents);
  const Lanes lanes{p.lanes};
  const auto search = [&](const control::SearchArgs& s) -> control::Began {
    const Array at = lax::add(s.left, -1.0);
    control::Began r;
    // Histories of what is kept and of residuals, then buffers.
    std::size_t row = 0, kept = 0;
    for (std::size_t i = 0; i < carried; ++i) kept += full.kept(i) ? 1 : 0;
    std::size_t whole = kept + full.residuals.outputs.size();
    for (std::size_t i = 0; i < carried; ++i) {
      const std::size_t from = full.settled(i) ? whole++ : full.kept(i) ? row++ : 0;
      if (!step.used[i]) continue;
      r.values.push_back(full.settled(i) ? s.shared[from] : lanes.row(s.shared[from], at));
    }
    for (std::size_t i = 0; i < full.residuals.outputs.size(); ++i)
      r.values.push_back(lanes.row(s.shared[kept + i], at));
    return r;
  };
  return control::rewind(a, step, {a.saved[0], p.max_steps}, {},
                         part(a.saved, 1, a.saved.size() - 1), search);
}

}  // namespace

const ReverseMode while_reverse{forward_while, backward_while};

}  // namespace gnomon
