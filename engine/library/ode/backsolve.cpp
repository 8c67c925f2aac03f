// engine/library/ode/backsolve.cpp -- the way back through a solve by its adjoint equations.
#include "engine/library/ode/backsolve.h"

#include <limits>

#include "gnomon/indexing.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/sorting.h"
#include "gnomon/transform.h"

namespace gnomon::ode::detail {
namespace {

/// One vector field with its adjoints, a function of (y, a, g) all together.
struct Adjoined {
  const OpenField& field;
  const Arrays& captured;      // of this field
  std::size_t numbers;         // arrays of y, and of a
  std::size_t before, behind;  // adjoints of what other fields captured
  const Arrays& like;          // of all that was captured, of floats
  DType time;                  // of the solve: the way back has f64 where an adjoint has

  Arrays operator()(const Array& at_time, const Arrays& all) const {
    const Array t = at_time.dtype() == time ? at_time : cast(at_time, time);
    Reader reader(all);
    Arrays x = reader.take(numbers);
    Arrays a = reader.take(numbers);
    for (const Array& c : floats_of(captured)) x.push_back(c);
    const auto slope = [&](const Arrays& at) {
      Reader own(at);
      const Arrays y = own.take(numbers);
      return field(with_floats(captured, own.take(at.size() - numbers)), t, y);
    };
    const auto pullback = vjp(slope, x);
    for (Array& v : a) v = negative(v);
    const Arrays pulled = pullback(a);
    Arrays r = pullback.value;
    r.insert(r.end(), pulled.begin(), pulled.begin() + static_cast<std::ptrdiff_t>(numbers));
    for (std::size_t i = 0; i < before; ++i) r.push_back(zeros_like(like[i]));
    r.insert(r.end(), pulled.begin() + static_cast<std::ptrdiff_t>(numbers), pulled.end());
    for (std::size_t i = 0; i < behind; ++i)
      r.push_back(zeros_like(like[like.size() - behind + i]));
    return r;
  }
};

/// On the way: y, a and g at time t, and whether all solves so far came to their ends.
struct Way {
  Arrays all;
  Array t, reached;
};

class WayBack {
 public:
  WayBack(const Enclosed& u, const Memory& kept, const Solved& moved)
      : u_(u),
        kept_(kept),
        moved_(moved),
        numbers_(kept.y1.size()),
        floats_(floats_of(kept.inputs.captured)),
        closed_(u, kept.inputs),
        t0_(cast(closed_.request.t0, u.dtype)),
        t1_(cast(closed_.request.t1, u.dtype)),
        options_(u.options) {
    Reader captured(kept.inputs.captured);
    for (const OpenField& f : u.fields) own_.push_back(captured.take(f.captures.size()));
    std::size_t before = 0;
    for (std::size_t i = 0; i < u.fields.size(); ++i) {
      const std::size_t count = floats_of(own_[i]).size();
      fields_.push_back({u.fields[i], own_[i], numbers_, before, floats_.size() - before - count,
                         floats_, u.dtype});
      before += count;
    }
    options_.adjoint = ForwardMode{};
    if (u.back) {
      options_.controller = *u.back;
    } else if (auto* pid = std::get_if<PidController>(&options_.controller); pid && !pid->norm) {
      pid->norm = [n = 2 * numbers_](const Arrays& errors) {
        return rms_norm(Arrays(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(n)));
      };
    }
    for (const char* what : {"", "the adjoint of "})
      for (const std::string& path : u.r.paths) paths_.push_back(what + path);
    paths_.resize(2 * numbers_ + floats_.size(), "an adjoint of args");
  }

  Inputs run() const {
    // A solve that failed ended before t1, and not by what t1 is.
    Way w{kept_.y1, kept_.t1, full({}, true)};
    for (const Arrays* more : {&moved_.y1}) w.all.insert(w.all.end(), more->begin(), more->end());
    for (const Array& g : zeros_of(floats_)) w.all.push_back(g);
    const Array dt1 = where(kept_.t1 == t1_, dot(moved_.y1, slope(t1_, kept_.y1)) + moved_.t1, 0);
    if (!kept_.rows.empty()) w = through_rows(std::move(w));
    w = solved(w, t0_);
    for (Array& a : w.all) a = where(w.reached, a, std::numeric_limits<double>::quiet_NaN());

    Reader reader(w.all);
    const Arrays y0 = reader.take(numbers_);
    Inputs in;
    in.y0 = reader.take(numbers_);
    for (const Array& c : kept_.inputs.captured)
      in.captured.push_back(is_float(c.dtype()) ? reader.next() : Array::hole());
    if (u_.r.t0.is_array()) in.times.push_back(negative(dot(in.y0, slope(t0_, kept_.inputs.y0))));
    if (u_.r.t1.is_array()) in.times.push_back(dt1);
    return in;
  }

