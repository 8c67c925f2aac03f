// engine/library/ode/adams.cpp -- Adams methods on modified divided differences of slopes: steps,
// their errors, and how many slopes they look at.
#include "gnomon/ode/adams.h"

#include <cmath>
#include <limits>
#include <variant>

#include "engine/library/ode/adams_weights.h"
#include "engine/library/ode/method.h"
#include "engine/library/roots/linear_system.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode {
namespace detail {
namespace {

using roots::detail::minus;
using roots::detail::plus;

// Of numbers where all steps are equal, else of arrays.
Arrays scaled(double w, const Arrays& a) { return w == 1 ? a : roots::detail::times(w, a); }
Arrays scaled(const Array& w, const Arrays& a) { return weighted(w, {1}, {a}); }
Array weight_of(double w, DType dtype) { return full({}, w, dtype); }
Array weight_of(const Array& w, DType) { return w; }
Array times_step(const Array& h, double w) { return w == 1 ? h : w * h; }
Array times_step(const Array& h, const Array& w) { return w * h; }

/// Errors are given out as `caution` times their estimates, and a step is so long that the estimate
/// for it is 1 / `aim` of what the controller allows: that one is for steps as long as those before
/// them, and where steps shrink errors are larger. (DETEST's orbits D1 to D5 end within 1,710
/// tolerances by 1 and 2, within 280 by these, for a tenth more steps.)
constexpr double caution = 2, aim = 8;
constexpr double most_growth = 2;  // of a step to the next

/// What a method is.
struct Plan {
  std::string name;
  int order;
  bool corrects;  // PECE
  bool chooses;   // its order

  /// Slopes that its predictor looks at.
  int terms() const { return corrects ? std::max(order - 1, 1) : order; }
  /// The corrector looks at as many slopes as the predictor, and not at one more.
  bool is_first() const { return corrects && order == 1; }
  int lowest() const { return chooses ? 2 : 1; }
  int highest() const { return chooses ? 12 : 8; }
};

/// How the steps of a request are chosen.
struct Steps {
  bool by_errors = false;
  bool equal = false;
  bool apart = false;  // the first ones are taken before all others, and never again
  Operand rtol = 0, atol = 0;
  Norm norm = {};
};

Steps steps_of(const Request& r) {
  Steps s;
  const auto* pid = std::get_if<PidController>(&r.options.controller);
  if (const auto* clip = std::get_if<ClipStepSize>(&r.options.controller)) pid = &clip->controller;
  if (pid) {
    s.by_errors = true;
    s.rtol = pid->rtol.value();
    s.atol = pid->atol.value();
    s.norm = pid->norm;
    return s;
  }
  const auto& dt0 = r.dt0.value();
  // Another solve may go on with other steps, and with fewer than it begins with.
  if (r.options.saveat.solver_state || r.options.solver_state) return s;
  s.apart = r.events.empty();
  if (!std::holds_alternative<ConstantStepSize>(r.options.controller) || !r.events.empty() ||
      !dt0 || r.t0.is_array() || r.t1.is_array() || dt0->is_array())
    return s;
  bool wide = false;
  for (const Array& y : r.y0) wide = wide || y.dtype() == DType::f64;
  const double span = std::fabs(r.t1.scalar().floating - r.t0.scalar().floating),
               h = std::fabs(dt0->scalar().floating);
  // As many as ConstantStepSize takes; all but the first are equal.
  const double next = wide ? std::nextafter(h, INFINITY)
                           : std::nextafter(static_cast<float>(h), INFINITY),
               count = std::ceil(span / next);
  s.equal = std::isinf(span) || std::fabs(count * h - span) <= (wide ? 1e-12 : 1e-6) * span;
  return s;
}

/// What a step begins with.
struct History {
  std::vector<Arrays> phi;
  Arrays psi;                          // empty where steps are equal
  std::optional<Array> order, ramp;    // i32[], bool[]: slopes looked at; one more in each step
  std::optional<Array> wanted, count;  // how long this step was to be; i32[]: steps so far
};

class AdamsMethod final : public Method {
 public:
  AdamsMethod(Plan plan, Steps steps, bool dense, bool is_starter = false)
      // Errors are of the order that they begin with.
      : Method(plan.name, plan.order, 2),
        plan_(std::move(plan)),
        steps_(std::move(steps)),
        dense_(dense),
        is_starter_(is_starter),
        terms_(static_cast<std::size_t>(std::max(plan_.terms(), 1))),
        start_(plan_.order > 5 ? Solver(Vern7()) : Solver(RK4())) {}

