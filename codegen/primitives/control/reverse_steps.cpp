// codegen/primitives/control/reverse_steps.cpp -- the loop over the steps of a while loop, last one
// first.
#include "codegen/primitives/control/reverse_steps.h"

#include "codegen/lax/lax.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/vjp.h"

namespace gnomon::control {

Array Lanes::number(DType t, double x) const { return lax::full({t, shape()}, x); }

Aval Lanes::rows(const Aval& a, Dim rows) const {
  return {a.dtype, a.shape.with_inserted(count > 0 ? 1 : 0, rows)};
}

namespace {

/// The place of row `at`: the starts of a slice of one row.
Arrays starts(const Lanes& lanes, const Array& rows, const Array& at) {
  Arrays r{at};
  for (int axis = lanes.count > 0 ? 2 : 1; axis < rows.rank(); ++axis)
    r.push_back(lax::zeros_like(at));
  return r;
}

int row_axis(const Lanes& lanes) { return lanes.count > 0 ? 1 : 0; }

Array one_row(const Lanes& lanes, const Array& rows, const Array& at) {
  const int axis = row_axis(lanes);
  const Shape& s = rows.shape();
  if (axis == 1 && at.rank() == 0)
    return emit1(dynamic_slice_p, DynamicSliceParams{s.with(1, 1), 0},
                 joined({rows, lax::zeros_like(at)}, starts(lanes, rows, at)), {});
  return emit1(dynamic_slice_p, DynamicSliceParams{s.part(axis, s.rank()).with(0, 1), axis},
               joined({rows}, starts(lanes, rows, at)), {});
}

Array put_row(const Lanes& lanes, const Array& rows, const Array& row, const Array& at) {
  return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{row_axis(lanes)},
               joined({rows, row}, starts(lanes, rows, at)), {});
}

}  // namespace

Array Lanes::row(const Array& rows, const Array& at) const {
  return lax::reshape(one_row(*this, rows, at), rows.shape().without(row_axis(*this)));
}

Array Lanes::with_row(const Array& rows, const Array& row, const Array& at) const {
  return put_row(*this, rows, lax::reshape(row, rows.shape().with(row_axis(*this), 1)), at);
}

Array Lanes::with_row_if(const Array& flag, const Array& rows, const Array& row,
                         const Array& at) const {
  const Array old = one_row(*this, rows, at), fresh = lax::reshape(row, old.shape());
  return put_row(*this, rows, select(flag, fresh, old), at);
}

Array Lanes::select(const Array& flags, const Array& a, const Array& b) const {
  if (a.shape() == flags.shape()) return lax::select(flags, a, b);
  std::vector<int> axes;
  if (count > 0) axes.push_back(0);
  return lax::select(lax::broadcast(flags, a.shape(), axes), a, b);
}

bool goes_in_step(const ReverseArgs& a, const StepBack& step) {
  const auto& p = a.params.as<WhileParams>();
  bool sums = false;
  for (auto i = static_cast<std::size_t>(p.carried); i < step.active.size(); ++i)
    sums |= step.active[i];
  return p.lanes > 0 && sums;
}

namespace {

/// What the pullback of a step is given in front of cotangents: carried values that the step began
/// with, constants, residuals. `runs`: which lanes go back over a step, where they go in step.
/// `known`: the constants; behind them, in that case, counts and what the loop began with.
Arrays step_inputs(const ReverseArgs& a, const StepBack& step, const Began& began,
                   const Array& runs, const Arrays& known) {
  const auto& p = a.params.as<WhileParams>();
  const auto carried = static_cast<std::size_t>(p.carried);
  const std::size_t constants = a.inputs.size() - carried;
  Arrays r;
  std::size_t next = 0;
  for (std::size_t i = 0, safe = constants + 1; i < carried; ++i) {
    if (!step.used[i]) {
      r.push_back(lax::full(p.body->avals[p.body->inputs[i]], 0));
      continue;
    }
    Array v = began.values[next++];
    if (!runs.empty() && step.kept(i)) v = Lanes{p.lanes}.select(runs, v, known[safe++]);
    r.push_back(v);
  }
  r = joined(r, part(known, 0, constants));
  return joined(r, part(began.values, next, began.values.size() - next));
}

/// The cotangents in front of a step: of `moving` carried values, then sums over steps. `x`: what
/// the pullback is given, so many as `given`, then the sums behind the step.
Arrays pulled_back(const StepBack& step, std::size_t given, std::size_t moving, const Arrays& x) {
  Arrays found = inline_graph(step.graph, part(x, 0, given));
  for (std::size_t i = moving; i < found.size(); ++i)
    found[i] = add_cotangents(x[given + i - moving], found[i]);
  return found;
}

}  // namespace

