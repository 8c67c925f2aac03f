// engine/library/ode/bdf.cpp -- numerical differentiation formulas of orders 1 to 5 on backward
// differences.
//
// The differences of a polynomial at equal steps are carried; a step of another length begins with
// those of the same polynomial at steps of that length. All orders are one computation: what is
// beyond a lane's order is masked.
#include <array>
#include <cmath>
#include <limits>

#include "engine/library/ode/newton.h"
#include "gnomon/ops.h"

namespace gnomon::ode {
namespace detail {
namespace {

using roots::detail::minus;
using roots::detail::plus;
using roots::detail::times;

constexpr int highest_order = 5;
constexpr int kept_differences = highest_order + 2;
/// The part of the next difference that each formula adds to the backward differentiation one.
constexpr std::array<double, highest_order + 1> kappa{0, -0.1850, -1.0 / 9, -0.0823, -0.0415, 0};

double gamma(int order) {
  double sum = 0;
  for (int j = 1; j <= order; ++j) sum += 1.0 / j;
  return sum;
}
double alpha(int k) { return (1 - kappa[static_cast<std::size_t>(k)]) * gamma(k); }
double error_constant(int k) {
  return kappa[static_cast<std::size_t>(k)] * gamma(k) + 1.0 / (k + 1);
}

using Coefficients = std::vector<double>;  // of a polynomial, lowest power first

Coefficients times_linear(const Coefficients& p, double constant, double slope) {
  Coefficients q(p.size() + 1, 0.0);
  for (std::size_t i = 0; i < p.size(); ++i) {
    q[i] += constant * p[i];
    q[i + 1] += slope * p[i];
  }
  return q;
}

/// Difference number j at steps of ratio r is the sum over i of these polynomials in r times
/// difference number i at steps of 1. (Section 2.2 of the source: the product R U.)
Coefficients rescaling(int i, int j) {
  Coefficients sum(static_cast<std::size_t>(i) + 1, 0.0);
  double binomial = 1;
  for (int l = 0; l <= j; ++l) {
    // R_il = product over m of (m - 1 - r l) / m; U_lj = (-1)^l (j over l).
    Coefficients r{1};
    for (int m = 1; m <= i; ++m) r = times_linear(r, (m - 1.0) / m, -static_cast<double>(l) / m);
    for (std::size_t p = 0; p < r.size(); ++p) sum[p] += (l % 2 == 0 ? 1 : -1) * binomial * r[p];
    binomial *= static_cast<double>(j - l) / (l + 1);
  }
  return sum;
}

/// What difference number j adds to the interpolant, as a polynomial in theta.
Coefficients basis(int j) {
  Coefficients p{1};
  for (int m = 0; m < j; ++m) p = times_linear(p, (m - 1.0) / (m + 1), 1.0 / (m + 1));
  return p;
}

/// What a step begins with.
struct BdfHistory {
  std::vector<Arrays> differences;  // number 1, 2, ..
  Array order, since;               // i32[]: since: steps of this order and length
  Array h, rate;
  Array wanted;  // how long this step was to be; the controller may have cut it short

  BdfHistory() = default;
  BdfHistory(const Arrays& state, std::size_t leaves) {
    auto at = state.begin();
    for (int j = 0; j < kept_differences; ++j, at += static_cast<std::ptrdiff_t>(leaves))
      differences.emplace_back(at, at + static_cast<std::ptrdiff_t>(leaves));
    order = *at++;
    since = *at++;
    h = *at++;
    rate = *at++;
    wanted = *at;
  }
  Arrays state() const {
    Arrays all;
    for (const Arrays& d : differences) all.insert(all.end(), d.begin(), d.end());
    all.insert(all.end(), {order, since, h, rate, wanted});
    return all;
  }
};

class Bdf final : public Method {
 public:
  Bdf(BdfOptions options, std::optional<NewtonSetup> setup)
      : Method("BDF", options.max_order, 2),
        options_(std::move(options)),
        setup_(std::move(setup)) {}

  bool can_fail() const override { return true; }
  bool looks_back() const override { return true; }
  bool counts_evaluations() const override { return true; }
  int evaluations_to_begin() const override { return 1; }
  int evaluations_per_step() const override { return 0; }

  std::shared_ptr<const Method> prepared(const Request& r) const override {
    if (options_.max_order < 1 || options_.max_order > highest_order)
      usage_error("diffeqsolve",
                  "max_order of BDF is " + std::to_string(options_.max_order) +
                      "; there are formulas of orders 1 to 5",
                  r.loc);
    return std::make_shared<Bdf>(options_, newton_setup(r, name(), options_.newton));
  }