  bool looks_back() const override { return true; }
  int evaluations_to_begin() const override { return 1; }
  int evaluations_per_step() const override { return plan_.corrects ? 2 : 1; }
  bool counts_evaluations() const override { return starts(); }
  int starting_steps() const override {
    return starts() && steps_.apart ? static_cast<int>(terms_ - 1) : 0;
  }
  std::shared_ptr<const Method> starter() const override {
    return std::make_shared<AdamsMethod>(plan_, steps_, dense_, true);
  }

  std::shared_ptr<const Method> prepared(const Request& r) const override {
    if (plan_.order < plan_.lowest() || plan_.order > plan_.highest())
      usage_error("diffeqsolve",
                  (plan_.chooses ? "max_order of " : "the order of ") + name() + " is " +
                      std::to_string(plan_.order) + "; there are orders " +
                      std::to_string(plan_.lowest()) + " to " + std::to_string(plan_.highest()),
                  r.loc);
    return std::make_shared<AdamsMethod>(plan_, steps_of(r), false);
  }
  std::shared_ptr<const Method> with_interpolant() const override {
    return std::make_shared<AdamsMethod>(plan_, steps_, true);
  }

  Arrays begin(const Fields& f, const Array& t, const Arrays& y) const override {
    History h;
    h.phi.push_back(f(0, t, y));
    for (std::size_t i = 1; i < terms_; ++i) {
      h.phi.emplace_back();
      for (const Array& a : y) h.phi.back().push_back(zeros_like(a));
    }
    if (!steps_.equal) h.psi = Arrays(terms_, ones({}, t.dtype()));
    if (changes_order()) h.order = ones({}, DType::i32);
    if (changes_order() && plan_.chooses) h.ramp = full({}, true);
    if (steps_.by_errors) h.wanted = zeros({}, t.dtype());
    if (starts()) h.count = zeros({}, DType::i32);
    return state_of(h);
  }
  Arrays first_slope(const Fields&, const Array&, const Arrays& y,
                     const Arrays& begun) const override {
    return Arrays(begun.begin(), begun.begin() + static_cast<std::ptrdiff_t>(y.size()));
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    const History history = history_of(state, y.size());
    const DType dtype = span.h.dtype();
    if (steps_.equal) {
      Weights<double> w;
      for (std::size_t i = 1; i <= terms_ + 1; ++i) {
        w.alpha.push_back(1.0 / static_cast<double>(i));
        w.beta.push_back(1);
      }
      w.g = integrals(w.alpha, terms_ + 2, [](double x) { return x; });
      return step(f, span, y, history, {}, w);
    }
    // The length of the last i steps, with this one.
    Arrays psi{span.h};
    for (const Array& before : history.psi) psi.push_back(before + span.h);
    const auto number = [&](double x) { return full({}, x, dtype); };
    Weights<Array> w;
    w.alpha.push_back(number(1));
    w.beta.push_back(number(1));
    w.sigma.push_back(number(1));
    for (std::size_t i = 1; i <= terms_; ++i) {
      w.alpha.push_back(span.h / psi[i]);
      if (i < terms_) w.beta.push_back(w.beta.back() * (psi[i - 1] / history.psi[i - 1]));
      w.sigma.push_back(static_cast<double>(i) * (w.sigma.back() * w.alpha[i - 1]));
    }
    w.g = integrals(w.alpha, terms_ + 2, number);
    return step(f, span, y, history, psi, w);
  }

  Polynomial interpolant(const Span&, const Arrays&, const Stepped& s) const override {
    return s.slopes;
  }

 private:
  /// Whether the number of slopes looked at is different from lane to lane.
  bool changes_order() const { return steps_.by_errors && terms_ > 1; }
  /// Whether it begins with Runge-Kutta steps.
  bool starts() const { return !steps_.by_errors && terms_ > 1; }

