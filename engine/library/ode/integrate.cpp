// engine/library/ode/integrate.cpp -- the loop over the steps of a solve, the same for every method
// and controller.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/library/ode/control.h"
#include "engine/library/ode/enclosed.h"
#include "engine/library/ode/events.h"
#include "engine/library/ode/method.h"
#include "engine/library/ode/saver.h"
#include "engine/library/ode/uniform.h"
#include "gnomon/buffer.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "gnomon/ode/delay.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode::detail {
namespace {

Array code(Result r) { return full({}, static_cast<int>(r), DType::i32); }

}  // namespace

void fail(const Request& r, const std::string& what) { usage_error("diffeqsolve", what, r.loc); }

DType time_dtype(const Request& r) {
  bool wide = false;
  for (std::size_t i = 0; i < r.y0.size(); ++i) {
    const Array& a = r.y0[i];
    if (!is_float(a.dtype()))
      fail(r, "`" + r.paths[i] + "` is " + to_string(a.aval()) +
                  "; the arrays of a state are of floats");
    wide = wide || a.dtype() == DType::f64;
  }
  const auto look = [&](const Operand& t, const char* name) {
    if (!t.is_array()) return;
    if (t.array().rank() != 0)
      fail(r, std::string(name) + " is " + to_string(t.array().aval()) + "; times are numbers");
    wide = wide || t.array().dtype() == DType::f64;
  };
  look(r.t0, "t0");
  look(r.t1, "t1");
  if (r.dt0.value()) look(*r.dt0.value(), "dt0");
  return wide ? DType::f64 : DType::f32;
}

std::optional<Array> direction(const Request& r, DType time) {
  if (r.past) return {};  // what comes later is not known
  if (!r.t0.is_array() && !r.t1.is_array()) {
    if (r.t0.scalar().floating <= r.t1.scalar().floating) return {};
    return cast(-1.0, time);
  }
  return where(cast(r.t1, time) < cast(r.t0, time), cast(-1.0, time), cast(1.0, time));
}

