// engine/library/ode/control.cpp -- constant steps, given ones, and steps chosen by their errors.
#include "engine/library/ode/control.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gnomon/indexing.h"
#include "gnomon/numeric.h"
#include "gnomon/ode/delay.h"
#include "gnomon/ops.h"

namespace gnomon::ode {
namespace {

/// The mean of the squares of all elements.
Array mean_square(const std::vector<Array>& arrays) {
  std::optional<Array> total;
  Dim count = 0;
  for (const Array& a : arrays) {
    const Array part = a.rank() == 0 ? a * a : sum(a * a);
    total = total ? *total + part : part;
    count += a.size();
  }
  return count == 1 ? *total : *total * (1.0 / static_cast<double>(std::max<Dim>(count, 1)));
}

}  // namespace

Array rms_norm(const std::vector<Array>& arrays) {
  const Array square = mean_square(arrays);
  // The root of 0 has no derivative; that of the norm is taken as 0.
  const Array zero = square == 0;
  return where(zero, 0, sqrt(where(zero, 1, square)));
}

Array max_norm(const std::vector<Array>& arrays) {
  std::optional<Array> largest;
  for (const Array& a : arrays) {
    const Array part = max(abs(a));
    largest = largest ? maximum(*largest, part) : part;
  }
  return *largest;
}

namespace detail {

Array array_of(const Times& times, DType dtype) {
  if (times.array()) return cast(*times.array(), dtype);
  // The bits of each number, lower half first: constants have 32 bits.
  const std::vector<double>& values = times.values();
  std::vector<std::int32_t> words;
  for (double x : values) {
    if (dtype != DType::f64) {
      words.push_back(std::bit_cast<std::int32_t>(static_cast<float>(x)));
      continue;
    }
    const auto bits = std::bit_cast<std::uint64_t>(x);
    words.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
    words.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits >> 32)));
  }
  const Array all = array(words);
  if (dtype != DType::f64) return bitcast(all, DType::f32);
  return bitcast(reshape(all, {static_cast<Dim>(values.size()), 2}), DType::f64);
}

namespace {

[[noreturn]] void fail(const Setup& s, const std::string& what) {
  usage_error("diffeqsolve", what, s.request.loc);
}

// ---- equal steps

Dim count_of(double span, double first, DType dtype) {
  // A quotient that is an integer but for rounding is that integer.
  const double next = dtype == DType::f64 ? std::nextafter(first, INFINITY)
                                          : std::nextafter(static_cast<float>(first), INFINITY);
  return std::max<Dim>(static_cast<Dim>(std::ceil(span / next)), 1);
}

/// Step number n ends at t0 + (t1 - t0) (n + 1) / count: a product, which no rounding adds up in.
Array end_of_equal(const Array& t0, const Array& t1, const Array& n, Dim count) {
  const Array ends = cast(n + 1, t0.dtype());
  const Array end = t0 + (t1 - t0) * (ends * (1.0 / static_cast<double>(count)));
  return where(n + 1 >= count, t1, end);
}

class Constant final : public StepControl {
 public:
  explicit Constant(const Setup& s) : t0_(s.t0), t1_(s.t1) {
    if (!s.dt0) fail(s, "ConstantStepSize takes its step from dt0, which is `none`; give a number");
    first_ = *s.dt0;
    if (s.span && s.first) {
      if (std::isfinite(*s.span)) known_ = count_of(*s.span, *s.first, s.t0.dtype());
      infinite_ = std::isinf(*s.span);
    }
  }
  bool ends_at_t1() const override { return true; }
  std::optional<Dim> steps() const override { return known_; }
  std::optional<Array> index(const Arrays& state) const override {
    return infinite_ ? std::nullopt : std::optional(state[0]);
  }
  Start start() const override {
    return {t0_ + first_, infinite_ ? Arrays{} : Arrays{zeros({}, DType::i32)}};
  }
  Decision decide(const Taken& taken, const Arrays& state) const override {
    Decision d{{}, taken.t1, {}, {}, {}};
    if (infinite_) {
      d.next = taken.t1 + first_;
      return d;
    }
    const Array i = state[0] + 1;
    d.state = {i};
    if (known_) {
      d.next = end_of_equal(t0_, t1_, i, *known_);
    } else {
      const Array ends = cast(i + 1, t0_.dtype());
      const Array n =
          ceil((t1_ - t0_) / nextafter(first_, std::numeric_limits<double>::infinity()));
      const Array end = where(ends >= n, t1_, t0_ + (t1_ - t0_) * (ends / n));
      d.next = where(isinf(t1_), taken.t1 + first_, end);
    }
    return d;
  }

