// engine/library/ode/undone.cpp -- the way back through a solve whose steps are undone.
#include "engine/library/ode/undone.h"

#include <algorithm>

#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode::detail {
namespace {

void append(Arrays& to, const Arrays& more) { to.insert(to.end(), more.begin(), more.end()); }

/// What the loop over the steps carries, from the last to the first. Cotangents begin with d.
struct Way {
  Array step;        // i32[]: the one that is undone next
  Arrays y, method;  // behind it
  Arrays dy;
  Arrays dmethod, dcaptured;  // of floats
  Arrays dtimes;              // of t0 and t1 in the direction of integration, where they move
  Arrays saved;               // i32[] each: rows of SaveAt::ts that are left
};

/// Cotangents of what a step is between its ends: of where it begins, of its polynomial, of its
/// times.
struct Between {
  Arrays dy;
  std::vector<Arrays> dpowers;
  Array dfrom, dto;
};

class WayBack {
 public:
  WayBack(const Enclosed& u, const Memory& kept, const Solved& moved)
      : u_(u),
        kept_(kept),
        moved_(moved),
        closed_(u, kept.inputs),
        sign_(direction(closed_.request, u.dtype)),
        fields_(closed_.request, sign_),
        t0_(fields_.time(cast(closed_.request.t0, u.dtype))),
        t1_(fields_.time(cast(closed_.request.t1, u.dtype))),
        times_move_(!kept.inputs.times.empty()),
        captured_(floats_of(kept.inputs.captured)),
        numbers_(kept.y1.size()),
        carried_(floats_of(kept.method).size()) {
    const Controller& c = u.r.options.controller;
    if (const auto* given = std::get_if<StepTo>(&c)) {
      const Array ts = fields_.time(array_of(given->ts, u.dtype));
      ends_ = slice_axis(ts, 0, 1, ts.dim(0));
      most_ = ts.dim(0) - 1;
    } else if (u.equal) {
      most_ = u.equal->count;
    } else {
      ends_ = fields_.time(kept.ends[0]);
    }
    const StepBound& bound = u.options.max_steps;
    if (bound.bounded()) most_ = most_.bounded() ? std::min(most_.steps(), bound.steps()) : bound;
    for (const SaveAt& at : u.inside) {
      ts_.push_back(at.ts.empty() ? no_time() : fields_.time(array_of(at.ts, u.dtype)));
      between_ = between_ || !at.ts.empty();
    }
  }

  Inputs run() const {
    Way start{kept_.count - 1,
              kept_.y1,
              kept_.method,
              moved_.y1,
              zeros_of(floats_of(kept_.method)),
              zeros_of(captured_),
              {},
              {}};
    if (times_move_) start.dtimes = {no_time(), no_time()};
    for (std::size_t i = 0; i < u_.inside.size(); ++i)
      if (!u_.inside[i].ts.empty()) start.saved.push_back(kept_.saved[i]);
    const auto back = [&](const Way& w) { return before(w); };
    const Loc loc = u_.r.loc;
    const Way first =
        u_.equal_steps
            ? fori_loop(
                  0, *u_.equal_steps, [&](const Array&, const Way& w) { return back(w); },
                  std::move(start), {}, loc)
            : while_loop([](const Way& w) { return w.step >= 0; }, back, std::move(start),
                         {.max_steps = most_, .kind = LoopKind::lax}, loc);
    return at_start(first);
  }

 private:
  Array no_time() const { return zeros({}, u_.dtype); }
  Inputs inputs_at(const Arrays& captured) const {
    return {kept_.inputs.y0, with_floats(kept_.inputs.captured, captured), kept_.inputs.times};
  }
  /// Where the step ended that is `behind` before step k; t0 for those that there are not.
  Array end(const Array& k, int behind) const {
    const Array n = behind == 0 ? k : maximum(k - behind, 0);
    const Array at = u_.equal ? u_.equal->end(n) : (*ends_)[n];
    return behind == 0 ? at : where(k >= behind, at, t0_);
  }