namespace {

/// A number that is known when tracing.
std::optional<double> known(const Operand& x) {
  return x.is_array() ? std::nullopt : std::optional(x.scalar().floating);
}

void check_step(const Request& r) {
  const auto t0 = known(r.t0), t1 = known(r.t1);
  const auto dt0 = r.dt0.value() ? known(*r.dt0.value()) : std::nullopt;
  for (const auto& t : {t0, t1, dt0})
    if (t && std::isnan(*t)) fail(r, "t0, t1 or dt0 is not a number");
  if (t0 && std::isinf(*t0)) fail(r, "t0 is infinite; begin somewhere");
  if (dt0 && (*dt0 == 0 || std::isinf(*dt0)))
    fail(r, "dt0 is " + to_string(Scalar(*dt0)) + "; give the length of the first step, or `none`");
  if (t0 && t1 && dt0 && (*t1 - *t0) * *dt0 < 0)
    fail(r, "dt0 is " + to_string(Scalar(*dt0)) + ", and t1 " + to_string(Scalar(*t1)) +
                (*dt0 > 0 ? " is below t0 " : " is above t0 ") + to_string(Scalar(*t0)) +
                "; turn the sign of dt0");
}

/// Numbers of a state that a lane of an ensemble may hold: there a step costs less than the search
/// for its checkpoint, and a loop of segments stays in one kernel. The gradient of 16,384 Lorenz
/// systems through 40 steps takes 8 ms by that and 70 ms by checkpoints, the solve 1.6 ms (Zen 5,
/// two cores, lavapipe 22.3).
constexpr Dim most_in_a_lane = 64;

/// What reverse mode keeps of the loop.
WhileOptions loop_options(const Request& r, std::optional<Dim> steps) {
  WhileOptions options{r.options.max_steps};
  if (steps && (!options.max_steps.bounded() || *steps < options.max_steps.steps()))
    options.max_steps = *steps;
  const Adjoint& adjoint = r.options.adjoint;
  options.kind = LoopKind::lax;
  if (const auto* recursive = std::get_if<RecursiveCheckpointAdjoint>(&adjoint)) {
    Dim numbers = 0;
    for (const Array& a : r.y0) numbers += a.size();
    // Of a number of steps that is known, segments take as many rows as checkpoints by default
    // would, and the search for these costs more than the steps do: the gradient of 1,024 steps of
    // 16,384 numbers takes 96 ms by segments and 716 ms by checkpoints. Where few of max_steps are
    // taken there is a checkpoint for each, and large states are not computed twice.
    if (recursive->checkpoints.given() ||
        (options.max_steps.bounded() && !steps && numbers > most_in_a_lane)) {
      options.kind = LoopKind::checkpointed;
      options.checkpoints = recursive->checkpoints;
    } else if (options.max_steps.bounded()) {
      options.kind = LoopKind::automatic;
    }
  } else if (options.max_steps.bounded()) {
    if (std::holds_alternative<DirectAdjoint>(adjoint)) options.kind = LoopKind::bounded;
    if (std::holds_alternative<StoredAdjoint>(adjoint)) options.kind = LoopKind::stored;
  }
  return options;
}

/// The pieces of a dense solution as the loop writes them.
struct Dense {
  Array ends, starts, lengths;  // write-once: [n]
  std::vector<Arrays> powers;   // write-once: [power][array]: [n, ..]
};

struct State {
  Array t, next;
  Arrays y, method, control;
  std::optional<Array> accepted, code, event, evaluations;
  std::optional<Array> wanted;  // `next` without an end at t1, where another solve may go on
  Arrays marks;
  std::vector<Kept> kept;
  std::optional<Dense> dense;
  std::optional<PastPieces> past;
};

class Integration {
 public:
  explicit Integration(const Request& r)
      : r_(r),
        dtype_(time_dtype(r)),
        sign_(direction(r, dtype_)),
        fields_(r, sign_),
        t0_(fields_.time(time_of(r.t0))),
        t1_(fields_.time(time_of(r.t1))),
        events_(r, fields_, t0_, r.y0) {
    check_step(r);
    method_ = &r.solver.method();
    prepared_ = method_->prepared(r);
    if (prepared_) method_ = prepared_.get();
    drive();
    bool between = r.options.saveat.dense || events_.finds_roots() || r.past != nullptr;
    for (const SaveRequest& s : r.saves) {
      savers_.emplace_back(r, s, fields_, dtype_);
      between = between || savers_.back().interpolates();
    }
    if (between && !method_->is_driven()) {
      richer_ = method_->with_interpolant();
      if (richer_) method_ = richer_.get();
    }
    interpolates_ = between;
    if (const auto lighter = method_->without_slopes(); lighter && has_cheap_field()) {
      lighter_ = lighter;
      method_ = lighter_.get();
    }
    if (r.options.saveat.dense && !r.options.max_steps.bounded())
      fail(r, "SaveAt keeps every step, and max_steps is `unbounded`; say how many there may be");
    if (r.past && (r.options.solver_state || r.options.saveat.solver_state))
      fail(r,
           "a delay equation cannot go on from a solver_state, which does not hold its past; "
           "start another solve whose history(t) is the first one's dense solution");
    if (r.past) r.past->begin(r, t0_, r.y0);
    begun_ = r.options.solver_state ? resumed() : method_->begin(fields_, t0_, r.y0);
    Setup setup{r, *method_, fields_, r.y0, begun_, t0_, t1_, {}, {}, {}};
    const auto t0 = known(r.t0), t1 = known(r.t1);
    if (t0 && t1) setup.span = std::fabs(*t1 - *t0);
    if (const auto& dt0 = r.dt0.value()) {
      setup.dt0 = fields_.time(time_of(*dt0));
      if (const auto length = known(*dt0)) setup.first = std::fabs(*length);
    }
    if (r.options.solver_state) setup.resumed = &*r.options.solver_state;
    automatic_ =
        !setup.dt0 && !setup.resumed && !std::holds_alternative<StepTo>(r.options.controller);
    control_ = make_control(setup);
    const double eps = dtype_ == DType::f64 ? std::numeric_limits<double>::epsilon()
                                            : std::numeric_limits<float>::epsilon();
    nearly_ = t1_ - 100 * eps * abs(t1_);
  }

