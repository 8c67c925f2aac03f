// engine/library/ode/saver.cpp -- rows written once each into buffers that the loop carries.
#include "engine/library/ode/saver.h"

#include <limits>

#include "engine/library/ode/control.h"
#include "gnomon/buffer.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"

namespace gnomon::ode::detail {
namespace {

std::string text(double x) { return to_string(Scalar(x)); }

void check_times(const Request& r, const std::vector<double>& ts) {
  const auto known = [](const Operand& t) { return !t.is_array(); };
  const bool both = known(r.t0) && known(r.t1);
  const double t0 = r.t0.scalar().floating, t1 = r.t1.scalar().floating;
  const bool up = both ? t1 >= t0 : ts.back() >= ts.front();
  for (std::size_t i = 0; i < ts.size(); ++i) {
    if (i > 0 && !(up ? ts[i] >= ts[i - 1] : ts[i] <= ts[i - 1]))
      usage_error("diffeqsolve",
                  "times " + std::to_string(i - 1) + " and " + std::to_string(i) +
                      " to save at are " + text(ts[i - 1]) + " and " + text(ts[i]) +
                      "; sort them in the direction of integration",
                  r.loc);
    if (both && !(up ? ts[i] >= t0 && ts[i] <= t1 : ts[i] <= t0 && ts[i] >= t1))
      usage_error("diffeqsolve",
                  "time " + std::to_string(i) + " to save at is " + text(ts[i]) +
                      ", and the solve goes from " + text(t0) + " to " + text(t1) +
                      "; leave it out",
                  r.loc);
  }
}

}  // namespace

Saver::Saver(const Request& r, const SaveRequest& request, const Fields& fields, DType time)
    : fields_(fields), request_(request), time_(time), steps_(request.at.steps) {
  const SaveAt& at = request.at;
  may_be_empty_ =
      r.t0.is_array() || r.t1.is_array() || r.t0.scalar().floating == r.t1.scalar().floating;
  if (!at.ts.empty()) {
    if (!at.ts.array()) check_times(r, at.ts.values());
    ts_ = fields.time(array_of(at.ts, time));
    if (ts_->rank() != 1)
      usage_error(
          "diffeqsolve",
          "times to save at have shape " + to_string(ts_->shape()) + "; give an array of rank 1",
          r.loc);
  }
  if (steps_ < 0)
    usage_error(
        "diffeqsolve",
        "SaveAt has steps = " + std::to_string(steps_) + "; give 1 for every step, 0 for none",
        r.loc);
  const StepBound& bound = r.options.max_steps;
  if (steps_ > 0 && !bound.bounded())
    usage_error("diffeqsolve",
                "SaveAt keeps every step, and max_steps is `unbounded`; say how many there may be",
                r.loc);
  rows_ = (at.t0 ? 1 : 0) + (ts_ ? ts_->dim(0) : 0) + (steps_ > 0 ? bound.steps() / steps_ : 0) +
          (at.t1 && (steps_ == 0 || bound.steps() % steps_ != 0) ? 1 : 0);
}

Arrays Saver::values(const Array& t, const Arrays& y) const {
  return request_.values ? (*request_.values)(fields_.time(t), y) : y;
}

Kept Saver::write(Kept k, const Array& row, const Array& t, const Arrays& values) const {
  k.ts = k.ts.at(row).set(t);
  for (std::size_t i = 0; i < values.size(); ++i) k.values[i] = k.values[i].at(row).set(values[i]);
  return k;
}

Kept Saver::start(const Array& t0, const Array& t1, const Arrays& y0) const {
  Kept k{zeros({}, DType::i32), {}, buffer({rows_}, time_), {}};
  const Arrays first = values(t0, y0);
  for (const Array& a : first)
    k.values.push_back(buffer(a.shape().with_inserted(0, rows_), a.dtype()));
  if (request_.at.t0) {
    const Array row = k.row;
    k = write(std::move(k), row, t0, first);
    k.row = row + 1;
  }
  if (ts_) {
    k.at = zeros({}, DType::i32);
    if (!may_be_empty_) return k;
    const Array none_to_take = t0 >= t1;
    k = while_loop([&](const Kept& s) { return none_to_take && *s.at < ts_->dim(0); },
                   [&](Kept s) {
                     const Array row = s.row, at = *s.at;
                     s = write(std::move(s), row, (*ts_)[at], first);
                     s.row = row + 1;
                     s.at = at + 1;
                     return s;
                   },
                   std::move(k), {.max_steps = ts_->dim(0)});
  }
  return k;
}

Kept Saver::step(Kept k, const Span& span, const Arrays& y0, const Polynomial& powers,
                 const Array& t, const Arrays& y, const std::optional<Array>& keep,
                 const Array& accepted) const {
  if (ts_) {
    // A step that was rejected leaves `t` where it was, and nothing is left to save up to there.
    const Dim n = ts_->dim(0);
    k = while_loop([&](const Kept& s) { return *s.at < n && (*ts_)[*s.at] <= t; },
                   [&](Kept s) {
                     const Array row = s.row, at = *s.at;
                     const Array now = (*ts_)[at];
                     const Arrays there = evaluate(y0, powers, (now - span.t0) / span.h);
                     s = write(std::move(s), row, now, values(now, there));
                     s.row = row + 1;
                     s.at = at + 1;
                     return s;
                   },
                   std::move(k), {.max_steps = n});
  }
  if (steps_ > 0) {
    Array due = steps_ == 1 ? full({}, true) : accepted % steps_ == 0;
    if (keep) due = due && *keep;
    // Behind the end nothing is written.
    const Array row = k.row;
    k = write(std::move(k), where(due, row, rows_), t, values(t, y));
    k.row = row + cast(due, DType::i32);
  }
  return k;
}

Rows Saver::filled(Rows rows) const {
  if (!request_.at.fill_infinity) return rows;
  const double infinity = std::numeric_limits<double>::infinity();
  const auto fill = [&](const Array& a) {
    Shape shape = a.shape();
    for (int axis = 1; axis < shape.rank(); ++axis) shape[axis] = 1;
    return where(iota(shape, 0) < rows.count, a, infinity);
  };
  rows.ts = fill(rows.ts);
  for (Array& a : rows.ys) a = fill(a);
  return rows;
}

Rows Saver::all(const Array& t0, const Arrays& y0, const Array& ts, const Arrays& steps) const {
  const Arrays first = request_.at.t0 ? values(t0, y0) : Arrays{};
  const Dim used = ts.dim(0) + (request_.at.t0 ? 1 : 0);
  const auto rows_of = [&](const Array& all, const std::optional<Array>& start) {
    std::vector<Array> parts;
    if (start) parts.push_back(expand_dims(*start, 0));
    parts.push_back(all);
    if (rows_ > used) parts.push_back(zeros(all.shape().with(0, rows_ - used), all.dtype()));
    return parts.size() == 1 ? all : concatenate(parts);
  };
  Rows rows{rows_of(ts, request_.at.t0 ? std::optional(t0) : std::nullopt),
            {},
            full({}, used, DType::i32)};
  for (std::size_t i = 0; i < steps.size(); ++i)
    rows.ys.push_back(rows_of(steps[i], request_.at.t0 ? std::optional(first[i]) : std::nullopt));
  rows = filled(std::move(rows));
  rows.ts = fields_.time(rows.ts);
  return rows;
}

Rows Saver::finish(Kept k, const Array& t0, const Arrays& y0, const Array& t1, const Arrays& y1,
                   const Array& accepted) const {
  Rows rows;
  const bool last = request_.at.t1;
  if (!in_loop()) {
    Arrays ts;
    std::vector<Arrays> all;
    if (request_.at.t0) ts.push_back(t0), all.push_back(values(t0, y0));
    if (last) ts.push_back(t1), all.push_back(values(t1, y1));
    if (ts.empty()) {
      rows.ts = zeros({0}, time_);
      for (const Array& a : values(t0, y0))
        rows.ys.push_back(zeros(a.shape().with_inserted(0, 0), a.dtype()));
    } else {
      rows.ts = stack(ts);
      for (std::size_t i = 0; i < all[0].size(); ++i) {
        Arrays column;
        for (const Arrays& one : all) column.push_back(one[i]);
        rows.ys.push_back(stack(column));
      }
    }
    rows.count = full({}, rows_, DType::i32);
  } else {
    if (last) {
      const Array row = k.row;
      if (steps_ > 0) {
        const Array saved = accepted > 0 && accepted % steps_ == 0;
        k = write(std::move(k), where(saved, rows_, row), t1, values(t1, y1));
        k.row = row + cast(!saved, DType::i32);
      } else {
        k = write(std::move(k), row, t1, values(t1, y1));
        k.row = row + 1;
      }
    }
    rows = {k.ts, k.values, k.row};
    rows = filled(std::move(rows));
  }
  rows.ts = fields_.time(rows.ts);
  return rows;
}

}  // namespace gnomon::ode::detail
