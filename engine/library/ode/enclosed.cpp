// engine/library/ode/enclosed.cpp -- solves that are one function with a reverse mode of its own:
// what they take, and what they give.
//
// The solve is a function of its own, with a reverse mode of its own, of what may move: the state
// it begins with, what the fields captured, t0 and t1. It gives the state at the end and the states
// that are saved in between; what is made of these, and the rows of t0 and t1, stands outside of
// it. The way back knows y and what the method carries at the end, and, where steps are undone
// (undone.h), where they ended, or, where the adjoint equations are solved (backsolve.h), what was
// saved, or that a solve came to rest (rest.h).
#include "engine/library/ode/enclosed.h"

#include <algorithm>
#include <cmath>

#include "engine/library/ode/backsolve.h"
#include "engine/library/ode/rest.h"
#include "engine/library/ode/saver.h"
#include "engine/library/ode/undone.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode::detail {
namespace {

void check_undone(const Request& r) {
  const Method& method = r.solver.method();
  if (!method.is_reversible())
    fail(r, "ReversibleAdjoint undoes steps, and those of " + method.name() +
                " cannot be; solve by ReversibleHeun or LeapfrogMidpoint, or take "
                "RecursiveCheckpointAdjoint");
  const auto refuse = [&](const std::string& what) {
    fail(r, "ReversibleAdjoint undoes the steps of one method from t1 to t0, and " + what +
                "; take RecursiveCheckpointAdjoint");
  };
  if (!r.events.empty()) refuse("an event cuts one short");
  if (r.past) refuse("a delay equation looks further back");
  if (r.options.saveat.dense) refuse("SaveAt::dense keeps every one of them");
  if (r.options.saveat.solver_state || r.options.solver_state)
    refuse("a solver_state joins it to another solve");
  if (const auto* clip = std::get_if<ClipStepSize>(&r.options.controller))
    if (!clip->jump_ts.empty()) refuse("the method begins anew behind each of jump_ts");
  for (const SaveRequest& s : r.saves)
    if (!s.at.ts.empty() && s.at.steps > 0)
      refuse("rows of SaveAt::ts and SaveAt::steps are not told apart");
}

void check_backsolve(const Request& r, const BacksolveAdjoint& adjoint) {
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    fail(r, "BacksolveAdjoint solves the adjoint equations from t1 to t0, and " + what + "; " +
                remedy);
  };
  const std::string other = "take RecursiveCheckpointAdjoint";
  if (std::any_of(r.drives.begin(), r.drives.end(),
                  [](const Driven& d) { return d.drive != nullptr; }))
    refuse("these are driven by a path", other);
  if (!r.events.empty()) refuse("an event is not one of them", other);
  if (r.past) refuse("those of a delay equation look ahead", other);
  if (r.first_half > 0)
    refuse("those of a PartitionedTerm have no two halves", "solve to_ode of it, or " + other);
  if (r.options.saveat.dense) refuse("SaveAt::dense keeps every step", other);
  if (r.options.saveat.solver_state || r.options.solver_state)
    refuse("a solver_state joins steps to those of another solve", other);
  for (const SaveRequest& s : r.saves)
    if (s.at.steps > 0)
      refuse("SaveAt::steps are at times that depend on the state", "save at `ts`, or " + other);
  const Controller& c = r.options.controller;
  if (!r.t1.is_array() && std::isinf(r.t1.scalar().floating))
    refuse("there is no way back from infinity",
           "end at a finite time, or take ImplicitAdjoint where the solve comes to rest");
  if (!adjoint.controller &&
      (std::holds_alternative<StepTo>(c) || std::holds_alternative<ClipStepSize>(c)))
    refuse("its controller names times on the way",
           "say how long steps back are (BacksolveAdjoint::controller), or " + other);
}