  Outcome run() {
    if (is_uniform()) return run_uniformly();
    // An event takes a step apart.
    const WhileOptions options =
        loop_options(r_, events_.can_go_on() ? std::optional<Dim>() : control_->steps());
    const auto loop_by = [&](const Method& method, State s, const WhileOptions& o) {
      return while_loop_counted([&](const State& now) { return goes_on(now); },
                                [&](State now) { return step(method, std::move(now)); },
                                std::move(s), o, r_.loc);
    };
    const Dim first = method_->starting_steps();
    if (first == 0) {
      const auto loop = loop_by(*method_, begin(), options);
      return finish(loop.state, loop.steps, loop.bound_hit);
    }
    const std::shared_ptr<const Method> starter = method_->starter();
    WhileOptions few = options, rest = options;
    if (few.kind == LoopKind::checkpointed) few.kind = LoopKind::stored;
    few.checkpoints = {};
    const bool bounded = options.max_steps.bounded();
    few.max_steps = bounded ? std::min(first, options.max_steps.steps()) : first;
    const auto start = loop_by(*starter, begin(), few);
    if (bounded && options.max_steps.steps() <= first)
      return finish(start.state, start.steps, start.bound_hit);
    if (bounded) rest.max_steps = options.max_steps.steps() - first;
    const auto loop = loop_by(*method_, start.state, rest);
    return finish(loop.state, start.steps + loop.steps, loop.bound_hit);
  }

 private:
  Array time_of(const Operand& t) const {
    return t.is_array() ? (t.array().dtype() == dtype_ ? t.array() : cast(t, dtype_))
                        : cast(t, dtype_);
  }

  /// Takes the method for driven parts where there are any.
  void drive() {
    const auto is_driven = [](const Driven& d) { return d.drive != nullptr; };
    if (!method_->is_driven() && std::any_of(r_.drives.begin(), r_.drives.end(), is_driven)) {
      driven_ = method_->driven(r_);
      if (!driven_)
        fail(r_, method_->name() +
                     " solves no equation with a path in it; take one that does: EulerMaruyama "
                     "(Ito), SPaRK (Stratonovich), or an explicit Runge-Kutta method");
      method_ = driven_.get();
    }
    method_->check_terms(r_);
    for (const Driven& d : r_.drives) {
      if (!d.drive) continue;
      if (d.drive->needs_index() && events_.can_go_on())
        fail(r_,
             "an event changes the state inside a step, and IndexedBrownianPath knows whole "
             "steps only; take a VirtualBrownianTree");
      const auto range = d.drive->range();
      if (!range) continue;
      for (const auto& t : {known(r_.t0), known(r_.t1)})
        if (t && !(*t >= range->first && *t <= range->second))
          fail(r_, "the solve comes to time " + to_string(Scalar(*t)) +
                       ", and the Brownian path is from " + to_string(Scalar(range->first)) +
                       " to " + to_string(Scalar(range->second)) + "; make the path as long");
    }
  }

  /// Whether the field costs less than it does to carry slopes: a step chooses between two for each
  /// number, and reverse mode keeps them. The gradient of 16,384 Lorenz systems takes 5.7 ms
  /// without slopes and 6.4 ms with them, the solve the same (Zen 5, two cores, lavapipe 22.3).
  bool has_cheap_field() const {
    if (r_.past || method_->is_driven()) return false;
    constexpr double few_operations = 4;
    double numbers = 0;
    for (const Array& a : r_.y0) numbers += static_cast<double>(a.size());
    // As it is for any direction of time, so that a solve that goes on with another decides alike.
    const auto field = [&](const Array& t, const Arrays& y) { return r_.fields[0](t, y); };
    return count_operations(field, t0_, r_.y0) <= few_operations * numbers;
  }