  Arrays begin(const Fields& f, const Array& t, const Arrays& y) const override {
    BdfHistory history;
    history.differences.push_back(f(0, t, y));
    for (int j = 1; j < kept_differences; ++j) history.differences.push_back(zeros_of(y));
    history.order = ones({}, DType::i32);
    history.since = zeros({}, DType::i32);
    history.h = ones({}, t.dtype());
    history.rate = ones({}, t.dtype());
    history.wanted = zeros({}, t.dtype());
    return history.state();
  }

  Arrays first_slope(const Fields&, const Array&, const Arrays& y,
                     const Arrays& begun) const override {
    return Arrays(begun.begin(), begun.begin() + static_cast<std::ptrdiff_t>(y.size()));
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    const BdfHistory history(state, y.size());
    const Array& order = history.order;
    const DType dtype = span.h.dtype();
    const Array ratio = span.h / history.h;
    std::vector<Arrays> d = history.differences;
    rescale(d, order, ratio);

    // The polynomial goes on to the end of the step; there the formula holds.
    Arrays predicted = y, past = zeros_of(y);
    for (int j = 1; j <= options_.max_order; ++j) {
      const Array used = cast(order >= j, dtype);
      const Arrays& dj = d[static_cast<std::size_t>(j - 1)];
      predicted = advance(predicted, used, {1}, {dj});
      past = advance(past, used, {gamma(j)}, {dj});
    }
    const Array share = by_order(
        order, [](int k) { return 1 / alpha(k); }, dtype);
    const Array length = span.h * share;
    past = weighted(share, {1}, {past});
    // Where nobody takes the step again the search begins at the last state, which is at least near
    // the solution's slow part; a polynomial that goes on may be anywhere.
    const Arrays& near = setup_->retries ? predicted : y;
    Newton newton(*setup_, f, 0, span.t1, near);
    newton.begin(length, 1);
    if (setup_->retries) newton.go_on_from({history.rate, full({}, false), zeros({}, DType::i32)});
    const Arrays base = minus(predicted, past);
    const Arrays guess = weighted(1 / length, {1}, {minus(near, base)});
    const Arrays slope = newton.solve(span.t1, base, guess);
    const Arrays change = minus(weighted(length, {1}, {slope}), past);

    Stepped result;
    result.y1 = plus(predicted, change);
    result.error = weighted(by_order(order, error_constant, dtype), {1}, {change});
    result.failed = newton.progress().failed;
    result.evaluations = newton.evaluations();

    BdfHistory next;
    next.differences = d;
    Arrays sum = change;
    for (int j = kept_differences; j >= 1; --j) {
      Arrays& dj = next.differences[static_cast<std::size_t>(j - 1)];
      const Arrays& old = d[static_cast<std::size_t>(j - 1)];
      if (j <= highest_order) {
        const Arrays longer = plus(old, sum);
        sum = choose(order >= j, longer, sum);
      }
      const Arrays above = j >= 2 ? minus(change, d[static_cast<std::size_t>(j - 2)]) : zeros_of(y);
      dj = choose(order >= j, sum,
                  choose(order == j - 1, change, choose(order == j - 2, above, old)));
    }
    for (int j = 1; j <= options_.max_order; ++j)
      result.slopes.push_back(weighted(cast(order >= j, dtype), {1},
                                       {next.differences[static_cast<std::size_t>(j - 1)]}));

    const Array same = abs(ratio - 1) < 1e-3;
    next.since = where(same, history.since, 0) + 1;
    next.h = span.h;
    next.rate = newton.progress().rate;
    next.wanted = history.wanted;
    choose_order(next, result, order, y, dtype);
    result.state = next.state();
    return result;
  }

  Polynomial interpolant(const Span&, const Arrays&, const Stepped& s) const override {
    // Differences at the end of the step: number 1 is the way from its start.
    Polynomial powers;
    for (std::size_t p = 1; p <= s.slopes.size(); ++p) {
      std::vector<double> weights;
      for (std::size_t j = 1; j <= s.slopes.size(); ++j) {
        const Coefficients b = basis(static_cast<int>(j));
        weights.push_back(p < b.size() ? b[p] : 0);
      }
      powers.push_back(combined(weights, s.slopes));
    }
    return powers;
  }

 private:
  static Arrays zeros_of(const Arrays& y) {
    Arrays all;
    for (const Array& a : y) all.push_back(zeros_like(a));
    return all;
  }

