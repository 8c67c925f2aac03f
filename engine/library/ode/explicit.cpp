// engine/library/ode/explicit.cpp -- explicit Runge-Kutta methods: one loop over the stages of a
// table.
#include <algorithm>
#include <cmath>

#include "engine/library/ode/method.h"
#include "engine/library/ode/sde.h"
#include "gnomon/ops.h"

namespace gnomon::ode {

bool Tableau::first_same_as_last() const {
  if (a.empty() || b.back() != 0 || c.back() != 1) return false;
  const std::vector<double>& last = a.back();
  return std::equal(last.begin(), last.end(), b.begin());
}

void check(const Tableau& t) {
  const std::size_t stages = t.b.size();
  const auto fail = [&](const std::string& what) {
    usage_error("ode::check", "table `" + t.name + "`: " + what, {});
  };
  const auto require_sum = [&](const std::string& what, const std::vector<double>& numbers,
                               double want) {
    double sum = 0, size = 1;
    for (double x : numbers) sum += x, size += std::fabs(x);
    // Decimals of 16 digits leave an error of their last place each.
    if (!(std::fabs(sum - want) <= 1e-14 * size))
      fail(what + " sums up to " + std::to_string(sum) + ", which has to be " +
           std::to_string(want));
  };
  if (stages == 0) fail("has no stages; `b` has one number for each");
  if (t.order < 1) fail("has order " + std::to_string(t.order) + "; say which it has");
  if (t.a.size() + 1 != stages || t.c.size() + 1 != stages)
    fail("`b` is of " + std::to_string(stages) + " stages, `a` has " + std::to_string(t.a.size()) +
         " rows and `c` " + std::to_string(t.c.size()) +
         " numbers; both have one less, the first "
         "stage is not listed");
  for (std::size_t i = 0; i + 1 < stages; ++i) {
    const std::string row = "row " + std::to_string(i) + " of `a`";
    if (t.a[i].size() != i + 1)
      fail(row + " has " + std::to_string(t.a[i].size()) + " numbers, not " +
           std::to_string(i + 1) + "; a stage of an explicit method looks at those before it");
    require_sum(row, t.a[i], t.c[i]);
  }
  require_sum("`b`", t.b, 1);
  if (!t.error.empty()) {
    if (t.error.size() != stages)
      fail("`error` has " + std::to_string(t.error.size()) + " numbers for " +
           std::to_string(stages) + " stages");
    require_sum("`error`", t.error, 0);
  }
  if (!t.dense.empty() && t.dense.size() != stages)
    fail("`dense` has " + std::to_string(t.dense.size()) + " rows for " + std::to_string(stages) +
         " stages");
}

namespace detail {
namespace {

/// The table with the slope at the end of a step as its last stage. It is the first of the next
/// step, so nothing is evaluated more often.
Tableau with_last_slope(Tableau t) {
  t.a.push_back(t.b);
  t.c.push_back(1);
  t.b.push_back(0);
  if (!t.error.empty()) t.error.push_back(0);
  if (!t.dense.empty()) t.dense.push_back(std::vector<double>(t.dense[0].size(), 0.0));
  return t;
}

/// The cubic through both ends of a step with the slopes there, which are the first and the last.
std::vector<std::vector<double>> hermite(const Tableau& t) {
  std::vector<std::vector<double>> weights;
  for (std::size_t i = 0; i < t.b.size(); ++i) {
    const double first = i == 0, last = i + 1 == t.b.size();
    weights.push_back({first, 3 * t.b[i] - 2 * first - last, -2 * t.b[i] + first + last});
  }
  return weights;
}

class ExplicitMethod final : public Method {
 public:
  /// `carries`: whether a step hands its last slope on, where that is the first of the next one.
  explicit ExplicitMethod(Tableau table, bool carries = true)
      : Method(table.name, table.order,
               table.error.empty() ? 0
               : table.error_order ? table.error_order
                                   : table.order),
        table_(std::move(table)),
        reuses_(carries && table_.first_same_as_last()) {
    for (std::size_t i = 0; i < table_.b.size(); ++i) used_.push_back(is_used(i));
  }

  int evaluations_to_begin() const override { return reuses_ ? 1 : 0; }
  int evaluations_per_step() const override {
    return static_cast<int>(std::count(used_.begin(), used_.end(), true)) - (reuses_ ? 1 : 0);
  }

  std::shared_ptr<const Method> with_interpolant() const override {
    if (!table_.dense.empty()) return nullptr;
    Tableau table = table_.first_same_as_last() ? table_ : with_last_slope(table_);
    table.dense = hermite(table);
    return std::make_shared<ExplicitMethod>(std::move(table));
  }
  std::shared_ptr<const Method> without_slopes() const override {
    return reuses_ ? std::make_shared<ExplicitMethod>(table_, false) : nullptr;
  }