void check_rest(const Request& r) {
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    fail(r,
         "ImplicitAdjoint differentiates where a solve comes to rest, and " + what + "; " + remedy);
  };
  const std::string other = "take RecursiveCheckpointAdjoint";
  if (std::any_of(r.drives.begin(), r.drives.end(),
                  [](const Driven& d) { return d.drive != nullptr; }))
    refuse("an equation that a path drives has none", other);
  if (r.past) refuse("the past of a delay equation is not at rest", other);
  if (r.first_half > 0)
    refuse("the halves of a PartitionedTerm move in turn", "solve to_ode of it");
  if (r.events.empty())
    refuse("no event says that it has", "give steady_state_event, or another one that does");
  for (const EventRequest& e : r.events)
    if (e.effect) refuse("an event goes on from another state", other);
  if (r.options.saveat.dense || r.options.saveat.solver_state || r.options.solver_state)
    refuse("more is kept than that", "save t1 alone, or " + other);
  for (const SaveRequest& s : r.saves)
    if (!s.at.ts.empty() || s.at.steps > 0)
      refuse("states on the way are saved", "save t1 alone, or " + other);
}

/// Rows behind the first `count` are those of `rest`.
Array up_to(const Array& count, const Array& rows, const Operand& rest) {
  Shape shape = rows.shape();
  for (int axis = 1; axis < shape.rank(); ++axis) shape[axis] = 1;
  return where(iota(shape, 0) < count, rows, rest);
}

/// The controller with tolerances and times that do not move.
Controller with_constants(Controller c) {
  const auto fix = [](Tolerance& t) {
    if (t.value().is_array()) t = stop_gradient(t.value().array());
  };
  const auto fix_pid = [&](PidController& pid) {
    fix(pid.rtol);
    fix(pid.atol);
  };
  const auto fix_times = [](Times& ts) {
    if (ts.array()) ts = stop_gradient(*ts.array());
  };
  if (auto* pid = std::get_if<PidController>(&c)) fix_pid(*pid);
  if (auto* to = std::get_if<StepTo>(&c)) fix_times(to->ts);
  if (auto* clip = std::get_if<ClipStepSize>(&c)) {
    fix_pid(clip->controller);
    fix_times(clip->step_ts);
    fix_times(clip->jump_ts);
  }
  return c;
}

class Enclosing {
 public:
  explicit Enclosing(const Request& r)
      : r_(r),
        undoes_(std::holds_alternative<ReversibleAdjoint>(r.options.adjoint)),
        rests_(std::holds_alternative<ImplicitAdjoint>(r.options.adjoint)),
        u_{r, time_dtype(r), &r.solver.method(), true, {}, {}, {}, r.options, {}} {
    const bool driven = std::any_of(r.drives.begin(), r.drives.end(),
                                    [](const Driven& d) { return d.drive != nullptr; });
    if (driven) {
      driven_ = u_.method->driven(r);
      if (!driven_)
        fail(r, u_.method->name() + " solves no equation with a path in it; take ReversibleHeun");
      u_.method = driven_.get();
    }
    if (undoes_) u_.equal = equal_steps(r, u_.dtype);
    if (keeps_ends() && !r.options.max_steps.bounded())
      fail(r,
           "ReversibleAdjoint keeps where steps end, and max_steps is `unbounded`; say how many "
           "there may be");
    u_.times_move =
        !undoes_ || (!driven && !std::holds_alternative<ClipStepSize>(r.options.controller));
    const Array t = zeros({}, u_.dtype);
    for (const FieldRef& f : r.fields)
      u_.fields.push_back(closure_convert(
          [&](const Array& at, const Arrays& y) { return f(at, y); }, t, r.y0, r.loc));
    for (const EventRequest& e : r.events)
      u_.conditions.push_back(closure_convert(
          [&](const Array& at, const Arrays& y) { return e.condition(at, y); }, t, r.y0, r.loc));
    for (const SaveRequest& s : r.saves)
      if (!s.at.ts.empty() || s.at.steps > 0)
        u_.inside.push_back({.ts = s.at.ts, .steps = s.at.steps});
    u_.dt0 = r.dt0;
    if (!undoes_) {
      // Neither the adjoint equations nor a state at rest know how long steps are.
      u_.options.controller = with_constants(r.options.controller);
      const auto* adjoint = std::get_if<BacksolveAdjoint>(&r.options.adjoint);
      if (adjoint && adjoint->controller) u_.back = with_constants(*adjoint->controller);
      if (const auto& h = r.dt0.value(); h && h->is_array()) u_.dt0 = stop_gradient(h->array());
    }
    u_.options.adjoint = ForwardMode{};
    u_.options.saveat = {};
  }