 private:
  Array t0_, t1_, first_;
  std::optional<Dim> known_;
  bool infinite_ = false;
};

// ---- given steps

class Given final : public StepControl {
 public:
  Given(const Setup& s, const StepTo& to) : ts_(array_of(to.ts, s.t0.dtype())) {
    if (s.dt0) fail(s, "StepTo says where all steps end, and dt0 is given as well; pass `none`");
    if (ts_.rank() != 1 || ts_.dim(0) < 2)
      fail(s, "StepTo has times of shape " + to_string(ts_.shape()) +
                  "; give t0, t1 and what is between them");
    const std::vector<double>& known = to.ts.values();
    if (known.empty()) {
      ts_ = s.fields.time(ts_);
      return;
    }
    const Request& r = s.request;
    const auto meets = [&](const Operand& t, double x, const char* name, const char* which) {
      if (!t.is_array() && t.scalar().floating != x)
        fail(s, std::string(which) + " time of StepTo is " + to_string(Scalar(x)) + " and " + name +
                    " is " + to_string(t.scalar()) + "; they have to be the same");
    };
    meets(r.t0, known.front(), "t0", "the first");
    meets(r.t1, known.back(), "t1", "the last");
    const bool up = known[1] > known[0];
    for (std::size_t i = 1; i < known.size(); ++i)
      if (!(up ? known[i] > known[i - 1] : known[i] < known[i - 1]))
        fail(s, "times " + std::to_string(i - 1) + " and " + std::to_string(i) + " of StepTo are " +
                    to_string(Scalar(known[i - 1])) + " and " + to_string(Scalar(known[i])) +
                    "; they have to go in one direction");
    ts_ = s.fields.time(ts_);
  }
  bool ends_at_t1() const override { return true; }
  std::optional<Dim> steps() const override { return ts_.dim(0) - 1; }
  std::optional<Array> index(const Arrays& state) const override { return state[0]; }
  Start start() const override { return {ts_[1], {zeros({}, DType::i32)}}; }
  Decision decide(const Taken& taken, const Arrays& state) const override {
    const Array i = state[0] + 1;
    return {{}, taken.t1, ts_[i + 1], {i}, {}};
  }

