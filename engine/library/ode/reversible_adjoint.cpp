// engine/library/ode/reversible_adjoint.cpp -- reverse mode of a solve by undoing its steps.
//
// The solve is a function of its own, with a reverse mode of its own, of what may move: the state
// it begins with, what the fields captured, t0 and t1. It gives the state at the end and the states
// that are saved in between; what is made of these, and the rows of t0 and t1, stands outside of
// it. The way back knows y and what the method carries at the end, and where steps ended.
#include "engine/library/ode/reversible_adjoint.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/library/ode/control.h"
#include "engine/library/ode/saver.h"
#include "gnomon/custom.h"
#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "gnomon/ode/reversible.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode::detail {
namespace {

[[noreturn]] void fail(const Request& r, const std::string& what) {
  usage_error("diffeqsolve", what, r.loc);
}

void append(Arrays& to, const Arrays& more) { to.insert(to.end(), more.begin(), more.end()); }

/// Takes arrays off the front of a list.
class Reader {
 public:
  explicit Reader(const Arrays& all) : all_(all) {}
  Arrays take(std::size_t count) {
    const auto from = all_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ += count;
    return Arrays(from, from + static_cast<std::ptrdiff_t>(count));
  }
  Array next() { return all_.at(at_++); }

 private:
  const Arrays& all_;
  std::size_t at_ = 0;
};

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

/// A vector field as a function of what it captured, too.
using OpenField = Converted<Arrays>;

/// A request of the solve with its fields at values of what they captured.
class Closed {
 public:
  Closed(const Request& r, const std::vector<OpenField>& fields, const Arrays& captured,
         const SolveOptions& options)
      : request{r.solver, {},      r.drives, r.t0, r.t1,  r.dt0,       r.y0,
                r.paths,  options, {},       {},   r.loc, r.first_half} {
    Reader reader(captured);
    for (const OpenField& f : fields)
      calls_.push_back(std::make_unique<Call>(Call{f, reader.take(f.captures.size())}));
    for (const auto& call : calls_) request.fields.emplace_back(*call);
  }
  Closed(const Closed&) = delete;  // the request refers to this object
  Closed& operator=(const Closed&) = delete;

  Request request;

 private:
  struct Call {
    const OpenField& field;
    Arrays captured;
    Arrays operator()(const Array& t, const Arrays& y) const { return field(captured, t, y); }
  };
  std::vector<std::unique_ptr<Call>> calls_;
};

/// What moves the solve.
struct Inputs {
  Arrays y0, captured;
  Arrays times;  // t0 and t1, those that are arrays
};

/// What the solve gives.
struct Solved {
  Arrays y1;
  std::vector<Arrays> saved;  // of each save that has rows inside: states [rows, ..]
  Array t1;
  Arrays facts;
};

struct Memory {
  Inputs inputs;
  Arrays y1, method;
  Arrays ends;  // [max_steps]: of steps that a controller chose
  Array count;  // i32[]: of steps
  Arrays rows;  // i32[] each: how many of each save
};

class Reversed {
 public:
  explicit Reversed(const Request& r) : r_(r) {
    check();
    dtype_ = time_dtype(r);
    method_ = &r.solver.method();
    if (is_driven()) {
      driven_ = method_->driven(r);
      if (!driven_)
        fail(r, method_->name() + " solves no equation with a path in it; take ReversibleHeun");
      method_ = driven_.get();
    }
    times_move_ = !is_driven() && !std::holds_alternative<ClipStepSize>(r.options.controller);
    const Array t = zeros({}, dtype_);
    for (const FieldRef& f : r.fields)
      fields_.push_back(closure_convert([&](const Array& at, const Arrays& y) { return f(at, y); },
                                        t, r.y0, r.loc));
    for (const SaveRequest& s : r.saves)
      if (!s.at.ts.empty() || s.at.steps > 0)
        inside_.push_back({.ts = s.at.ts, .steps = s.at.steps});
    options_ = r.options;
    options_.adjoint = ForwardMode{};
    options_.saveat = {};
    equal_ = equal_steps(r, dtype_);
    if (keeps_ends() && !r.options.max_steps.bounded())
      fail(r,
           "ReversibleAdjoint keeps where steps end, and max_steps is `unbounded`; say how many "
           "there may be");
  }

