// engine/library/ode/events.cpp -- changes of sign in a step, found on its interpolant.
#include "engine/library/ode/events.h"

#include <algorithm>
#include <limits>

#include "gnomon/custom.h"
#include "gnomon/implicit.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "gnomon/tree.h"

namespace gnomon::ode::detail {

Events::Events(const Request& r, const Fields& fields, const Array& t0, const Arrays& y0)
    : request_(r), fields_(fields) {
  for (std::size_t j = 0; j < r.events.size(); ++j) {
    const Array g = condition(j, t0, y0);
    const bool number = is_float(g.dtype());
    if (g.rank() != 0 || !(number || g.dtype() == DType::boolean))
      usage_error("diffeqsolve",
                  "the condition of event " + std::to_string(j) + " gives " + to_string(g.aval()) +
                      "; it has to give a bool[] or one float",
                  r.loc);
    is_number_.push_back(number);
    if (number) marks_.push_back(g);
  }
}

bool Events::can_end() const {
  return std::any_of(request_.events.begin(), request_.events.end(),
                     [](const EventRequest& e) { return !e.effect; });
}
bool Events::can_go_on() const {
  return std::any_of(request_.events.begin(), request_.events.end(),
                     [](const EventRequest& e) { return e.effect.has_value(); });
}
bool Events::finds_roots() const {
  for (std::size_t j = 0; j < is_number_.size(); ++j)
    if (is_number_[j] && request_.events[j].options.root_find) return true;
  return false;
}

Array Events::condition(std::size_t event, const Array& t, const Arrays& y) const {
  return request_.events[event].condition(fields_.time(t), y)[0];
}

Arrays Events::marks(const Array& t, const Arrays& y) const {
  Arrays all;
  for (std::size_t j = 0; j < is_number_.size(); ++j)
    if (is_number_[j]) all.push_back(condition(j, t, y));
  return all;
}

/// The derivative of a condition by time, along the solution.
Array Events::rate(std::size_t event, const Array& t, const Arrays& y) const {
  Arrays slope = fields_(0, t, y);
  for (std::size_t part = 1; part < fields_.size(); ++part)
    slope = tree::add(slope, fields_(part, t, y));
  const auto along = [&](const Array& at, const Arrays& state) {
    return condition(event, at, state);
  };
  return jvp(along, std::tuple{t, y}, std::tuple{ones_like(t), slope}, request_.loc).second;
}

Array Events::ends(const Array& which) const {
  Array result = full({}, false);
  for (std::size_t j = 0; j < request_.events.size(); ++j)
    if (!request_.events[j].effect) result = result || which == static_cast<int>(j);
  return result;
}

/// The theta in (0, 1] at which the condition changes its sign.
///
/// The secant through a bracket, the older end counted half as much when it stays a second time.
/// Source: M. Dowell and P. Jarratt, A modified regula falsi method, BIT 11 (1971).
Array Events::locate(std::size_t event, const Span& span, const Arrays& y0,
                     const Polynomial& powers, const Array& before, const Array& behind) const {
  const DType time = span.t0.dtype();
  const auto timely = [&](const Array& x) { return x.dtype() == time ? x : cast(x, time); };
  const auto g = [&](const Array& theta) {
    return timely(condition(event, span.t0 + theta * span.h, evaluate(y0, powers, theta)));
  };
  // The search looks at constants only: its derivative is that of the equation it solves.
  const Array one = ones({}, time), nothing = zeros({}, time);
  const auto converted = closure_convert(g, one);
  Arrays fixed;
  for (const Array& a : converted.captures) fixed.push_back(stop_gradient(a));
  struct Bracket {
    Array a, ga, b, gb;  // signs of ga and gb differ
    Array x, moved;
    Array side;  // i32[]: the end that the newest point replaced, 1: b
  };
  const double width = 2 * (time == DType::f64 ? std::numeric_limits<double>::epsilon()
                                               : std::numeric_limits<float>::epsilon());
  const Bracket found =
      while_loop([&](const Bracket& s) { return s.moved > width; },
                 [&](Bracket s) {
                   const Array x = s.b - s.gb / (s.gb - s.ga) * (s.b - s.a);
                   const Array gx = converted(fixed, x);
                   const Array like_b = (gx > 0) == (s.gb > 0);
                   const Array again = cast(like_b, DType::i32) == s.side;
                   return Bracket{where(like_b, s.a, x),
                                  where(like_b, where(again, 0.5 * s.ga, s.ga), gx),
                                  where(like_b, x, s.b),
                                  where(like_b, gx, where(again, 0.5 * s.gb, s.gb)),
                                  x,
                                  where(gx == 0, 0, abs(x - s.x)),
                                  cast(like_b, DType::i32)};
                 },
                 Bracket{nothing, timely(stop_gradient(before)), one, timely(stop_gradient(behind)),
                         one, one, full({}, -1, DType::i32)},
                 {.max_steps = 60});
  return custom_root(
      g, found.x, [](const auto&, const Array& x) { return x; },
      [&](const auto& slope, const Array& y) { return y / slope(ones({}, time)); }, request_.loc);
}

Events::Found Events::look(const Span& span, const Arrays& y0, const Polynomial& powers,
                           const Found& end, const std::optional<Array>& keep) const {
  const std::size_t count = request_.events.size();
  const Arrays behind = marks(end.t, end.y);
  Arrays fired;
  std::vector<std::size_t> mark_of(count);
  Array any = full({}, false);
  for (std::size_t j = 0, m = 0; j < count; ++j) {
    Array now;
    if (is_number_[j]) {
      mark_of[j] = m;
      const Array &was = end.marks[m], &is = behind[m];
      const Array up = was < 0 && is >= 0, down = was > 0 && is <= 0;
      const Direction direction = request_.events[j].options.direction;
      now = direction == Direction::up ? up : direction == Direction::down ? down : up || down;
      ++m;
    } else {
      now = condition(j, end.t, end.y);
    }
    fired.push_back(keep ? now && *keep : now);
    any = any || fired.back();
  }
  const Array none = full({}, -1, DType::i32);
  const Found quiet{end.t, none, end.y, keep ? choose(*keep, behind, end.marks) : behind};
  const auto happened = [&] {
    const Array one = ones({}, span.t0.dtype());
    Array theta = one, which = none;
    for (std::size_t j = 0; j < count; ++j) {
      Array at = one;
      if (is_number_[j] && request_.events[j].options.root_find)
        at = cond(
            fired[j],
            [&] { return locate(j, span, y0, powers, end.marks[mark_of[j]], behind[mark_of[j]]); },
            [&] { return one; });
      const Array first = fired[j] && (which < 0 || at < theta);
      theta = where(first, at, theta);
      which = where(first, static_cast<int>(j), which);
    }
    const Array inside = theta < 1;
    Found f{where(inside, span.t0 + theta * span.h, end.t),
            which,
            powers.empty() ? end.y : choose(inside, evaluate(y0, powers, theta), end.y),
            {}};
    const Arrays at_root = marks(f.t, f.y);
    for (std::size_t j = 0; j < count; ++j)
      if (const auto& effect = request_.events[j].effect)
        f.y = choose(which == static_cast<int>(j), (*effect)(fields_.time(f.t), f.y), f.y);
    // A state that an effect left may be one to end in.
    const Array changed = can_go_on() ? f.which >= 0 && !ends(f.which) : full({}, false);
    for (std::size_t j = count; can_go_on() && j-- > 0;)
      if (!is_number_[j] && !request_.events[j].effect)
        f.which = where(changed && condition(j, f.t, f.y), static_cast<int>(j), f.which);
    f.marks = marks(f.t, f.y);
    for (std::size_t j = 0; j < count; ++j) {
      if (!is_number_[j] || !request_.events[j].options.root_find || !request_.events[j].effect)
        continue;
      // Where the effect leaves it at 0, what counts is where it goes from there.
      Array& mark = f.marks[mark_of[j]];
      const Array stays = which == static_cast<int>(j) && abs(mark) <= abs(at_root[mark_of[j]]);
      mark = where(stays, rate(j, f.t, f.y), mark);
    }
    return f;
  };
  return cond(any, happened, [&] { return quiet; });
}

}  // namespace gnomon::ode::detail