  /// What the method of another solve ended with.
  const Arrays& resumed() const {
    const Arrays& state = r_.options.solver_state->method;
    const Arrays like = eval_shape(
        [&](const Array& t, const Arrays& y) { return method_->begin(fields_, t, y); }, t0_, r_.y0);
    bool fits = state.size() == like.size();
    for (std::size_t i = 0; fits && i < like.size(); ++i) fits = state[i].aval() == like[i].aval();
    if (!fits)
      fail(r_, "solver_state is not one of " + method_->name() +
                   " for this state and these times; take that of a solve by the same solver, with "
                   "values between the steps (SaveAt::ts, dense, events with roots) in both or in "
                   "neither");
    return state;
  }

  /// Whether all steps are known, and what is kept of them.
  bool is_uniform() const {
    const auto t0 = known(r_.t0), t1 = known(r_.t1);
    const auto dt0 = r_.dt0.value() ? known(*r_.dt0.value()) : std::nullopt;
    if (!std::holds_alternative<ConstantStepSize>(r_.options.controller) || !t0 || !t1 || !dt0 ||
        *t0 == *t1 || !control_->steps() || !control_->index(control_->start().state))
      return false;
    const StepBound& most = r_.options.max_steps;
    if (most.bounded() && *control_->steps() > most.steps()) return false;
    const double digits = dtype_ == DType::f64 ? std::numeric_limits<double>::epsilon()
                                               : std::numeric_limits<float>::epsilon();
    if (std::fabs(*dt0) < 8 * digits * std::max(std::fabs(*t0), std::fabs(*t1))) return false;
    if (method_->is_driven() || method_->can_fail() || method_->counts_evaluations() ||
        events_.any() || r_.past || r_.options.saveat.dense || r_.options.saveat.solver_state ||
        r_.options.solver_state)
      return false;
    return std::all_of(savers_.begin(), savers_.end(),
                       [](const Saver& s) { return s.is_uniform(); });
  }

  Outcome run_uniformly() {
    const Dim n = *control_->steps();
    const StepControl::Start start = control_->start();
    Array ends = reshape(where(start.next > nearly_, t1_, start.next), {1});
    if (n > 1) {
      const Decision later =
          control_->decide({t0_, t0_, t0_, r_.y0, Stepped{}}, {iota({n - 1}, 0, DType::i32)});
      ends = concatenate({ends, later.next});
    }
    const WhileOptions loop = loop_options(r_, n);
    const UniformStates states = step_uniformly(
        {r_, *method_, fields_, begun_, savers_, t0_, ends, loop.kind, loop.checkpoints,
         std::holds_alternative<ForwardMode>(r_.options.adjoint) ? equal_steps(r_, dtype_)
                                                                 : std::nullopt});
    const Array steps = full({}, n, DType::i32);
    State last;
    last.t = t1_;
    last.y = states.y1;
    last.method = states.method;
    Outcome out = finish(last, steps, full({}, false), &states);
    out.equal_steps = n;
    return out;
  }

  bool can_reject() const { return control_->can_reject(); }
  bool can_fail() const {
    return control_->can_fail() || events_.can_end() || (r_.past && r_.past->can_lose()) ||
           (method_->can_fail() && !can_reject());
  }