Tangents rewind(const ReverseArgs& a, const StepBack& step, const Rewound& steps,
                const Arrays& state, const Arrays& shared, const Search& search) {
  const auto& p = a.params.as<WhileParams>();
  const Graph& body = *p.body;
  const auto carried = static_cast<std::size_t>(p.carried);
  const Arrays constants = part(a.inputs, carried, a.inputs.size() - carried);
  const Array& count = steps.count;
  const bool together = goes_in_step(a, step);
  const Lanes all{p.lanes}, looped{together ? 0 : p.lanes};

  // Carried: steps left, cotangents of carried values, sums for constants, the state.
  const Array last = together ? emit1(reduce_max_p, AxesParams{{0}}, {count}, {}) : count;
  const Arrays cotangents = dense(a.cotangents, step.outputs, body.output_avals());
  const std::size_t moving = cotangents.size();
  Arrays start = joined({last}, cotangents);
  for (std::size_t i = carried; i < a.inputs.size(); ++i)
    if (step.active[i]) start.push_back(lax::zeros_like(a.inputs[i]));
  const std::size_t first_state = start.size();
  start = joined(start, state);
  // Where lanes go in step: their counts, and what they began the loop with. Any place where the
  // body is defined will do for a lane that has no step to go back over.
  Arrays known = joined(shared, constants);
  if (together) {
    known.push_back(count);
    for (std::size_t i = 0; i < carried; ++i)
      if (step.kept(i)) known.push_back(a.inputs[i]);
  }
  const auto traced = [&](const auto& f) { return control::traced(start, known, {}, f); };
  WhileParams q;
  q.condition = traced(
      [&](const Arrays& own, const Arrays&) { return Arrays{lax::lt(looped.integer(0), own[0])}; });
  q.body = traced([&](const Arrays& own, const Arrays& k) {
    const Arrays was = part(own, first_state, state.size()), given = part(k, 0, shared.size());
    Array runs;
    if (together)
      runs = emit1(
          not_p, {},
          {lax::lt(k[shared.size() + constants.size()], lax::broadcast(own[0], all.shape(), {}))},
          {});
    Began began = search({own[0], runs, was, given});
    Arrays in = step_inputs(a, step, began, runs, part(k, shared.size(), k.size() - shared.size()));
    for (std::size_t i = 0; i < moving; ++i) {
      const Array& c = own[1 + i];
      in.push_back(together ? all.select(runs, c, lax::zeros_like(c)) : c);
    }
    // The cotangents behind the step: of what the pullback is given, then sums.
    const std::size_t given_to = in.size(), results = first_state - 1;
    const auto pulled = [&](const Arrays& x) { return pulled_back(step, given_to, moving, x); };
    const Arrays operands = joined(in, part(own, 1 + moving, results - moving));
    Arrays next{lax::add(own[0], -1.0)};
    if (began.reached.empty()) {
      next = joined(next, pulled(operands));
      for (std::size_t i = 0; together && i < moving; ++i)
        next[1 + i] = all.select(runs, next[1 + i], own[1 + i]);
    } else {
      // A step that is not reached yet is not gone back over.
      next[0] = lax::select(began.reached, next[0], own[0]);
      const auto branch = [&](bool back) {
        return control::traced({}, operands, {}, [&](const Arrays&, const Arrays& x) {
          return back ? pulled(x) : part(x, given_to - moving, results);
        });
      };
      next = joined(next, emit(cond_p, CondParams{{branch(false), branch(true)}, looped.count},
                               joined({began.reached}, operands), {}));
    }
    return joined(next, began.state);
  });
  q.carried = static_cast<int>(start.size());
  q.max_steps = steps.most_trips;
  q.lanes = looped.count;
  q.kind = p.kind;
  q.checkpoints = p.checkpoints;
  const Arrays out = emit_while(q, joined(start, known));

  Tangents r(a.inputs.size());
  for (std::size_t i = 0, next = 1; i < r.size(); ++i) {
    if (!step.active[i]) continue;
    if (a.active[i]) r[i] = out[next];
    ++next;
  }
  return r;
}

}  // namespace gnomon::control