  Outcome run() {
    Inputs in{r_.y0, {}, {}};
    for (const auto* functions : {&u_.fields, &u_.conditions})
      for (const OpenField& f : *functions)
        in.captured.insert(in.captured.end(), f.captures.begin(), f.captures.end());
    if (u_.times_move)
      for (const Operand* t : {&r_.t0, &r_.t1})
        if (t->is_array()) in.times.push_back(cast(t->array(), u_.dtype));
    const auto solve = [this](const Inputs& x) { return solved(x).first; };
    const auto forward = [this](const Inputs& x) { return solved(x); };
    const auto backward = [this](const Memory& kept, const Solved& moved) {
      return undoes_  ? undo(u_, kept, moved)
             : rests_ ? move_rest(u_, kept, moved)
                      : solve_back(u_, kept, moved);
    };
    return outcome(custom_vjp(solve, forward, backward, r_.loc)(in));
  }

 private:
  /// Whether the program knows the ends of steps only when it runs.
  bool keeps_ends() const {
    return undoes_ && !u_.equal && !std::holds_alternative<StepTo>(r_.options.controller);
  }

  std::pair<Solved, Memory> solved(const Inputs& x) {
    Closed closed(u_, x);
    const auto nothing = [](const Array&, const Arrays&) { return Arrays{}; };
    for (const SaveAt& at : u_.inside) closed.request.saves.push_back({at, {}});
    if (keeps_ends()) closed.request.saves.push_back({{.steps = 1}, FieldRef(nothing)});
    const Outcome out = integrate(closed.request);
    u_.equal_steps = out.equal_steps;

    Solved all{out.y1, {}, out.t1, {}};
    Memory kept{x, out.y1, out.method, {}, out.stats.accepted, {}, {}, out.t1, out.event};
    if (keeps_ends()) kept.ends = {out.rows.back().ts};
    all.facts = {out.stats.steps,       out.stats.accepted, out.stats.rejected,
                 out.stats.evaluations, out.result,         out.event};
    for (std::size_t i = 0; i < u_.inside.size(); ++i) {
      all.saved.push_back(out.rows[i].ys);
      all.facts.push_back(out.rows[i].ts);
      all.facts.push_back(out.rows[i].count);
      kept.saved.push_back(out.rows[i].count);
      if (!undoes_) kept.rows.push_back(out.rows[i].ys);
    }
    return {std::move(all), std::move(kept)};
  }

  /// All that a solve gives.
  Outcome outcome(const Solved& all) const {
    const std::optional<Array> sign = direction(r_, u_.dtype);
    const Fields fields(r_, sign);
    Reader facts(all.facts);
    Outcome out;
    const Array t0 = fields.time(cast(r_.t0, u_.dtype)), t1 = fields.time(all.t1);
    out.t0 = fields.time(t0);
    out.t1 = all.t1;
    out.y1 = all.y1;
    out.stats.steps = facts.next();
    out.stats.accepted = facts.next();
    out.stats.rejected = facts.next();
    out.stats.evaluations = facts.next();
    out.result = facts.next();
    out.event = facts.next();
    std::size_t inside = 0;
    for (const SaveRequest& s : r_.saves) {
      const Saver saver(r_, s, fields, u_.dtype);
      Kept kept;
      if (saver.in_loop()) {
        const Array ts = stop_gradient(fields.time(facts.next()));
        const Array count = facts.next();
        kept = joined(saver, s, t0, ts, all.saved[inside++], count);
      }
      out.rows.push_back(saver.finish(std::move(kept), t0, r_.y0, t1, all.y1, out.stats.accepted));
    }
    return out;
  }