  State begin() {
    StepControl::Start start = control_->start();
    State s;
    s.t = t0_;
    s.next = where(start.next > nearly_, t1_, start.next);
    s.y = r_.y0;
    s.method = begun_;
    s.control = std::move(start.state);
    if (r_.options.saveat.solver_state) s.wanted = start.next;
    s.marks = events_.start();
    if (counts()) s.accepted = zeros({}, DType::i32);
    if (can_fail()) s.code = code(Result::successful);
    if (events_.can_end()) s.event = full({}, -1, DType::i32);
    if (method_->counts_evaluations()) s.evaluations = zeros({}, DType::i32);
    for (const Saver& saver : savers_)
      if (saver.in_loop()) s.kept.push_back(saver.start(t0_, t1_, r_.y0));
    if (r_.options.saveat.dense) s.dense = empty_pieces();
    if (r_.past) s.past = r_.past->first(powers_of_interpolant());
    return s;
  }

  Array goes_on(const State& s) const {
    // A step that time cannot resolve is no step; neither is one to NaN.
    const Array on = s.t < t1_ && s.next > s.t;
    return s.code ? on && *s.code == 0 : on;
  }

  State step(const Method& method, State s) {
    const Span span{s.t, s.next, s.next - s.t, control_->index(s.control)};
    if (s.past) r_.past->hold(*s.past, s.t);
    const Stepped stepped = method.step(fields_, span, s.y, s.method);
    Decision d = control_->decide({span.t0, span.t1, span.h, s.y, stepped}, s.control);
    const std::optional<Array>& keep = d.keep;

    State next;
    next.t = d.t;
    next.next = d.next;
    if (!control_->ends_at_t1()) {
      // Behind a rejected step half the way is nearer to what is wanted than all of it.
      const Array end = keep ? where(*keep, t1_, d.t + 0.5 * (t1_ - d.t)) : t1_;
      next.next = where(d.next > nearly_, end, d.next);
    }
    if (s.wanted) next.wanted = keep ? where(*keep, d.next, next.next) : d.next;
    next.y = keep ? choose(*keep, stepped.y1, s.y) : stepped.y1;
    next.method = keep ? choose(*keep, stepped.state, s.method) : stepped.state;
    next.control = std::move(d.state);
    if (s.accepted)
      next.accepted = *s.accepted + (keep ? cast(*keep, DType::i32) : ones({}, DType::i32));
    if (s.evaluations) next.evaluations = *s.evaluations + *stepped.evaluations;
    if (s.code) {
      next.code = *s.code;
      if (d.failed) next.code = where(*d.failed, code(Result::dt_min_reached), *next.code);
      if (d.full) next.code = where(*d.full, code(Result::too_many_rejected), *next.code);
      if (stepped.failed && !can_reject())
        next.code = where(*stepped.failed, code(Result::nonlinear_divergence), *next.code);
    }
    if (d.jumped && !next.method.empty())
      next.method = cond(
          *d.jumped, [&] { return method_->begin(fields_, next.t, next.y); },
          [&] { return next.method; });

    const Polynomial powers = interpolates_ ? method.interpolant(span, s.y, stepped) : Polynomial{};
    if (events_.any()) look_for_events(s, next, span, powers, keep);
    std::size_t at = 0;
    for (const Saver& saver : savers_) {
      if (!saver.in_loop()) continue;
      next.kept.push_back(saver.step(std::move(s.kept[at++]), span, s.y, powers, next.t, next.y,
                                     keep, s.accepted ? *next.accepted : s.t));
    }
    if (s.dense) next.dense = add_piece(*s.dense, s, next.t, span, powers, keep);
    if (s.past) {
      next.past = r_.past->with(*s.past, span.t0, span.h, s.y, powers, keep);
      if (r_.past->can_lose())
        next.code = where(r_.past->lost(*next.past, next.t) && next.t < t1_,
                          code(Result::history_lost), *next.code);
    }
    return next;
  }