 private:
  Array ts_;
};

// ---- steps by their errors

/// Elements that are scaled by tolerances, all in the dtype of time.
Arrays scaled(const PidController& o, const Arrays& what, const Arrays& a, const Arrays& b,
              DType dtype) {
  Arrays result;
  for (std::size_t i = 0; i < what.size(); ++i) {
    // What is no number in b goes on to the error; a is the state, and accepted.
    const Array of_a = abs(a[i]), of_b = abs(b[i]);
    const Array size = &a == &b ? of_a : where(of_a > of_b, of_a, of_b);
    const Array r = what[i] / (o.atol.value() + o.rtol.value() * size);
    result.push_back(r.dtype() == dtype ? r : cast(r, dtype));
  }
  return result;
}

/// clip for what is a number, which needs no look at NaNs.
Array within(const Array& x, const Array& least, const Array& most) {
  const Array low = where(x < least, least, x);
  return where(low > most, most, low);
}

Arrays stopped(const Arrays& arrays) {
  Arrays result;
  for (const Array& a : arrays) result.push_back(stop_gradient(a));
  return result;
}

class Pid final : public StepControl {
 public:
  Pid(const Setup& s, const PidController& o) : s_(s), o_(o), dtype_(s.t0.dtype()) {
    const double order = o.error_order ? o.error_order : s.method.error_order();
    if (order == 0)
      fail(s, s.method.name() +
                  " has no estimate of its error, which PidController needs; take "
                  "ConstantStepSize, a method with an embedded one (Tsit5, Heun), or HalfSolver(" +
                  s.method.name() + ")");
    const auto require_finite = [&](const Tolerance& tolerance, const char* name) {
      const Operand& x = tolerance.value();
      if (!x.is_array() && !(std::isfinite(x.scalar().floating) && x.scalar().floating >= 0))
        fail(s, std::string(name) + " of PidController is " + to_string(x.scalar()) +
                    "; it has to be finite and not negative");
    };
    require_finite(o.rtol, "rtol");
    require_finite(o.atol, "atol");
    if (o.dtmin && o.dtmax && *o.dtmin > *o.dtmax)
      fail(s, "dtmin " + to_string(Scalar(*o.dtmin)) + " of PidController is above dtmax " +
                  to_string(Scalar(*o.dtmax)));
    // Of squares of errors: their roots are not needed.
    newest_ = -(o.icoeff + o.pcoeff + o.dcoeff) / (2 * order);
    before_ = (o.pcoeff + 2 * o.dcoeff) / (2 * order);
    oldest_ = -o.dcoeff / (2 * order);
  }

  bool can_reject() const override { return true; }
  bool can_fail() const override { return o_.dtmin && !o_.force_dtmin; }

  Arrays lasting(const Arrays& state) const override { return state; }
  Start start() const override {
    if (s_.resumed && !s_.dt0) return {s_.resumed->next, resumed()};
    Array h = s_.dt0 ? *s_.dt0 : automatic();
    if (o_.dtmax) h = minimum(h, *o_.dtmax);
    if (o_.dtmin) h = maximum(h, *o_.dtmin);
    Arrays state;
    if (before_ != 0) state.push_back(ones({}, dtype_));
    if (oldest_ != 0) state.push_back(ones({}, dtype_));
    if (forces()) state.push_back(h <= *o_.dtmin);
    if (s_.resumed) state = resumed();
    return {s_.t0 + h, state};
  }

  Decision decide(const Taken& taken, const Arrays& state) const override {
    const Arrays r =
        scaled(o_, stopped(taken.step.error), stopped(taken.y0), stopped(taken.step.y1), dtype_);
    Array q;
    if (o_.norm) {
      const Array e = o_.norm(r);
      q = e * e;
    } else {
      q = mean_square(r);
    }
    Array bad = q != q;
    if (taken.step.failed) bad = bad || *taken.step.failed;
    q = where(bad, std::numeric_limits<double>::infinity(), q);
    Decision d;
    Array keep = q < 1;
    std::size_t at = 0;
    Array power = newest_ == 0 ? ones({}, dtype_) : pow(q, newest_);
    // Errors of 0 and infinity say nothing that later steps could use.
    const Array usable = (q > 0) && (q < std::numeric_limits<double>::infinity());
    const Array kept_q = where(usable, q, 1);
    if (before_ != 0) {
      power = power * pow(state[at], before_);
      d.state.push_back(where(keep, kept_q, state[at]));
      ++at;
    }
    if (oldest_ != 0) {
      power = power * pow(state[at], oldest_);
      d.state.push_back(where(keep, before_ != 0 ? state[at - 1] : kept_q, state[at]));
      ++at;
    }
    if (forces()) keep = keep || state[at];
    const Array most = where(keep, full({}, o_.factormax, dtype_), o_.safety);
    const Array least = full({}, o_.factormin, dtype_);
    Array factor = within(o_.safety * power, where(keep, 1, least), most);
    if (taken.step.factor) factor = within(*taken.step.factor, least, most);
    // An equation that was not solved says nothing of the error.
    if (taken.step.failed) factor = where(*taken.step.failed, 0.5, factor);
    // Not the factor alone: what an event left of a step depends on its time, and the derivative of
    // the next ones would grow with their lengths.
    Array h = stop_gradient(taken.h * factor);
    if (o_.dtmax) h = minimum(h, *o_.dtmax);
    if (o_.dtmin) {
      if (o_.force_dtmin) {
        d.state.push_back(h <= *o_.dtmin);
        h = maximum(h, *o_.dtmin);
      } else {
        d.failed = h < *o_.dtmin;
      }
    }
    d.keep = keep;
    d.t = where(keep, taken.t1, taken.t0);
    // A shorter step may round to the one that was rejected; such a step cannot be taken.
    const Array next = d.t + h;
    d.next = where(keep || next < taken.t1, next, d.t);
    return d;
  }