  Outcome run() {
    Inputs in{r_.y0, {}, {}};
    for (const OpenField& f : fields_) append(in.captured, f.captures);
    if (times_move_)
      for (const Operand* t : {&r_.t0, &r_.t1})
        if (t->is_array()) in.times.push_back(cast(t->array(), dtype_));
    const auto solve = [this](const Inputs& x) { return solved(x).first; };
    const auto forward = [this](const Inputs& x) { return solved(x); };
    const auto backward = [this](const Memory& kept, const Solved& moved) {
      return cotangents(kept, moved);
    };
    const Solved all = custom_vjp(solve, forward, backward, r_.loc)(in);
    return outcome(all);
  }

 private:
  bool is_driven() const {
    return std::any_of(r_.drives.begin(), r_.drives.end(),
                       [](const Driven& d) { return d.drive != nullptr; });
  }

  /// Whether the program knows the ends of steps only when it runs.
  bool keeps_ends() const {
    return !equal_ && !std::holds_alternative<StepTo>(r_.options.controller);
  }

  StepBound most_steps() const {
    const StepBound& most = r_.options.max_steps;
    std::optional<Dim> known;
    if (equal_) known = equal_->count;
    if (const auto* to = std::get_if<StepTo>(&r_.options.controller))
      known = to->ts.array() ? to->ts.array()->dim(0) : static_cast<Dim>(to->ts.values().size());
    if (!known) return most;
    return most.bounded() ? std::min(*known, most.steps()) : *known;
  }

  void check() const {
    const Method& method = r_.solver.method();
    if (!method.is_reversible())
      fail(r_, "ReversibleAdjoint undoes steps, and those of " + method.name() +
                   " cannot be; solve by ReversibleHeun or LeapfrogMidpoint, or take "
                   "RecursiveCheckpointAdjoint");
    const auto refuse = [&](const std::string& what) {
      fail(r_, "ReversibleAdjoint undoes the steps of one method from t1 to t0, and " + what +
                   "; take RecursiveCheckpointAdjoint");
    };
    if (!r_.events.empty()) refuse("an event cuts one short");
    if (r_.past) refuse("a delay equation looks further back");
    if (r_.options.saveat.dense) refuse("SaveAt::dense keeps every one of them");
    if (r_.options.saveat.solver_state || r_.options.solver_state)
      refuse("a solver_state joins it to another solve");
    if (const auto* clip = std::get_if<ClipStepSize>(&r_.options.controller))
      if (!clip->jump_ts.empty()) refuse("the method begins anew behind each of jump_ts");
    for (const SaveRequest& s : r_.saves)
      if (!s.at.ts.empty() && s.at.steps > 0)
        refuse("rows of SaveAt::ts and SaveAt::steps are not told apart");
  }

  /// The request at other values of what moves.
  void put(Request& to, const Inputs& x) const {
    to.y0 = x.y0;
    Reader times(x.times);
    if (!times_move_) return;
    if (r_.t0.is_array()) to.t0 = times.next();
    if (r_.t1.is_array()) to.t1 = times.next();
  }

  std::pair<Solved, Memory> solved(const Inputs& x) {
    Closed closed(r_, fields_, x.captured, options_);
    put(closed.request, x);
    const auto nothing = [](const Array&, const Arrays&) { return Arrays{}; };
    for (const SaveAt& at : inside_) closed.request.saves.push_back({at, {}});
    if (keeps_ends()) closed.request.saves.push_back({{.steps = 1}, FieldRef(nothing)});
    const Outcome out = integrate(closed.request);
    equal_steps_ = out.equal_steps;

    Solved all{out.y1, {}, out.t1, {}};
    Memory kept{x, out.y1, out.method, {}, out.stats.accepted, {}};
    if (keeps_ends()) kept.ends = {out.rows.back().ts};
    all.facts = {out.stats.steps, out.stats.accepted, out.stats.rejected, out.stats.evaluations,
                 out.result};
    for (std::size_t i = 0; i < inside_.size(); ++i) {
      all.saved.push_back(out.rows[i].ys);
      all.facts.push_back(out.rows[i].ts);
      all.facts.push_back(out.rows[i].count);
      kept.rows.push_back(out.rows[i].count);
    }
    return {std::move(all), std::move(kept)};
  }

  // ---- the way back