  /// Has an event end or change what a step led to.
  void look_for_events(const State& s, State& next, const Span& span, const Polynomial& powers,
                       const std::optional<Array>& keep) const {
    const Array end = next.t;
    Events::Found found = events_.look(span, s.y, powers, {end, {}, next.y, s.marks}, keep);
    next.t = found.t;
    next.y = found.y;
    next.marks = std::move(found.marks);
    next.event = s.event;
    if (events_.can_end()) {
      const Array ends = events_.ends(found.which);
      next.event = where(ends, found.which, *s.event);
      next.code = where(ends, code(Result::event_occurred), *next.code);
    }
    if (!events_.can_go_on()) return;
    // What is left of the step is next.
    const Array inside = found.which >= 0 && found.t < end;
    next.next = where(inside, span.t1, next.next);
    if (next.wanted) next.wanted = where(inside, span.t1, *next.wanted);
    next.control = choose(inside, s.control, next.control);
    if (!next.method.empty())
      next.method = cond(
          found.which >= 0, [&] { return method_->begin(fields_, next.t, next.y); },
          [&] { return next.method; });
  }

  bool counts() const {
    bool needed = can_reject() || r_.options.saveat.dense;
    for (const SaveRequest& s : r_.saves) needed = needed || s.at.steps > 0;
    return needed;
  }

  // ---- dense output

  std::size_t powers_of_interpolant() const {
    const Polynomial like = eval_shape(
        [&](const Array& t, const Arrays& y, const Arrays& begun) {
          const Span span{t, t, t, full({}, 0, DType::i32)};
          return method_->interpolant(span, y, method_->step(fields_, span, y, begun));
        },
        t0_, r_.y0, begun_);
    return like.size();
  }

  Dense empty_pieces() const {
    const Dim n = r_.options.max_steps.steps();
    Dense d{buffer({n}, dtype_), buffer({n}, dtype_), buffer({n}, dtype_), {}};
    const std::size_t powers = powers_of_interpolant();
    for (std::size_t p = 0; p <= powers; ++p) {
      d.powers.emplace_back();
      for (const Array& a : r_.y0)
        d.powers.back().push_back(buffer(a.shape().with_inserted(0, n), a.dtype()));
    }
    return d;
  }

  Dense add_piece(Dense d, const State& s, const Array& end, const Span& span,
                  const Polynomial& powers, const std::optional<Array>& keep) const {
    // Behind the end nothing is written.
    const Array row = keep ? where(*keep, *s.accepted, r_.options.max_steps.steps()) : *s.accepted;
    d.ends = d.ends.at(row).set(end);
    d.starts = d.starts.at(row).set(span.t0);
    d.lengths = d.lengths.at(row).set(span.h);
    for (std::size_t i = 0; i < s.y.size(); ++i)
      for (std::size_t p = 0; p < d.powers.size(); ++p)
        d.powers[p][i] = d.powers[p][i].at(row).set(p == 0 ? s.y[i] : powers[p - 1][i]);
    return d;
  }

  /// A solve from t0 to t0 took no step: a piece without length says what y0 is and where it tends.
  Pieces all_pieces(Dense d, const Array& steps, const Array& accepted) const {
    const auto t0 = known(r_.t0), t1 = known(r_.t1);
    if (t0 && t1 && *t0 != *t1) return pieces(d, accepted);
    const Array empty = steps == 0 && t0_ == t1_;
    const Array row = where(empty, 0, r_.options.max_steps.steps());
    d.ends = d.ends.at(row).set(t0_);
    d.starts = d.starts.at(row).set(t0_);
    d.lengths = d.lengths.at(row).set(ones({}, dtype_));
    const Arrays slope = slope_at_start();
    for (std::size_t i = 0; i < r_.y0.size(); ++i)
      for (std::size_t p = 0; p < d.powers.size(); ++p)
        d.powers[p][i] = d.powers[p][i].at(row).set(p == 0   ? r_.y0[i]
                                                    : p == 1 ? slope[i]
                                                             : zeros_like(r_.y0[i]));
    return pieces(d, accepted + cast(empty, DType::i32));
  }