 private:
  bool forces() const { return o_.dtmin && o_.force_dtmin; }

  const Arrays& resumed() const {
    const Arrays& state = s_.resumed->controller;
    const std::size_t carried = (before_ != 0) + (oldest_ != 0) + forces();
    if (state.size() != carried)
      fail(s_, "solver_state is of a controller that carries " + std::to_string(state.size()) +
                   " numbers from step to step, and this PidController carries " +
                   std::to_string(carried) + "; take the same one");
    return state;
  }

  Array size_of(const Arrays& what) const {
    const Arrays y = stopped(s_.y0);
    const Arrays r = scaled(o_, stopped(what), y, y, dtype_);
    return o_.norm ? o_.norm(r) : rms_norm(r);
  }

  /// Source: E. Hairer, S. Norsett and G. Wanner, Solving Ordinary Differential Equations I, 2nd
  /// edition, section II.4.
  Array automatic() const {
    // A path has no slope that a first step could be guessed from.
    if (s_.method.is_driven()) return full({}, 0.01, dtype_);
    const Arrays f0 = s_.method.first_slope(s_.fields, s_.t0, s_.y0, s_.begun);
    const Array d0 = size_of(s_.y0), d1 = size_of(f0);
    const Array tiny = (d0 < 1e-5) || (d1 < 1e-5);
    const Array h0 = where(tiny, 1e-6, 0.01 * d0 / where(tiny, 1, d1));
    const Arrays f1 = s_.fields.all(s_.t0 + h0, advance(s_.y0, h0, {1}, {f0}));
    Arrays change;
    for (std::size_t i = 0; i < f0.size(); ++i) change.push_back(f1[i] - f0[i]);
    const Array largest = maximum(d1, size_of(change) / h0);
    const double order = o_.error_order ? o_.error_order : s_.method.error_order();
    const Array flat = largest <= 1e-15;
    const Array h1 =
        where(flat, maximum(1e-6, 1e-3 * h0), pow(0.01 / where(flat, 1, largest), 1 / order));
    return stop_gradient(minimum(100 * h0, h1));
  }