  Arrays state_of(const History& h) const {
    Arrays all;
    for (const Arrays& phi : h.phi) all.insert(all.end(), phi.begin(), phi.end());
    all.insert(all.end(), h.psi.begin(), h.psi.end());
    for (const auto& a : {h.order, h.ramp, h.wanted, h.count})
      if (a) all.push_back(*a);
    return all;
  }
  History history_of(const Arrays& state, std::size_t leaves) const {
    History h;
    auto at = state.begin();
    for (std::size_t i = 0; i < terms_; ++i, at += static_cast<std::ptrdiff_t>(leaves))
      h.phi.emplace_back(at, at + static_cast<std::ptrdiff_t>(leaves));
    if (!steps_.equal)
      for (std::size_t i = 0; i < terms_; ++i) h.psi.push_back(*at++);
    if (changes_order()) h.order = *at++;
    if (changes_order() && plan_.chooses) h.ramp = *at++;
    if (steps_.by_errors) h.wanted = *at++;
    if (starts()) h.count = *at++;
    return h;
  }

  /// all[k - 1 + ahead] for the order k of a lane.
  template <class T, class Choose>
  T by_order(const std::optional<Array>& order, const std::vector<T>& all, std::size_t ahead,
             const Choose& pick) const {
    T result = all[std::min(terms_ - 1 + ahead, all.size() - 1)];
    if (!order) return result;
    for (std::size_t k = terms_ - 1; k >= 1; --k)
      result =
          pick(*order == static_cast<int>(k), all[std::min(k - 1 + ahead, all.size() - 1)], result);
    return result;
  }
  Arrays arrays_by_order(const std::optional<Array>& order, const std::vector<Arrays>& all,
                         std::size_t ahead) const {
    return by_order(order, all, ahead, choose);
  }
  template <class Number>
  Number number_by_order(const std::optional<Array>& order, const std::vector<Number>& all,
                         std::size_t ahead) const {
    if constexpr (std::is_same_v<Number, double>) {
      return all[terms_ - 1 + ahead];
    } else {
      return by_order(order, all, ahead, [](const Array& c, const Array& a, const Array& b) {
        return where(c, a, b);
      });
    }
  }