  /// Rows inside of a solve with the row of t0 before them, and room for that of t1.
  Kept joined(const Saver& saver, const SaveRequest& s, const Array& t0, const Array& ts,
              const Arrays& states, const Array& count) const {
    const Dim inside = ts.dim(0);
    Arrays values = states;
    if (s.values) {
      // Of rows that were not written nothing is asked that might not be finite.
      for (std::size_t a = 0; a < states.size(); ++a)
        values[a] = up_to(count, states[a], expand_dims(r_.y0[a], 0));
      values = vmap([&](const Array& t, const Arrays& y) { return saver.values(t, y); })(
          up_to(count, ts, t0), values);
      for (Array& a : values) a = up_to(count, a, 0);
    }
    const Arrays first = s.at.t0 ? saver.values(t0, r_.y0) : Arrays{};
    const Dim used = inside + (s.at.t0 ? 1 : 0), rows = saver.rows();
    const auto with_ends = [&](const Array& all, const Array* start) {
      Arrays parts;
      if (start) parts.push_back(expand_dims(*start, 0));
      parts.push_back(all);
      if (rows > used) parts.push_back(zeros(all.shape().with(0, rows - used), all.dtype()));
      const Array whole = parts.size() == 1 ? all : concatenate(parts);
      return rows < used ? slice_axis(whole, 0, 0, rows) : whole;
    };
    Kept kept;
    kept.row = count + (s.at.t0 ? 1 : 0);
    kept.ts = with_ends(ts, s.at.t0 ? &t0 : nullptr);
    for (std::size_t a = 0; a < values.size(); ++a)
      kept.values.push_back(with_ends(values[a], s.at.t0 ? &first[a] : nullptr));
    return kept;
  }

  const Request& r_;
  bool undoes_, rests_;
  Enclosed u_;
  std::shared_ptr<const Method> driven_;
};

}  // namespace

Arrays floats_of(const Arrays& all) {
  Arrays some;
  for (const Array& a : all)
    if (is_float(a.dtype())) some.push_back(a);
  return some;
}
/// `all` with other arrays of floats.
Arrays with_floats(Arrays all, const Arrays& floats) {
  std::size_t at = 0;
  for (Array& a : all)
    if (is_float(a.dtype())) a = floats.at(at++);
  return all;
}
Arrays zeros_of(const Arrays& like) {
  Arrays all;
  for (const Array& a : like) all.push_back(zeros_like(a));
  return all;
}
Arrays sum_of(Arrays a, const Arrays& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] + b[i];
  return a;
}

Closed::Closed(const Enclosed& u, const Inputs& x)
    : request{u.r.solver, {},        u.r.drives, u.r.t0, u.r.t1,  u.dt0,         x.y0,
              u.r.paths,  u.options, {},         {},     u.r.loc, u.r.first_half} {
  Reader captured(x.captured), times(x.times);
  for (const auto* functions : {&u.fields, &u.conditions})
    for (const OpenField& f : *functions)
      calls_.push_back(std::make_unique<Call>(Call{f, captured.take(f.captures.size())}));
  for (std::size_t i = 0; i < u.fields.size(); ++i) request.fields.emplace_back(*calls_[i]);
  for (std::size_t i = 0; i < u.conditions.size(); ++i)
    request.events.push_back({FieldRef(*calls_[u.fields.size() + i]), {}, u.r.events[i].options});
  if (!u.times_move) return;
  if (u.r.t0.is_array()) request.t0 = times.next();
  if (u.r.t1.is_array()) request.t1 = times.next();
}

bool is_enclosed(const Adjoint& a) {
  return std::holds_alternative<ReversibleAdjoint>(a) ||
         std::holds_alternative<BacksolveAdjoint>(a) || std::holds_alternative<ImplicitAdjoint>(a);
}

Outcome integrate_enclosed(const Request& r) {
  if (const auto* back = std::get_if<BacksolveAdjoint>(&r.options.adjoint))
    check_backsolve(r, *back);
  else if (std::holds_alternative<ImplicitAdjoint>(r.options.adjoint))
    check_rest(r);
  else
    check_undone(r);
  return Enclosing(r).run();
}

}  // namespace gnomon::ode::detail