  /// One step back.
  Way before(const Way& w) const {
    const Array& k = w.step;
    const Array from = end(k, 1), to = end(k, 0);
    const Span span{from, to, to - from, k};
    const Method::Begun begun = u_.method->undone(fields_, span, end(k, 2), w.y, w.method);

    // The step, as a function of all that moves it.
    Arrays x = begun.y;
    append(x, floats_of(begun.state));
    append(x, captured_);
    if (times_move_) append(x, {from, to});
    const auto step = [&](const Arrays& at) {
      Reader reader(at);
      const Arrays y = reader.take(numbers_);
      const Arrays method = with_floats(begun.state, reader.take(carried_));
      const Closed own(u_, inputs_at(reader.take(captured_.size())));
      const Fields there(own.request, sign_);
      Span moving = span;
      if (times_move_) {
        moving.t0 = reader.next();
        moving.t1 = reader.next();
        moving.h = moving.t1 - moving.t0;
      }
      const Stepped s = u_.method->step(there, moving, y, method);
      Arrays all = s.y1;
      append(all, floats_of(s.state));
      if (between_)
        for (const Arrays& power : u_.method->interpolant(moving, y, s)) append(all, power);
      return all;
    };
    const auto pullback = vjp(step, x, u_.r.loc);

    Way next;
    next.step = k - 1;
    next.y = begun.y;
    next.method = begun.state;
    Between inner{zeros_of(w.dy), {}, no_time(), no_time()};
    Reader values(pullback.value);
    values.take(numbers_ + carried_);
    std::vector<Arrays> powers;
    for (std::size_t at = numbers_ + carried_; at < pullback.value.size(); at += numbers_) {
      powers.push_back(values.take(numbers_));
      inner.dpowers.push_back(zeros_of(w.dy));
    }
    Arrays cotangent = w.dy;
    for (std::size_t i = 0; i < u_.inside.size(); ++i) {
      const Arrays& rows = moved_.saved[i];
      if (u_.inside[i].steps == 0) {
        next.saved.push_back(
            add_rows(inner, w.saved[next.saved.size()], ts_[i], rows, span, powers));
        continue;
      }
      const Array number = k + 1;
      const int each = static_cast<int>(u_.inside[i].steps);
      const Array due = number % each == 0, row = maximum(floor_divide(number, each) - 1, 0);
      for (std::size_t a = 0; a < numbers_; ++a)
        cotangent[a] = cotangent[a] + where(due, rows[a][row], 0);
    }
    append(cotangent, w.dmethod);
    for (const Arrays& power : inner.dpowers) append(cotangent, power);

    const Arrays dx = pullback(cotangent);
    Reader reader(dx);
    next.dy = sum_of(reader.take(numbers_), inner.dy);
    next.dmethod = reader.take(carried_);
    next.dcaptured = sum_of(w.dcaptured, reader.take(captured_.size()));
    if (!times_move_) return next;
    const Array dfrom = inner.dfrom + reader.next();
    const Array dto =
        inner.dto + reader.next() + where(k == kept_.count - 1, fields_.time(moved_.t1), 0);
    const Shares a = shares(k, from), b = shares(k + 1, to);
    next.dtimes = {w.dtimes[0] + a.of_t0 * dfrom + b.of_t0 * dto,
                   w.dtimes[1] + a.of_t1 * dfrom + b.of_t1 * dto};
    return next;
  }

  /// Adds what rows at times in a step move, the last of them first; gives how many are left.
  Array add_rows(Between& to, const Array& left, const Array& ts, const Arrays& rows,
                 const Span& span, const std::vector<Arrays>& powers) const {
    struct Sum {
      Array left;
      Between all;
    };
    const auto is_here = [&](const Sum& s) {
      return s.left > 0 && ts[maximum(s.left - 1, 0)] > span.t0;
    };
    const auto add = [&](Sum s) {
      const Array row = s.left - 1;
      const Array theta = (ts[row] - span.t0) / span.h;
      Array dtheta = no_time();
      for (std::size_t a = 0; a < numbers_; ++a) {
        Array weight = rows[a][row];  // times theta^p
        const Array by = theta.dtype() == weight.dtype() ? theta : cast(theta, weight.dtype());
        s.all.dy[a] = s.all.dy[a] + weight;
        for (std::size_t p = 0; p < powers.size(); ++p) {
          if (times_move_)
            dtheta =
                dtheta + static_cast<double>(p + 1) * cast(sum(weight * powers[p][a]), u_.dtype);
          weight = by * weight;
          s.all.dpowers[p][a] = s.all.dpowers[p][a] + weight;
        }
      }
      if (times_move_) {
        s.all.dfrom = s.all.dfrom + dtheta * (theta - 1) / span.h;
        s.all.dto = s.all.dto - dtheta * theta / span.h;
      }
      s.left = row;
      return s;
    };
    Sum found = while_loop(is_here, add, Sum{left, std::move(to)},
                           {.max_steps = ts.dim(0), .kind = LoopKind::lax}, u_.r.loc);
    to = std::move(found.all);
    return found.left;
  }