  /// What the loop over the steps carries, from the last to the first.
  struct Way {
    Array step;          // i32[]: the one that is undone next
    Arrays y, method;    // behind it
    Arrays dy, dmethod;  // cotangents; of what the method carries, of floats
    Arrays dcaptured;    // of floats
    Arrays dtimes;       // of t0 and t1 in the direction of integration, where they move
    Arrays saved;        // i32[] each: rows of SaveAt::ts that are left
  };

  Inputs cotangents(const Memory& kept, const Solved& moved) const {
    const Inputs& in = kept.inputs;
    Closed closed(r_, fields_, in.captured, options_);
    put(closed.request, in);
    const std::optional<Array> sign = direction(closed.request, dtype_);
    const Fields fields(closed.request, sign);
    const auto time_of = [&](const Operand& t) { return fields.time(cast(t, dtype_)); };
    const Array t0 = time_of(closed.request.t0), t1 = time_of(closed.request.t1);
    const auto* given = std::get_if<StepTo>(&r_.options.controller);
    std::optional<Array> ends;
    if (given) {
      const Array ts = fields.time(array_of(given->ts, dtype_));
      ends = slice_axis(ts, 0, 1, ts.dim(0));
    } else if (!equal_) {
      ends = fields.time(kept.ends[0]);
    }
    const auto end = [&](const Array& n) { return equal_ ? equal_->end(n) : (*ends)[n]; };
    const bool times_move = !in.times.empty();
    const Array no_time = zeros({}, dtype_);

    // Times to save at, and cotangents of what was saved.
    Arrays save_ts;
    for (const SaveAt& at : inside_)
      save_ts.push_back(at.ts.empty() ? no_time : fields.time(array_of(at.ts, dtype_)));
    const bool between = std::any_of(inside_.begin(), inside_.end(),
                                     [](const SaveAt& at) { return !at.ts.empty(); });

    const auto back = [&](const Way& w) {
      const Array& k = w.step;
      const auto end_of = [&](int behind) {
        return where(k >= behind, end(maximum(k - behind, 0)), t0);
      };
      const Array from = end_of(1), to = end(k);
      const Span span{from, to, to - from, k};
      const Method::Begun begun = method_->undone(fields, span, end_of(2), w.y, w.method);

      Way next;
      next.step = k - 1;
      next.y = begun.y;
      next.method = begun.state;

      // y1 of the step, and what moves it.
      Arrays x = begun.y;
      append(x, floats_of(begun.state));
      append(x, floats_of(in.captured));
      if (times_move) append(x, {from, to});
      const std::size_t carried = floats_of(begun.state).size();
      const std::size_t captured = floats_of(in.captured).size();
      const auto step = [&](const Arrays& at) {
        Reader reader(at);
        const Arrays y = reader.take(begun.y.size());
        const Arrays method = with_floats(begun.state, reader.take(carried));
        const Closed own(r_, fields_, with_floats(in.captured, reader.take(captured)), options_);
        const Fields there(own.request, sign);
        Span moving = span;
        if (times_move) {
          moving.t0 = reader.next();
          moving.t1 = reader.next();
          moving.h = moving.t1 - moving.t0;
        }
        const Stepped s = method_->step(there, moving, y, method);
        Arrays all = s.y1;
        append(all, floats_of(s.state));
        if (between)
          for (const Arrays& power : method_->interpolant(moving, y, s)) append(all, power);
        return all;
      };
      const auto pullback = vjp(step, x, r_.loc);

      Arrays dy1 = w.dy, dy0 = zeros_of(w.dy);
      const std::size_t count = begun.y.size();
      std::vector<Arrays> dpowers;
      for (std::size_t at = count + carried; at < pullback.value.size(); at += count)
        dpowers.push_back(zeros_of(begun.y));
      Array dto = no_time, dfrom = no_time;
      for (std::size_t i = 0; i < inside_.size(); ++i) {
        const Arrays& rows = moved.saved[i];
        if (inside_[i].steps > 0) {
          const Array number = k + 1;
          const int each = static_cast<int>(inside_[i].steps);
          const Array due = number % each == 0, row = maximum(floor_divide(number, each) - 1, 0);
          for (std::size_t a = 0; a < count; ++a) dy1[a] = dy1[a] + where(due, rows[a][row], 0);
          continue;
        }
        struct Sum {
          Array left;
          Arrays dy;
          std::vector<Arrays> dpowers;
          Array dfrom, dto;
        };
        const Array& ts = save_ts[i];
        const auto is_here = [&](const Sum& s) {
          return s.left > 0 && ts[maximum(s.left - 1, 0)] > from;
        };
        const auto add = [&](Sum s) {
          const Array row = s.left - 1;
          const Array theta = (ts[row] - from) / span.h;
          Arrays weight;
          for (std::size_t a = 0; a < count; ++a) {
            weight.push_back(rows[a][row]);
            s.dy[a] = s.dy[a] + weight[a];
          }
          std::optional<Array> slope;
          for (std::size_t p = 0; p < s.dpowers.size(); ++p)
            for (std::size_t a = 0; a < count; ++a) {
              const Array by =
                  theta.dtype() == weight[a].dtype() ? theta : cast(theta, weight[a].dtype());
              if (times_move) {
                const Array& power = pullback.value[(p + 1) * count + carried + a];
                const Array part = cast(sum(weight[a] * power), dtype_);
                const Array rate = static_cast<double>(p + 1) * part;
                slope = slope ? *slope + rate : rate;
              }
              weight[a] = by * weight[a];
              s.dpowers[p][a] = s.dpowers[p][a] + weight[a];
            }
          if (slope) {
            // theta = (t - from) / (to - from).
            s.dfrom = s.dfrom + *slope * (theta - 1) / span.h;
            s.dto = s.dto - *slope * theta / span.h;
          }
          s.left = row;
          return s;
        };
        const Sum all =
            while_loop(is_here, add, Sum{w.saved[next.saved.size()], dy0, dpowers, dfrom, dto},
                       {.max_steps = ts.dim(0), .kind = LoopKind::lax}, r_.loc);
        next.saved.push_back(all.left);
        dy0 = all.dy, dpowers = all.dpowers, dfrom = all.dfrom, dto = all.dto;
      }

      Arrays cotangent = dy1;
      append(cotangent, w.dmethod);
      for (const Arrays& power : dpowers) append(cotangent, power);
      const Arrays dx = pullback(cotangent);
      Reader reader(dx);
      next.dy = sum_of(reader.take(count), dy0);
      next.dmethod = reader.take(carried);
      next.dcaptured = sum_of(w.dcaptured, reader.take(captured));
      if (times_move) {
        dfrom = dfrom + reader.next();
        dto = dto + reader.next() + where(k == kept.count - 1, fields.time(moved.t1), 0);
        const Shares a = shares(k, from, t0, t1), b = shares(k + 1, to, t0, t1);
        next.dtimes = {w.dtimes[0] + a.of_t0 * dfrom + b.of_t0 * dto,
                       w.dtimes[1] + a.of_t1 * dfrom + b.of_t1 * dto};
      }
      return next;
    };

    Way start{kept.count - 1,
              kept.y1,
              kept.method,
              moved.y1,
              zeros_of(floats_of(kept.method)),
              zeros_of(floats_of(in.captured)),
              {},
              {}};
    if (times_move) start.dtimes = {no_time, no_time};
    for (std::size_t i = 0; i < inside_.size(); ++i)
      if (!inside_[i].ts.empty()) start.saved.push_back(kept.rows[i]);
    const Way first =
        equal_steps_ ? fori_loop(
                           0, *equal_steps_, [&](const Array&, const Way& w) { return back(w); },
                           std::move(start), {}, r_.loc)
                     : while_loop([](const Way& w) { return w.step >= 0; }, back, std::move(start),
                                  {.max_steps = most_steps(), .kind = LoopKind::lax}, r_.loc);

    // What the method began with.
    Arrays x = in.y0;
    append(x, floats_of(in.captured));
    if (times_move) x.push_back(t0);
    const auto begin = [&](const Arrays& at) {
      Reader reader(at);
      const Arrays y = reader.take(in.y0.size());
      const Closed own(r_, fields_,
                       with_floats(in.captured, reader.take(floats_of(in.captured).size())),
                       options_);
      const Fields there(own.request, sign);
      return floats_of(method_->begin(there, times_move ? reader.next() : t0, y));
    };
    const Arrays dx = vjp(begin, x, r_.loc)(first.dmethod);
    Reader reader(dx);
    Inputs all;
    all.y0 = sum_of(first.dy, reader.take(in.y0.size()));
    const Arrays dcaptured = sum_of(first.dcaptured, reader.take(floats_of(in.captured).size()));
    std::size_t at = 0;
    for (const Array& a : in.captured)
      all.captured.push_back(is_float(a.dtype()) ? dcaptured[at++] : Array::hole());
    // Rows of times that no step began before.
    for (std::size_t i = 0, left = 0; i < inside_.size(); ++i) {
      if (inside_[i].ts.empty()) continue;
      const Array& rest = first.saved[left++];
      for (std::size_t a = 0; a < all.y0.size(); ++a) {
        const Array& rows = moved.saved[i][a];
        Shape shape = rows.shape();
        for (int axis = 1; axis < shape.rank(); ++axis) shape[axis] = 1;
        all.y0[a] = all.y0[a] + sum(where(iota(shape, 0) < rest, rows, 0), {0});
      }
    }
    if (times_move) {
      const Array dt0 =
          first.dtimes[0] + reader.next() + where(kept.count == 0, fields.time(moved.t1), 0);
      if (r_.t0.is_array()) all.times.push_back(fields.time(dt0));
      if (r_.t1.is_array()) all.times.push_back(fields.time(first.dtimes[1]));
    }
    return all;
  }

