// engine/library/ode/newton.cpp -- Newton's method for the stages of implicit steps.
//
// Source: E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd edition, section
// IV.8: when to stop, and the rate of convergence that stages of a step share.
#include "engine/library/ode/newton.h"

#include <cmath>
#include <limits>

#include "gnomon/implicit.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"

namespace gnomon::ode::detail {

using roots::detail::Factors;
using roots::detail::Layout;

NewtonSetup newton_setup(const Request& r, const std::string& method, const NewtonOptions& o) {
  const auto* pid = std::get_if<PidController>(&r.options.controller);
  if (const auto* clip = std::get_if<ClipStepSize>(&r.options.controller)) pid = &clip->controller;
  const auto tolerance = [&](const std::optional<Tolerance>& given, const char* name) {
    if (!given && !pid)
      usage_error("diffeqsolve",
                  method + " solves an equation in each step and nobody says how exactly: its " +
                      name + " is not given, and the controller has none; write " + method +
                      "({.rtol = 1e-6, .atol = 1e-9}), or take a PidController",
                  r.loc);
    const Operand x = given ? given->value() : (name[0] == 'r' ? pid->rtol : pid->atol).value();
    if (!x.is_array() && !(std::isfinite(x.scalar().floating) && x.scalar().floating >= 0))
      usage_error("diffeqsolve",
                  std::string(name) + " of " + method + " is " + to_string(x.scalar()) +
                      "; it has to be finite and not negative",
                  r.loc);
    return x;
  };
  if (!(o.kappa > 0) || o.max_iterations < 1)
    usage_error("diffeqsolve",
                "kappa of " + method + " is " + to_string(Scalar(o.kappa)) +
                    " and max_iterations " + std::to_string(o.max_iterations) +
                    "; both have to be positive",
                r.loc);
  return {tolerance(o.rtol, "rtol"),
          tolerance(o.atol, "atol"),
          o.norm || !pid ? o.norm : pid->norm,
          o.kappa,
          o.max_iterations,
          pid != nullptr};
}

namespace {

Arrays stopped(const Arrays& arrays) {
  Arrays result;
  for (const Array& a : arrays) result.push_back(stop_gradient(a));
  return result;
}

}  // namespace

Frozen::Frozen(const Fields& fields, std::size_t part, const Array& t, const Arrays& y)
    : f_(closure_convert(
          [&](const Array& time, const Arrays& state) { return fields(part, time, state); }, t, y)),
      fixed_(stopped(f_.captures)),
      y_(stopped(y)),
      t_(stop_gradient(t)),
      layout_(y, t.dtype()) {}

Arrays Frozen::jacobian() const {
  const auto along = [&](const Arrays& direction) {
    return jvp([&](const Arrays& y) { return (*this)(t_, y); }, y_, direction).second;
  };
  return layout_.matrix(along, layout_.written_out());
}

Newton::Newton(const NewtonSetup& setup, const Fields& fields, std::size_t part, const Array& t,
               const Arrays& y)
    : setup_(setup),
      fields_(fields),
      part_(part),
      frozen_(fields, part, t, y),
      jacobian_(frozen_.jacobian()),
      progress_{ones({}, t.dtype()), full({}, false), zeros({}, DType::i32)} {
  for (const Array& a : frozen_.layout().flat(frozen_.y()))
    scale_.push_back(1 / (setup.atol + setup.rtol * abs(a)));
  // Changes of the size of rounding errors of y do not become smaller.
  const Layout& layout = frozen_.layout();
  Arrays sizes = layout.flat(frozen_.y());
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = scale_[i] * abs(sizes[i]);
  const bool wide = layout.dtype() == DType::f64;
  const double eps =
      wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  small_ = maximum(8 * eps * (setup.norm ? setup.norm(layout.leaves(sizes)) : rms_norm(sizes)),
                   wide ? 1e-13 : 1e-4);
}

void Newton::begin(const Array& length, double key) {
  if (key_ == key) return;
  const Layout& layout = frozen_.layout();
  length_ = length;
  key_ = key;
  factors_ = Factors(layout, layout.shifted(negative(stop_gradient(length)), jacobian_));
}

Arrays Newton::guess(const Arrays& slope, const Arrays& moved) const {
  // x = slope + length J (moved + x), where length J = 1 - W.
  const Layout& layout = frozen_.layout();
  const Arrays v = layout.flat(stopped(moved));
  const Arrays right = roots::detail::plus(layout.flat(stopped(slope)), v);
  return layout.leaves(roots::detail::minus(factors_.solve(right), v));
}

Arrays Newton::solve(const Array& t, const Arrays& base, const Arrays& guess) {
  const Layout& layout = frozen_.layout();
  const DType dtype = layout.dtype();
  const Array length = stop_gradient(length_);
  const Array time = stop_gradient(t);
  const Arrays fixed_base = layout.flat(stopped(base));
  Arrays weights;
  for (const Array& s : scale_) weights.push_back(length * s);
  const auto size_of = [&](const Arrays& change) {
    Arrays scaled;
    for (std::size_t i = 0; i < change.size(); ++i) scaled.push_back(weights[i] * change[i]);
    return setup_.norm ? setup_.norm(layout.leaves(scaled)) : rms_norm(scaled);
  };

  struct State {
    Arrays x;
    Array size, rate, on, solved;
  };
  const Array yes = full({}, true), no = full({}, false);
  const auto iterate = [&](State s) {
    const Arrays y =
        layout.leaves(roots::detail::plus(fixed_base, roots::detail::times(length, s.x)));
    const Arrays residual = roots::detail::minus(layout.flat(frozen_(time, y)), s.x);
    const Arrays change = factors_.solve(residual);
    State next;
    next.x = roots::detail::plus(s.x, change);
    next.size = size_of(change);
    // Nothing to compare the first one with: its size is infinity's successor.
    const Array first = isinf(s.size);
    next.rate = where(first, s.rate, next.size / s.size);
    const Array left = next.size * next.rate / (1 - next.rate);
    next.solved = (next.size < small_) || ((left >= 0) && (left < setup_.kappa));
    const Array hopeless = !first && !(next.rate <= 2);
    next.on = !(next.solved || hopeless || !isfinite(next.size));
    return next;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  // Another equation's rate is taken with care.
  const State start{layout.flat(stopped(guess)), full({}, infinity, dtype), sqrt(progress_.rate),
                    yes, no};
  // The first iteration always runs, and mostly is the last one: it needs no loop.
  State found = iterate(start);
  Array iterations = ones({}, DType::i32);
  if (setup_.max_iterations > 1) {
    const auto loop = while_loop_counted([](const State& s) { return s.on; }, iterate, found,
                                         {.max_steps = setup_.max_iterations - 1});
    found = loop.state;
    iterations = loop.steps + 1;
  }
  progress_ = {minimum(found.rate, 1), progress_.failed || !found.solved,
               progress_.iterations + iterations};

  const auto equation = [&](const Arrays& slope) {
    const Arrays f = fields_(part_, t, advance(base, length_, {1}, {slope}));
    return roots::detail::minus(f, slope);
  };
  return custom_root(
      equation, layout.leaves(found.x), [](const auto&, const Arrays& x) { return tree::clone(x); },
      [&](const auto& linear, const Arrays& y) {
        const auto map = [&](const Arrays& direction) { return linear(direction); };
        const Factors exact(layout, layout.matrix(map, false));
        return layout.leaves(exact.solve(layout.flat(y)));
      });
}

Array Newton::evaluations() const {
  return progress_.iterations + static_cast<int>(layout().size());
}

}  // namespace gnomon::ode::detail