  /// How the end number `n` of the steps, at `t`, moves with t0 and t1: step sizes that a
  /// controller chose are constants.
  struct Shares {
    Array of_t0, of_t1;
  };
  Shares shares(const Array& n, const Array& t) const {
    const auto number = [&](const Array& condition) { return cast(condition, u_.dtype); };
    const Controller& c = u_.r.options.controller;
    if (std::holds_alternative<StepTo>(c)) return {number(n == 0), no_time()};
    const Array last = t >= t1_;
    if (!std::holds_alternative<ConstantStepSize>(c)) return {number(!last), number(last)};
    // The first is dt0 long, and the others end at equal distances from t0 to t1.
    const Array part = where(last, 1, where(n <= 1 || isinf(t1_), 0, (t - t0_) / (t1_ - t0_)));
    return {1 - part, part};
  }

  /// What moves what the method begins with, and the rows that no step led to.
  Inputs at_start(const Way& first) const {
    const Inputs& in = kept_.inputs;
    Arrays x = in.y0;
    append(x, captured_);
    if (times_move_) x.push_back(t0_);
    const auto begin = [&](const Arrays& at) {
      Reader reader(at);
      const Arrays y = reader.take(numbers_);
      const Closed own(u_, inputs_at(reader.take(captured_.size())));
      const Fields there(own.request, sign_);
      return floats_of(u_.method->begin(there, times_move_ ? reader.next() : t0_, y));
    };
    const Arrays dx = vjp(begin, x, u_.r.loc)(first.dmethod);
    Reader reader(dx);
    Inputs all;
    all.y0 = sum_of(first.dy, reader.take(numbers_));
    const Arrays dcaptured = sum_of(first.dcaptured, reader.take(captured_.size()));
    std::size_t at = 0;
    for (const Array& a : in.captured)
      all.captured.push_back(is_float(a.dtype()) ? dcaptured[at++] : Array::hole());
    for (std::size_t i = 0, left = 0; i < u_.inside.size(); ++i) {
      if (u_.inside[i].ts.empty()) continue;
      const Array& rest = first.saved[left++];
      for (std::size_t a = 0; a < numbers_; ++a) {
        const Array& rows = moved_.saved[i][a];
        Shape shape = rows.shape();
        for (int axis = 1; axis < shape.rank(); ++axis) shape[axis] = 1;
        all.y0[a] = all.y0[a] + sum(where(iota(shape, 0) < rest, rows, 0), {0});
      }
    }
    if (!times_move_) return all;
    const Array dt0 =
        first.dtimes[0] + reader.next() + where(kept_.count == 0, fields_.time(moved_.t1), 0);
    if (u_.r.t0.is_array()) all.times.push_back(fields_.time(dt0));
    if (u_.r.t1.is_array()) all.times.push_back(fields_.time(first.dtimes[1]));
    return all;
  }

  const Enclosed& u_;
  const Memory& kept_;
  const Solved& moved_;  // cotangents
  Closed closed_;
  std::optional<Array> sign_;
  Fields fields_;
  Array t0_, t1_;  // in the direction of integration, as what follows
  bool times_move_;
  Arrays captured_;  // of floats
  std::size_t numbers_, carried_;
  std::optional<Array> ends_;
  StepBound most_ = unbounded;
  Arrays ts_;  // to save at
  bool between_ = false;
};

}  // namespace

Inputs undo(const Enclosed& u, const Memory& kept, const Solved& moved) {
  return WayBack(u, kept, moved).run();
}

}  // namespace gnomon::ode::detail
