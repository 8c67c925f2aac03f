// engine/library/ode/dirk.cpp -- diagonally implicit Runge-Kutta methods, alone or beside an
// explicit one (IMEX).
#include "engine/library/ode/dirk.h"

#include <algorithm>

#include "engine/library/ode/newton.h"
#include "gnomon/ops.h"

namespace gnomon::ode {
namespace detail {

bool DirkTable::ends_with_last_stage() const {
  const Row& last = a.back();
  return c.back() == 1 && b.back() == diagonal.back() &&
         std::equal(last.begin(), last.end(), b.begin());
}

bool DirkTable::explicit_ends_with_last_stage() const {
  const Row& last = explicit_a.back();
  const Row& weights = explicit_b.empty() ? b : explicit_b;
  return ends_with_last_stage() && weights.back() == 0 &&
         std::equal(last.begin(), last.end(), weights.begin());
}

namespace {

class Dirk final : public Method {
 public:
  Dirk(const DirkTable& table, NewtonOptions options, bool split, std::optional<NewtonSetup> setup)
      : Method(table.name, table.order, table.error_order),
        table_(table),
        options_(std::move(options)),
        split_(split),
        setup_(std::move(setup)) {}

  std::size_t fields() const override { return split_ ? 2 : 1; }
  bool can_fail() const override { return true; }
  bool counts_evaluations() const override { return true; }
  int evaluations_to_begin() const override { return split_ ? 2 : 1; }
  int evaluations_per_step() const override { return 0; }

  std::shared_ptr<const Method> prepared(const Request& r) const override {
    const bool split = !table_.explicit_a.empty() && r.fields.size() == 2;
    return std::make_shared<Dirk>(table_, options_, split, newton_setup(r, name(), options_));
  }

  /// The slopes at the start: of the implicit term, then of the explicit one.
  Arrays begin(const Fields& f, const Array& t, const Arrays& y) const override {
    Arrays slopes = f(split_ ? 1 : 0, t, y);
    if (split_)
      for (const Array& a : f(0, t, y)) slopes.push_back(a);
    return slopes;
  }

  Arrays first_slope(const Fields&, const Array&, const Arrays& y,
                     const Arrays& begun) const override {
    return total(begun, y.size());
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    const std::size_t stages = table_.stages(), part = split_ ? 1 : 0;
    const auto middle = state.begin() + static_cast<std::ptrdiff_t>(y.size());
    std::vector<Arrays> implicit{Arrays(state.begin(), middle)};
    std::vector<Arrays> other;
    if (split_) other.push_back(Arrays(middle, state.end()));
    std::vector<Arrays> linear{{}};  // slopes if the field were linear
    Newton newton(*setup_, f, part, span.t0, y);
    int evaluated = 0;  // besides those of Newton's method
    Arrays last;
    for (std::size_t i = 0; i + 1 < stages; ++i) {
      const double c = table_.c[i];
      const Array t = c == 1 ? span.t1 : span.t0 + c * span.h;
      Arrays base = advance(y, span.h, table_.a[i], implicit);
      if (split_) base = advance(base, span.h, table_.explicit_a[i], other);
      newton.begin(span.h * table_.diagonal[i], table_.diagonal[i]);
      linear.push_back(newton.guess(implicit[0], moved(i, implicit, other)));
      const Arrays guess = corrected(linear, predictor(i), implicit);
      implicit.push_back(newton.solve(t, base, guess));
      last = advance(base, span.h, {table_.diagonal[i]}, {implicit.back()});
      if (split_ && explicit_stage_is_used(i + 1)) {
        other.push_back(f(0, t, last));
        ++evaluated;
      } else if (split_) {
        other.push_back({});
      }
    }

    Stepped result;
    const bool ends =
        split_ ? table_.explicit_ends_with_last_stage() : table_.ends_with_last_stage();
    if (ends) {
      result.y1 = std::move(last);
    } else {
      result.y1 = advance(y, span.h, table_.b, implicit);
      if (split_) result.y1 = advance(result.y1, span.h, explicit_weights(), other);
    }
    result.error = weighted(span.h, table_.error, implicit);
    if (split_)
      result.error = roots::detail::plus(
          result.error,
          weighted(span.h, table_.explicit_error.empty() ? table_.error : table_.explicit_error,
                   other));
    if (ends) {
      result.state = implicit.back();
      if (split_) append(result.state, other.back());
    } else {
      result.state = f(part, span.t1, result.y1);
      append(result.state, f(0, span.t1, result.y1));
      evaluated += 2;
    }
    result.failed = newton.failed();
    result.evaluations = newton.evaluations() + evaluated;
    result.slopes = slopes_between(implicit, other, state, result.state, y.size());
    return result;
  }

  Polynomial interpolant(const Span& span, const Arrays& y, const Stepped& s) const override {
    Polynomial powers;
    if (!table_.dense.empty()) {
      for (std::size_t p = 0; p < table_.dense[0].size(); ++p) {
        std::vector<double> weights;
        for (const auto& row : table_.dense) weights.push_back(row[p]);
        powers.push_back(weighted(span.h, weights, s.slopes));
      }
      return powers;
    }
    // The cubic with the slopes at both ends.
    const Arrays first = weighted(span.h, {1}, {s.slopes[0]});
    const Arrays last = weighted(span.h, {1}, {s.slopes[1]});
    powers = {first, {}, {}};
    for (std::size_t i = 0; i < y.size(); ++i) {
      const Array change = s.y1[i] - y[i];
      powers[1].push_back(3 * change - 2 * first[i] - last[i]);
      powers[2].push_back(first[i] + last[i] - 2 * change);
    }
    return powers;
  }