  template <class Number>
  Stepped step(const Fields& f, const Span& span, const Arrays& y, const History& history,
               const Arrays& psi, const Weights<Number>& w) const {
    const std::optional<Array>& order = history.order;
    const Array& h = span.h;
    std::vector<Arrays> phi;  // those of the polynomial that goes on
    Arrays predicted = y;
    for (std::size_t i = 0; i < terms_; ++i) {
      phi.push_back(scaled(w.beta[i], history.phi[i]));
      Array weight = times_step(h, w.g[i]);
      if (order && i > 0) weight = where(*order > static_cast<int>(i), weight, 0);
      predicted = advance(predicted, weight, {1}, {phi[i]});
    }

    Stepped result;
    // Differences at the end of the step of the slopes that the predictor leads to.
    std::vector<Arrays> ahead{};
    Arrays off;  // from the polynomial
    const auto difference = [&](const Arrays& slope) {
      ahead = {slope};
      for (std::size_t i = 0; i < terms_; ++i) ahead.push_back(minus(ahead.back(), phi[i]));
      off = arrays_by_order(order, ahead, 1);
    };
    const Array error_weight = times_step(
        caution * h, plan_.corrects
                         ? Number(number_by_order(order, w.g, 1) - number_by_order(order, w.g, 0))
                         : number_by_order(order, w.g, 1));
    const auto corrected = [&] {
      const Number g = plan_.is_first() ? w.g[0] : number_by_order(order, w.g, 1);
      return advance(predicted, times_step(h, g), {1}, {off});
    };
    const auto usual = [&] {
      difference(f(0, span.t1, predicted));
      return plan_.corrects ? corrected() : predicted;
    };
    const auto by_start = [&] {
      const Method& start = start_.method();
      const bool reuses = start.evaluations_to_begin() > 0;
      return start.step(f, span, y, reuses ? history.phi[0] : Arrays{}).y1;
    };
    bool looked = false;  // at the slope at y1
    if (!history.count || (steps_.apart && !is_starter_)) {
      result.y1 = usual();
      looked = !plan_.corrects;
    } else if (is_starter_) {
      result.y1 = by_start();
    } else {
      // Without enough slopes the step is one of the method to start with.
      const Array early = *history.count < static_cast<int>(terms_ - 1);
      result.y1 = cond(early, by_start, [&] { return plan_.corrects ? usual() : predicted; });
    }
    if (history.count) {
      const Array early = *history.count < static_cast<int>(terms_ - 1);
      const int evaluations = evaluations_per_step();
      result.evaluations = where(early, start_.method().evaluations_per_step() + 1, evaluations);
    }
    if (steps_.by_errors) result.error = scaled(error_weight, off);

    const std::vector<Arrays> foreseen = ahead;
    const Arrays foreseen_off = off;
    if (!looked) difference(f(0, span.t1, result.y1));

    History next;
    next.phi.assign(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(terms_));
    if (!psi.empty())
      next.psi.assign(psi.begin(), psi.begin() + static_cast<std::ptrdiff_t>(terms_));
    next.ramp = history.ramp;
    if (history.count) next.count = minimum(*history.count + 1, static_cast<int>(terms_ - 1));
    if (dense_) {
      std::optional<Array> looked_at = order;
      if (history.count) looked_at = *history.count + 1;
      Arrays g, alpha;
      for (const Number& x : w.g) g.push_back(weight_of(x, h.dtype()));
      for (const Number& x : w.alpha) alpha.push_back(weight_of(x, h.dtype()));
      result.slopes = powers(span, y, result.y1, phi, ahead, looked_at, g, alpha);
    }
    if constexpr (std::is_same_v<Number, Array>)
      if (steps_.by_errors)
        choose_step(next, history, span, y, result, foreseen, foreseen_off, error_weight, ahead, w);
    result.state = state_of(next);
    return result;
  }

  /// The polynomial that has the slopes of all steps looked at, that at the end, and y1 there.
  Polynomial powers(const Span& span, const Arrays& y, const Arrays& y1,
                    const std::vector<Arrays>& phi, const std::vector<Arrays>& ahead,
                    const std::optional<Array>& order, const Arrays& g, const Arrays& alpha) const {
    const Array looked_at = order ? *order : full({}, static_cast<int>(terms_), DType::i32);
    const auto is_number = [&](std::size_t n, int behind) {
      return looked_at + behind == static_cast<int>(n);
    };
    // c_1, .. have the differences up to the number of slopes looked at, then what the slope at the
    // end is off by, then what is left of the way to y1.
    const Arrays off = arrays_by_order(order, ahead, 1), zero = zeros_of(y);
    Arrays left = minus(y1, y);
    std::vector<Arrays> shares;
    for (std::size_t n = 1; n <= terms_ + 1; ++n) {
      Arrays share = choose(is_number(n, 1), off, zero);
      if (n <= terms_) share = choose(looked_at >= static_cast<int>(n), phi[n - 1], share);
      left = advance(left, span.h * g[n - 1], {-1}, {share});
      shares.push_back(std::move(share));
    }
    left = scaled(1 / (span.h * number_by_order(order, g, 2)), left);
    shares.push_back(zero);
    for (std::size_t n = 3; n <= terms_ + 2; ++n)
      shares[n - 1] = choose(is_number(n, 2), left, shares[n - 1]);

    const std::vector<Arrays> c = polynomials(alpha, terms_ + 2);
    Polynomial all;
    for (std::size_t p = 0; p < terms_ + 2; ++p) {
      Arrays sum = p == 0 ? scaled(span.h, shares[0]) : zero;
      for (std::size_t i = std::max<std::size_t>(p, 1); p > 0 && i < terms_ + 2; ++i)
        sum = advance(sum, span.h * c[i][p], {1.0 / static_cast<double>(p + 1)}, {shares[i]});
      all.push_back(sum);
    }
    return all;
  }
  static Arrays zeros_of(const Arrays& y) {
    Arrays all;
    for (const Array& a : y) all.push_back(zeros_like(a));
    return all;
  }