  const Setup s_;
  const PidController o_;
  DType dtype_;
  double newest_ = 0, before_ = 0, oldest_ = 0;  // exponents of squared errors
};

// ---- steps that end where they are told to

class Clipped final : public StepControl {
 public:
  /// `jumps`: steps end in front of the times and begin again behind them.
  Clipped(const Setup& s, std::unique_ptr<StepControl> inner, const Times& times, bool jumps)
      : inner_(std::move(inner)), t0_(s.t0), jumps_(jumps) {
    Array ts = s.fields.time(array_of(times, s.t0.dtype()));
    if (ts.rank() != 1)
      fail(s, std::string(jumps ? "jump_ts" : "step_ts") + " of ClipStepSize have shape " +
                  to_string(ts.shape()) + "; give a list of times");
    const double infinity = std::numeric_limits<double>::infinity();
    const Array never = full({1}, infinity, s.t0.dtype());
    if (jumps) {
      behind_ = concatenate({nextafter(ts, infinity), never});
      ts = nextafter(ts, -infinity);
    }
    ts_ = concatenate({ts, never});
  }
  bool can_reject() const override { return inner_->can_reject(); }
  bool can_fail() const override { return inner_->can_fail(); }
  bool ends_at_t1() const override { return inner_->ends_at_t1(); }
  bool can_jump() const override { return jumps_ || inner_->can_jump(); }
  Arrays lasting(const Arrays& state) const override {
    return inner_->lasting(Arrays(state.begin(), state.end() - 1));
  }
  Start start() const override {
    Start all = inner_->start();
    const Array passed = sum(cast(ts_ <= t0_, DType::i32));
    all.next = minimum(all.next, ts_[passed]);
    all.state.push_back(passed);
    return all;
  }
  Decision decide(const Taken& taken, const Arrays& state) const override {
    Decision d = inner_->decide(taken, Arrays(state.begin(), state.end() - 1));
    // A step never goes beyond the next time, so it passes one at most.
    const Array& before = state.back();
    const Array reached = d.t >= ts_[before];
    const Array passed = before + cast(reached, DType::i32);
    if (jumps_) {
      const Array t = where(reached, behind_[before], d.t);
      d.next = d.next + (t - d.t);
      d.t = t;
      d.jumped = d.jumped ? *d.jumped || reached : reached;
    }
    d.next = minimum(d.next, ts_[passed]);
    d.state.push_back(passed);
    return d;
  }

 private:
  std::unique_ptr<StepControl> inner_;
  Array t0_, ts_, behind_;
  bool jumps_;
};

/// Steps that end where rejected ones would have: none goes over such a time.
class Revisiting final : public StepControl {
 public:
  Revisiting(const Setup& s, std::unique_ptr<StepControl> inner, Dim room)
      : inner_(std::move(inner)), room_(room), dtype_(s.t0.dtype()) {
    if (room < 0)
      fail(s, "rejected_ends of ClipStepSize is " + std::to_string(room) +
                  "; give the number of times that are remembered, or 0");
  }
  bool can_reject() const override { return true; }
  bool can_fail() const override { return true; }
  bool ends_at_t1() const override { return inner_->ends_at_t1(); }
  bool can_jump() const override { return inner_->can_jump(); }
  Arrays lasting(const Arrays& state) const override { return inner_->lasting(of_inner(state)); }
  Start start() const override {
    Start all = inner_->start();
    all.state.push_back(full({room_}, std::numeric_limits<double>::infinity(), dtype_));
    return all;
  }
  /// The state: ends, the earliest one first, infinities behind them.
  Decision decide(const Taken& taken, const Arrays& state) const override {
    Decision d = inner_->decide(taken, of_inner(state));
    const Array& ends = state.back();
    const Array first = ends[0];
    // A step that was kept may have come to the first one; a rejected one puts its end in front,
    // unless that is there already.
    const Array reached = *d.keep && d.t >= first;
    const Array adds = !*d.keep && taken.t1 < first;
    d.full = adds && ends[room_ - 1] < std::numeric_limits<double>::infinity();
    const Array end = reshape(taken.t1, {1});
    const Array never = full({1}, std::numeric_limits<double>::infinity(), dtype_);
    const Array behind = room_ == 1 ? never : concatenate({slice_axis(ends, 0, 1, room_), never});
    const Array added = room_ == 1 ? end : concatenate({end, slice_axis(ends, 0, 0, room_ - 1)});
    const Array next = where(adds, added, where(reached, behind, ends));
    d.next = minimum(d.next, next[0]);
    d.state.push_back(next);
    return d;
  }

 private:
  static Arrays of_inner(const Arrays& state) { return Arrays(state.begin(), state.end() - 1); }