 private:
  static void append(Arrays& to, const Arrays& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  const std::vector<double>& explicit_weights() const {
    return table_.explicit_b.empty() ? table_.b : table_.explicit_b;
  }

  bool explicit_stage_is_used(std::size_t i) const {
    const auto looks = [i](const std::vector<double>& w) { return i < w.size() && w[i] != 0; };
    bool used = i + 1 == table_.stages() || looks(explicit_weights()) ||
                looks(table_.explicit_error.empty() ? table_.error : table_.explicit_error);
    for (const auto& row : table_.explicit_a) used = used || looks(row);
    return used;
  }

  /// How far the base of stage i + 1 is from y, as a slope over its own length.
  Arrays moved(std::size_t i, const std::vector<Arrays>& implicit,
               const std::vector<Arrays>& other) const {
    const auto scaled = [&](std::vector<double> row) {
      for (double& x : row) x /= table_.diagonal[i];
      return row;
    };
    const auto part = [&](const std::vector<double>& row, const std::vector<Arrays>& slopes) {
      const bool any = std::any_of(row.begin(), row.end(), [](double x) { return x != 0; });
      return any ? combined(scaled(row), slopes) : roots::detail::times(0.0, slopes[0]);
    };
    const Arrays all = part(table_.a[i], implicit);
    return split_ ? roots::detail::plus(all, part(table_.explicit_a[i], other)) : all;
  }

  /// What an iteration begins with. A table's predictor alone goes wrong where the step is long for
  /// the stiff part: slopes change by orders of magnitude within a step. So the field is taken for
  /// linear, and what that left out in earlier stages is predicted.
  static Arrays corrected(const std::vector<Arrays>& linear, const std::vector<double>& weights,
                          const std::vector<Arrays>& implicit) {
    Arrays guess = linear.back();
    for (std::size_t j = 1; j < weights.size(); ++j)
      if (weights[j] != 0)
        guess = roots::detail::plus(
            guess, roots::detail::times(weights[j], roots::detail::minus(implicit[j], linear[j])));
    return guess;
  }

  /// Weights of earlier slopes in a prediction of that of stage i + 1.
  std::vector<double> predictor(std::size_t i) const {
    if (!table_.predictor.empty()) return table_.predictor[i];
    std::vector<double> weights(i + 1, 0.0);
    const double ratio = i == 0 ? 0 : table_.c[i] / table_.c[i - 1];
    weights[0] = 1 - ratio;
    weights[i] += ratio;
    return weights;
  }

  /// What an interpolant is made of: the slopes of all stages, or of both ends; all terms together.
  std::vector<Arrays> slopes_between(const std::vector<Arrays>& implicit,
                                     const std::vector<Arrays>& other, const Arrays& first,
                                     const Arrays& last, std::size_t leaves) const {
    if (table_.dense.empty()) return {total(first, leaves), total(last, leaves)};
    if (!split_) return implicit;
    std::vector<Arrays> all;
    for (std::size_t i = 0; i < implicit.size(); ++i)
      all.push_back(other[i].empty() ? implicit[i] : roots::detail::plus(implicit[i], other[i]));
    return all;
  }

  static Arrays total(const Arrays& slopes, std::size_t leaves) {
    const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(leaves);
    const Arrays one(slopes.begin(), middle);
    return slopes.size() == leaves ? one : roots::detail::plus(one, Arrays(middle, slopes.end()));
  }

  const DirkTable& table_;
  NewtonOptions options_;
  bool split_;
  std::optional<NewtonSetup> setup_;
};

std::shared_ptr<const Method> dirk(const DirkTable& table, NewtonOptions options) {
  return std::make_shared<Dirk>(table, std::move(options), !table.explicit_a.empty(), std::nullopt);
}

}  // namespace
}  // namespace detail

namespace t = detail::tables;
ImplicitEuler::ImplicitEuler(NewtonOptions o)
    : DiagonallyImplicit(detail::dirk(t::implicit_euler(), std::move(o))) {}
Kvaerno3::Kvaerno3(NewtonOptions o)
    : DiagonallyImplicit(detail::dirk(t::kvaerno3(), std::move(o))) {}
Kvaerno4::Kvaerno4(NewtonOptions o)
    : DiagonallyImplicit(detail::dirk(t::kvaerno4(), std::move(o))) {}
Kvaerno5::Kvaerno5(NewtonOptions o)
    : DiagonallyImplicit(detail::dirk(t::kvaerno5(), std::move(o))) {}
KenCarp3::KenCarp3(NewtonOptions o)
    : DiagonallyImplicit(detail::dirk(t::kencarp3(), std::move(o))) {}
KenCarp4::KenCarp4(NewtonOptions o)
    : DiagonallyImplicit(detail::dirk(t::kencarp4(), std::move(o))) {}
KenCarp5::KenCarp5(NewtonOptions o)
    : DiagonallyImplicit(detail::dirk(t::kencarp5(), std::move(o))) {}
Sil3::Sil3(NewtonOptions o) : DiagonallyImplicit(detail::dirk(t::sil3(), std::move(o))) {}

}  // namespace gnomon::ode