 private:
  Arrays slope(const Array& t, const Arrays& y) const {
    Arrays sum = zeros_of(y);
    for (std::size_t i = 0; i < fields_.size(); ++i)
      sum = sum_of(std::move(sum), u_.fields[i](own_[i], t, y));
    return sum;
  }
  Array dot(const Arrays& a, const Arrays& b) const {
    Array all = zeros({}, u_.dtype);
    for (std::size_t i = 0; i < a.size(); ++i) all = all + cast(sum(a[i] * b[i]), u_.dtype);
    return all;
  }

  /// Solved on to time t.
  Way solved(const Way& w, const Array& t) const {
    FirstStep back = none;
    if (const auto& h = u_.dt0.value())
      back = h->is_array() ? FirstStep(negative(h->array())) : FirstStep(-h->scalar().floating);
    Request r{u_.r.solver, {},     std::vector<Driven>(fields_.size()),
              w.t,         t,      back,
              w.all,       paths_, options_,
              {},          {},     u_.r.loc};
    for (const Adjoined& f : fields_) r.fields.emplace_back(f);
    const Outcome out = integrate(r);
    return {out.y1, t, w.reached && out.result == static_cast<int>(Result::successful)};
  }

  /// Back to the first of all rows that were saved between t0 and t1.
  Way through_rows(Way w) const {
    const std::optional<Array> sign = direction(closed_.request, u_.dtype);
    const Fields times(closed_.request, sign);
    Arrays ts, written;
    for (std::size_t i = 0; i < u_.inside.size(); ++i) {
      const Array at = array_of(u_.inside[i].ts, u_.dtype);
      ts.push_back(times.time(at));
      written.push_back(iota({at.dim(0)}, 0) < kept_.saved[i]);
    }
    // Of several saves, in the order of their times.
    const Array all = concatenate(ts), order = argsort(all);
    const auto in_order = [&](const Arrays& parts) { return take(concatenate(parts), order, 0); };
    struct Rows {
      Array t, written;
      Arrays y, dy;
    };
    Rows rows{times.time(in_order({all})), in_order(written), {}, {}};
    for (std::size_t a = 0; a < numbers_; ++a) {
      Arrays y, dy;
      for (std::size_t i = 0; i < u_.inside.size(); ++i) {
        y.push_back(kept_.rows[i][a]);
        dy.push_back(moved_.saved[i][a]);
      }
      rows.y.push_back(in_order(y));
      rows.dy.push_back(in_order(dy));
    }
    const auto to_row = [&](const Way& from, const Rows& row) {
      Way at = solved(from, where(row.written, row.t, from.t));
      for (std::size_t a = 0; a < numbers_; ++a) {
        Array& adjoint = at.all[numbers_ + a];
        at.all[a] = where(row.written, row.y[a], at.all[a]);
        adjoint = where(row.written, adjoint + row.dy[a], adjoint);
      }
      return std::pair{at, None{}};
    };
    return scan(to_row, std::move(w), rows, ScanOptions{.reverse = true, .kind = LoopKind::lax},
                u_.r.loc)
        .first;
  }

  const Enclosed& u_;
  const Memory& kept_;
  const Solved& moved_;  // cotangents
  std::size_t numbers_;
  Arrays floats_;
  Closed closed_;
  Array t0_, t1_;
  SolveOptions options_;
  std::vector<Arrays> own_;  // what each field captured
  std::vector<Adjoined> fields_;
  std::vector<std::string> paths_;
};

}  // namespace

Inputs solve_back(const Enclosed& u, const Memory& kept, const Solved& moved) {
  return WayBack(u, kept, moved).run();
}

}  // namespace gnomon::ode::detail