  std::unique_ptr<StepControl> inner_;
  Dim room_;
  DType dtype_;
};

/// Steps of a delay equation: none looks back into itself, and none goes over a break.
class Delayed final : public StepControl {
 public:
  Delayed(std::unique_ptr<StepControl> inner, const Array& t0, const Past& past, int order)
      : inner_(std::move(inner)),
        t0_(t0),
        longest_(past.longest_step()),
        breaks_(past.breaks(order)) {}
  bool can_reject() const override { return inner_->can_reject(); }
  bool can_fail() const override { return inner_->can_fail(); }
  bool can_jump() const override { return inner_->can_jump(); }
  Start start() const override {
    Start all = inner_->start();
    all.next = shortened(t0_, all.next);
    return all;
  }
  Decision decide(const Taken& taken, const Arrays& state) const override {
    Decision d = inner_->decide(taken, state);
    d.next = shortened(d.t, d.next);
    return d;
  }

 private:
  Array shortened(const Array& t, Array next) const {
    next = minimum(next, t + longest_);
    // Breaks that are the same but for rounding are one.
    const double eps = t.dtype() == DType::f64 ? 1e-13 : 1e-6;
    const Array here = t + eps * (abs(t) + longest_);
    for (const Array& b : breaks_) next = where(b > here, minimum(next, b), next);
    return next;
  }

  std::unique_ptr<StepControl> inner_;
  Array t0_, longest_;
  Arrays breaks_;
};

std::unique_ptr<StepControl> make_plain_control(const Setup& s) {
  const Controller& c = s.request.options.controller;
  if (const auto* to = std::get_if<StepTo>(&c)) return std::make_unique<Given>(s, *to);
  if (const auto* pid = std::get_if<PidController>(&c)) return std::make_unique<Pid>(s, *pid);
  if (const auto* clip = std::get_if<ClipStepSize>(&c)) {
    std::unique_ptr<StepControl> inner = std::make_unique<Pid>(s, clip->controller);
    if (!clip->jump_ts.empty())
      inner = std::make_unique<Clipped>(s, std::move(inner), clip->jump_ts, true);
    if (!clip->step_ts.empty())
      inner = std::make_unique<Clipped>(s, std::move(inner), clip->step_ts, false);
    if (clip->rejected_ends != 0)
      inner = std::make_unique<Revisiting>(s, std::move(inner), clip->rejected_ends);
    return inner;
  }
  return std::make_unique<Constant>(s);
}

}  // namespace

std::optional<EqualSteps> equal_steps(const Request& r, DType time) {
  const auto& dt0 = r.dt0.value();
  if (!std::holds_alternative<ConstantStepSize>(r.options.controller) || !dt0 || dt0->is_array() ||
      r.t0.is_array() || r.t1.is_array())
    return {};
  const double t0 = r.t0.scalar().floating, t1 = r.t1.scalar().floating, sign = t0 <= t1 ? 1 : -1,
               first = std::fabs(dt0->scalar().floating);
  if (!std::isfinite(t1 - t0) || !(first > 0)) return {};
  return EqualSteps{sign * t0, sign * t1, first, count_of(std::fabs(t1 - t0), first, time), time};
}

Array EqualSteps::end(const Array& n) const {
  const Array from = cast(t0, dtype), to = cast(t1, dtype);
  const double eps = dtype == DType::f64 ? std::numeric_limits<double>::epsilon()
                                         : std::numeric_limits<float>::epsilon();
  const Array begun = from + cast(first, dtype);
  return where(n == 0, where(begun > to - 100 * eps * abs(to), to, begun),
               end_of_equal(from, to, n, count));
}

std::unique_ptr<StepControl> make_control(const Setup& s) {
  std::unique_ptr<StepControl> control = make_plain_control(s);
  const Past* past = s.request.past.get();
  if (!past) return control;
  if (!control->can_reject()) {
    const auto longest = past->known_longest_step();
    // Steps of a whole delay are fine but for rounding.
    if (longest && s.first && *s.first > *longest * (1 + 1e-6))
      fail(s, "dt0 is " + to_string(Scalar(*s.first)) + " and the smallest delay " +
                  to_string(Scalar(*longest)) +
                  "; a step looks back at what was solved before it: take shorter ones");
    return control;
  }
  return std::make_unique<Delayed>(std::move(control), s.t0, *past, s.method.order());
}

}  // namespace detail
}  // namespace gnomon::ode