  const Tableau* table() const override { return &table_; }

  std::shared_ptr<const Method> driven(const Request& r) const override {
    return driven_runge_kutta(table_, r);
  }

  Arrays begin(const Fields& f, const Array& t, const Arrays& y) const override {
    return reuses_ ? f(0, t, y) : Arrays{};
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    Stepped result;
    std::vector<Arrays>& k = result.slopes;
    k.push_back(reuses_ ? state : f(0, span.t0, y));
    Arrays last = y;
    for (std::size_t i = 1; i < table_.b.size(); ++i) {
      if (!used_[i]) {
        k.push_back({});
        continue;
      }
      last = advance(y, span.h, table_.a[i - 1], k);
      const double c = table_.c[i - 1];
      const Array t = c == 1 ? span.t1 : c == 0 ? span.t0 : span.t0 + c * span.h;
      k.push_back(f(0, t, last));
    }
    result.y1 = reuses_ ? last : advance(y, span.h, table_.b, k);
    if (!table_.error.empty()) result.error = weighted(span.h, table_.error, k);
    if (reuses_) result.state = k.back();
    return result;
  }

  Polynomial interpolant(const Span& span, const Arrays&, const Stepped& s) const override {
    Polynomial powers;
    for (std::size_t p = 0; p < table_.dense[0].size(); ++p) {
      std::vector<double> weights;
      for (const auto& row : table_.dense) weights.push_back(row[p]);
      powers.push_back(weighted(span.h, weights, s.slopes));
    }
    return powers;
  }

 private:
  bool is_used(std::size_t i) const {
    const auto looks = [i](const std::vector<double>& weights) {
      return i < weights.size() && weights[i] != 0;
    };
    bool used =
        i == 0 || looks(table_.b) || looks(table_.error) || (reuses_ && i + 1 == table_.b.size());
    for (const auto& row : table_.a) used = used || looks(row);
    if (!table_.dense.empty())
      for (double w : table_.dense[i]) used = used || w != 0;
    return used;
  }

  Tableau table_;
  bool reuses_;  // the last slope of a step is the first of the next
  std::vector<bool> used_;
};

Array in_dtype_of(const Array& h, const Array& a) {
  return h.dtype() == a.dtype() ? h : cast(h, a.dtype());
}

/// sum_j weights[j] slopes[j][leaf], or nothing where all weights are 0.
std::optional<Array> sum_of(std::size_t leaf, const std::vector<double>& weights,
                            const std::vector<Arrays>& slopes) {
  std::optional<Array> sum;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (weights[j] == 0) continue;
    const Array& k = slopes[j][leaf];
    const Array part = weights[j] == 1 ? k : weights[j] * k;
    sum = sum ? *sum + part : part;
  }
  return sum;
}

}  // namespace

Arrays advance(const Arrays& y, const Array& h, const std::vector<double>& weights,
               const std::vector<Arrays>& slopes) {
  Arrays result;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto sum = sum_of(i, weights, slopes);
    result.push_back(sum ? y[i] + in_dtype_of(h, y[i]) * *sum : y[i]);
  }
  return result;
}

Arrays weighted(const Array& h, const std::vector<double>& weights,
                const std::vector<Arrays>& slopes) {
  Arrays result;
  for (std::size_t i = 0; i < slopes[0].size(); ++i) {
    const auto sum = sum_of(i, weights, slopes);
    result.push_back(sum ? in_dtype_of(h, slopes[0][i]) * *sum : zeros_like(slopes[0][i]));
  }
  return result;
}

Arrays combined(const std::vector<double>& weights, const std::vector<Arrays>& slopes) {
  Arrays result;
  for (std::size_t i = 0; i < slopes[0].size(); ++i) result.push_back(*sum_of(i, weights, slopes));
  return result;
}

Arrays evaluate(const Arrays& y, const Polynomial& powers, const Array& theta) {
  Arrays result;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Array x = in_dtype_of(theta, y[i]);
    Array sum = powers.back()[i];
    for (std::size_t p = powers.size() - 1; p-- > 0;) sum = powers[p][i] + x * sum;
    result.push_back(y[i] + x * sum);
  }
  return result;
}

Arrays choose(const Array& condition, const Arrays& yes, const Arrays& no) {
  Arrays result;
  for (std::size_t i = 0; i < yes.size(); ++i) result.push_back(where(condition, yes[i], no[i]));
  return result;
}

}  // namespace detail

const std::string& Solver::name() const { return method_->name(); }
int Solver::order() const { return method_->order(); }
bool Solver::has_error_estimate() const { return method_->error_order() > 0; }

RungeKutta::RungeKutta(const Tableau& tableau)
    : Solver([&] {
        check(tableau);
        return std::make_shared<detail::ExplicitMethod>(tableau);
      }()) {}

}  // namespace gnomon::ode