  /// value(order).
  template <class F>
  Array by_order(const Array& order, const F& value, DType dtype) const {
    Array result = full({}, value(options_.max_order), dtype);
    for (int k = options_.max_order - 1; k >= 1; --k) result = where(order == k, value(k), result);
    return result;
  }
  /// Difference number order + ahead.
  Arrays difference(const std::vector<Arrays>& d, const Array& order, int ahead) const {
    const auto at = [&](int k) -> const Arrays& {
      return d[static_cast<std::size_t>(std::max(k + ahead, 1) - 1)];
    };
    Arrays result = at(options_.max_order);
    for (int k = options_.max_order - 1; k >= 1; --k) result = choose(order == k, at(k), result);
    return result;
  }

  /// Differences at steps `ratio` times as long, of the polynomial of `order`.
  void rescale(std::vector<Arrays>& d, const Array& order, const Array& ratio) const {
    const std::vector<Arrays> old = d;
    for (int j = 1; j <= options_.max_order; ++j) {
      std::optional<Arrays> sum;
      for (int i = j; i <= options_.max_order; ++i) {
        const Coefficients c = rescaling(i, j);
        Array factor = full({}, c.back(), ratio.dtype());
        for (std::size_t p = c.size() - 1; p-- > 0;) factor = c[p] + ratio * factor;
        if (i > j) factor = where(order >= i, factor, 0);
        const Arrays part = weighted(factor, {1}, {old[static_cast<std::size_t>(i - 1)]});
        sum = sum ? plus(*sum, part) : part;
      }
      d[static_cast<std::size_t>(j - 1)] =
          choose(order >= j, *sum, d[static_cast<std::size_t>(j - 1)]);
    }
  }

  /// The order whose next step may be longest, and how long: once there are enough equal steps.
  void choose_order(BdfHistory& next, Stepped& result, const Array& order, const Arrays& y,
                    DType dtype) const {
    const auto size_of = [&](const Arrays& error) {
      Arrays scaled;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const Array size = maximum(abs(y[i]), abs(result.y1[i]));
        const Array r = stop_gradient(error[i] / (setup_->atol + setup_->rtol * size));
        scaled.push_back(r.dtype() == dtype ? r : cast(r, dtype));
      }
      const Array e = setup_->norm ? setup_->norm(scaled) : rms_norm(scaled);
      return maximum(where(isnan(e), std::numeric_limits<double>::infinity(), e), 1e-10);
    };
    const auto reach = [&](const Array& error, int ahead) {
      const Array k = cast(order + (1 + ahead), dtype);
      return pow(error, -1 / k);
    };
    const auto estimate = [&](int ahead) {
      const auto constant = [&](int k) {
        return k + ahead < 1 || k + ahead > highest_order ? 0.0 : error_constant(k + ahead);
      };
      return size_of(weighted(by_order(order, constant, dtype), {1},
                              {difference(next.differences, order, ahead + 1)}));
    };
    const Array here = size_of(result.error);
    const Array stay = reach(here, 0) / 1.2;
    const Array down = where(order > 1, reach(estimate(-1), -1) / 1.3, 0);
    const Array up = where(order < options_.max_order, reach(estimate(1), 1) / 1.4, 0);
    const Array ready = next.since > order;
    const Array lower = ready && (down > stay) && (down >= up),
                higher = ready && !lower && (up > stay);
    const Array best = where(lower, down, where(higher, up, stay));
    // Steps are left alone where there is little to win.
    const Array worth = (best > 1.1) || (best < 0.9);
    // Behind one that was cut short, for a time to end at, the next is as long as that was to be.
    const Array cut = next.h < 0.9 * next.wanted;
    const Array again = maximum(minimum(next.wanted / next.h, stay), 1);
    const Array good = where(ready && worth, best, where(cut, again, 1));
    const Array rejected = minimum(stay, 0.9);
    result.factor = where(here < 1, good, rejected);
    next.wanted = stop_gradient(next.h * good);
    const Array changed = lower || higher;
    next.order = order + where(lower, -1, where(higher, 1, 0));
    next.since = where(changed || (ready && worth), 0, next.since);
  }

  BdfOptions options_;
  std::optional<NewtonSetup> setup_;
};

}  // namespace
}  // namespace detail

BDF::BDF(BdfOptions o) : Solver(std::make_shared<detail::Bdf>(std::move(o), std::nullopt)) {}

}  // namespace gnomon::ode