  /// What time does to the state; paths have no slope. A constant: where there are steps its
  /// derivatives may be infinite and mean nothing.
  Arrays slope_at_start() const {
    Arrays sum;
    for (const Array& a : r_.y0) sum.push_back(zeros_like(a));
    for (std::size_t k = 0; k < r_.fields.size(); ++k) {
      if (k < r_.drives.size() && r_.drives[k].drive) continue;
      const Arrays part = fields_(k, t0_, r_.y0);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + stop_gradient(part[i]);
    }
    return sum;
  }

  Pieces pieces(const Dense& d, const Array& accepted) const {
    const Array written = iota({d.ends.dim(0)}, 0) < accepted;
    const Array ends = where(written, d.ends, std::numeric_limits<double>::infinity());
    return {concatenate({reshape(t0_, {1}), ends}), d.starts, d.lengths,
            sign_ ? *sign_ : ones({}, dtype_), d.powers};
  }

  // ---- the end

  Outcome finish(const State& s, const Array& steps, const Array& bound_hit,
                 const UniformStates* uniform = nullptr) const {
    const Array accepted = s.accepted ? *s.accepted : steps;
    Outcome out;
    out.t0 = fields_.time(t0_);
    out.t1 = fields_.time(s.t);
    out.y1 = s.y;
    out.method = s.method;
    out.stats = {
        steps, accepted, steps - accepted,
        uniform != nullptr ? full({}, uniform->evaluations, DType::i32) : evaluations(s, steps)};
    out.event = s.event ? *s.event : full({}, -1, DType::i32);
    Array finite = full({}, true);
    for (const Array& a : s.y) finite = finite && all(isfinite(a));
    const Array stopped =
        where(bound_hit, code(Result::max_steps_reached),
              where(steps == 0, code(Result::bad_times), code(Result::step_too_small)));
    out.result = where(finite, where(s.t >= t1_, code(Result::successful), stopped),
                       code(Result::nonfinite));
    if (s.code) out.result = where(*s.code != 0, *s.code, out.result);
    std::size_t at = 0;
    for (std::size_t i = 0; i < savers_.size(); ++i) {
      const Saver& saver = savers_[i];
      if (uniform != nullptr && saver.in_loop()) {
        out.rows.push_back(saver.all(t0_, r_.y0, uniform->ends, uniform->of_savers[i]));
        continue;
      }
      Kept kept;
      if (saver.in_loop()) kept = s.kept[at++];
      out.rows.push_back(saver.finish(std::move(kept), t0_, r_.y0, s.t, s.y, accepted));
    }
    if (s.dense) out.pieces = all_pieces(*s.dense, steps, accepted);
    if (s.wanted) out.solver_state = SolverState{s.method, control_->lasting(s.control), *s.wanted};
    return out;
  }

  Array evaluations(const State& s, const Array& steps) const {
    const int begin = r_.options.solver_state ? 0 : method_->evaluations_to_begin();
    const int terms = static_cast<int>(r_.fields.size());
    const int first = automatic_ && !method_->is_driven() ? (begin == 0 ? 2 : 1) * terms : 0;
    if (s.evaluations) return *s.evaluations + (begin + first);
    return steps * method_->evaluations_per_step() + (begin + first);
  }

  const Request& r_;
  DType dtype_;
  std::optional<Array> sign_;
  Fields fields_;
  Array t0_, t1_, nearly_;  // in the direction of integration
  Events events_;
  const Method* method_ = nullptr;
  std::shared_ptr<const Method> prepared_, driven_, richer_, lighter_;
  std::vector<Saver> savers_;
  bool interpolates_ = false, automatic_ = false;
  Arrays begun_;
  std::unique_ptr<StepControl> control_;
};

}  // namespace

Outcome integrate(const Request& r) {
  if (is_enclosed(r.options.adjoint)) return integrate_enclosed(r);
  return Integration(r).run();
}

}  // namespace gnomon::ode::detail