  /// How long the next step is, and how many slopes it looks at.
  void choose_step(History& next, const History& history, const Span& span, const Arrays& y,
                   Stepped& result, const std::vector<Arrays>& foreseen, const Arrays& off,
                   const Array& error_weight, const std::vector<Arrays>& ahead,
                   const Weights<Array>& w) const {
    const DType dtype = span.h.dtype();
    const std::optional<Array>& order = history.order;
    Arrays allowed;  // 1 / the error of each number
    for (std::size_t i = 0; i < y.size(); ++i) {
      const Array size = maximum(abs(y[i]), abs(result.y1[i]));
      allowed.push_back(stop_gradient(1 / (steps_.atol + steps_.rtol * size)));
    }
    const auto size_of = [&](const Arrays& error) {
      Arrays all;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const Array r = stop_gradient(error[i]) * allowed[i];
        all.push_back(r.dtype() == dtype ? r : cast(r, dtype));
      }
      const Array e = steps_.norm ? steps_.norm(all) : rms_norm(all);
      return where(isnan(e), std::numeric_limits<double>::infinity(), e);
    };
    // The error of k slopes in steps as long as this one, were all before it as long.
    const std::vector<double> constants = error_constants(terms_, plan_.corrects);
    const Array h = stop_gradient(span.h);
    Arrays factors{h};  // of difference number 1, 2, ..
    for (std::size_t i = 1; i <= terms_; ++i)
      factors.push_back(h * (constants[i - 1] * stop_gradient(w.sigma[i])));
    const auto error = [&](const Arrays& what, std::size_t number) {
      return number_by_order(order, factors, number) * size_of(what);
    };
    const Array miss = size_of(off);
    Array here = number_by_order(order, factors, 1) * miss;
    const Array k = order ? *order : ones({}, DType::i32);
    Array chosen = k;
    if (order && !plan_.chooses) chosen = minimum(k + 1, static_cast<int>(terms_));
    if (plan_.chooses && order) {
      const Array below = where(k > 1, error(arrays_by_order(order, foreseen, 0), 0), INFINITY);
      const Array above =
          where(k < static_cast<int>(terms_), error(arrays_by_order(order, ahead, 2), 2), INFINITY);
      const Array& ramp = *history.ramp;
      const Array worse = where(k == 2, 2 * below, below) <= here;
      next.ramp = ramp && !worse && k < static_cast<int>(terms_);
      const Array lower = where(ramp, worse, (k > 1) && (below <= minimum(here, above)));
      const Array higher =
          *next.ramp || (!ramp && !lower && (where(k == 1, 2 * above, above) < here));
      chosen = k + where(lower, -1, where(higher, 1, 0));
      here = where(lower, below, where(higher && !ramp, above, here));
    }
    // Behind one that was cut short, for a time to end at, the next may be as long as that was to
    // be.
    const Array longest = maximum(most_growth, *history.wanted / h);
    const Array wrong = stop_gradient(abs(error_weight)) * miss, kept = wrong < 1;
    const Array best = pow(maximum(where(kept, aim * here, 2 * wrong), 1e-12),
                           -1 / cast(where(kept, chosen, k) + 1, dtype));
    const Array good = minimum(best, longest);
    result.factor = where(kept, good, minimum(best, 0.5));
    next.wanted = h * good;
    if (order) next.order = chosen;
  }

  Plan plan_;
  Steps steps_;
  bool dense_;
  bool is_starter_;  // of a method whose first steps are taken apart
  std::size_t terms_;
  Solver start_;
};

Solver adams(Plan plan) {
  return Solver(std::make_shared<AdamsMethod>(std::move(plan), Steps{}, false));
}

}  // namespace
}  // namespace detail

AdamsBashforth::AdamsBashforth(int order)
    : Solver(detail::adams({"AdamsBashforth", order, false, false})) {}
AdamsMoulton::AdamsMoulton(int order)
    : Solver(detail::adams({"AdamsMoulton", order, true, false})) {}
Adams::Adams(int max_order) : Solver(detail::adams({"Adams", max_order, true, true})) {}

}  // namespace gnomon::ode