  /// How the end number `n` of the steps, at `t`, moves with t0 and t1: step sizes that a
  /// controller chose are constants.
  struct Shares {
    Array of_t0, of_t1;
  };
  Shares shares(const Array& n, const Array& t, const Array& t0, const Array& t1) const {
    const auto number = [&](const Array& condition) { return cast(condition, dtype_); };
    const Controller& c = r_.options.controller;
    if (std::holds_alternative<StepTo>(c)) return {number(n == 0), zeros({}, dtype_)};
    const Array last = t >= t1;
    if (!std::holds_alternative<ConstantStepSize>(c)) return {number(!last), number(last)};
    // The first is dt0 long, and the others end at equal distances from t0 to t1.
    const Array part = where(last, 1, where(n <= 1 || isinf(t1), 0, (t - t0) / (t1 - t0)));
    return {1 - part, part};
  }

  // ---- the rest of what a solve gives

  Outcome outcome(const Solved& all) const {
    const std::optional<Array> sign = direction(r_, dtype_);
    const Fields fields(r_, sign);
    Reader facts(all.facts);
    Outcome out;
    const Array t0 = fields.time(cast(r_.t0, dtype_)), t1 = fields.time(all.t1);
    out.t0 = fields.time(t0);
    out.t1 = all.t1;
    out.y1 = all.y1;
    out.stats.steps = facts.next();
    out.stats.accepted = facts.next();
    out.stats.rejected = facts.next();
    out.stats.evaluations = facts.next();
    out.result = facts.next();
    out.event = full({}, -1, DType::i32);
    std::size_t inside = 0;
    for (const SaveRequest& s : r_.saves) {
      const Saver saver(r_, s, fields, dtype_);
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
      for (std::size_t a = 0; a < states.size(); ++a) {
        Shape shape = states[a].shape();
        for (int axis = 1; axis < shape.rank(); ++axis) shape[axis] = 1;
        values[a] = where(iota(shape, 0) < count, states[a], expand_dims(r_.y0[a], 0));
      }
      values = vmap([&](const Array& t, const Arrays& y) { return saver.values(t, y); })(
          where(iota({inside}, 0) < count, ts, t0), values);
      for (Array& a : values) {
        Shape shape = a.shape();
        for (int axis = 1; axis < shape.rank(); ++axis) shape[axis] = 1;
        a = where(iota(shape, 0) < count, a, 0);
      }
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
  DType dtype_ = DType::f32;
  const Method* method_ = nullptr;
  std::shared_ptr<const Method> driven_;
  std::vector<OpenField> fields_;
  std::vector<SaveAt> inside_;  // what is saved between t0 and t1
  SolveOptions options_;
  bool times_move_ = false;
  std::optional<EqualSteps> equal_;  // steps that are known before
  std::optional<Dim> equal_steps_;
};

}  // namespace

Outcome integrate_reversibly(const Request& r) { return Reversed(r).run(); }

}  // namespace gnomon::ode::detail
