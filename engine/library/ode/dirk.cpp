// engine/library/ode/dirk.cpp -- diagonally implicit Runge-Kutta methods, alone or beside an
// explicit one (IMEX).
#include "engine/library/ode/dirk.h"

#include <algorithm>

#include "engine/library/ode/control.h"
#include "engine/library/ode/newton.h"
#include "gnomon/indexing.h"
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
    const std::size_t part = split_ ? 1 : 0;
    const auto middle = state.begin() + static_cast<std::ptrdiff_t>(y.size());
    Stages stages{{Arrays(state.begin(), middle)}, {}, {}, 0};
    if (split_) stages.other.push_back(Arrays(middle, state.end()));
    Newton newton(*setup_, f, part, span.t0, y);
    // Large fields are traced and compiled once for all stages.
    if (newton.layout().written_out() || !constant_diagonal())
      one_by_one(f, span, y, newton, stages);
    else
      in_a_loop(f, span, y, newton, stages);
    const std::vector<Arrays>&implicit = stages.implicit, &other = stages.other;
    Arrays& last = stages.last;
    int evaluated = stages.evaluated;

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
    result.failed = newton.progress().failed;
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

  struct Stages {
    std::vector<Arrays> implicit, other;  // slopes
    Arrays last;                          // state of the last stage
    int evaluated;                        // besides what Newton's method did
  };

  void one_by_one(const Fields& f, const Span& span, const Arrays& y, Newton& newton,
                  Stages& s) const {
    std::vector<Arrays> linear{{}};  // slopes if the field were linear
    for (std::size_t i = 0; i + 1 < table_.stages(); ++i) {
      const double c = table_.c[i];
      const Array t = c == 1 ? span.t1 : span.t0 + c * span.h;
      Arrays base = advance(y, span.h, table_.a[i], s.implicit);
      if (split_) base = advance(base, span.h, table_.explicit_a[i], s.other);
      newton.begin(span.h * table_.diagonal[i], table_.diagonal[i]);
      linear.push_back(newton.guess(s.implicit[0], moved(i, s.implicit, s.other)));
      const Arrays guess = corrected(linear, predictor(i), s.implicit);
      s.implicit.push_back(newton.solve(t, base, guess));
      s.last = advance(base, span.h, {table_.diagonal[i]}, {s.implicit.back()});
      if (split_ && explicit_stage_is_used(i + 1)) {
        s.other.push_back(f(0, t, s.last));
        ++s.evaluated;
      } else if (split_) {
        s.other.push_back({});
      }
    }
  }

  bool constant_diagonal() const {
    return std::all_of(table_.diagonal.begin(), table_.diagonal.end(),
                       [&](double d) { return d == table_.diagonal[0]; });
  }

  /// Rows of the table, a stage behind the first each, along axis 0.
  struct Rows {
    Array c, a, explicit_a, predictor;
  };
  Rows table_rows(DType dtype) const {
    const std::size_t stages = table_.stages();
    const Dim n = static_cast<Dim>(stages);
    const auto rows = [&](const auto& row) {
      std::vector<double> all;
      for (std::size_t i = 0; i + 1 < stages; ++i) {
        std::vector<double> r = row(i);
        r.resize(stages, 0.0);
        all.insert(all.end(), r.begin(), r.end());
      }
      return reshape(array_of(Times(all), dtype), {n - 1, n});
    };
    const auto none = [](std::size_t) { return std::vector<double>{}; };
    const auto of = [](const std::vector<std::vector<double>>& table) {
      return [&table](std::size_t i) { return table[i]; };
    };
    return {array_of(Times(table_.c), dtype), rows(of(table_.a)),
            split_ ? rows(of(table_.explicit_a)) : rows(none),
            rows([&](std::size_t i) { return predictor(i); })};
  }

  /// The same with rows of the table that are looked up.
  void in_a_loop(const Fields& f, const Span& span, const Arrays& y, Newton& newton,
                 Stages& s) const {
    const std::size_t stages = table_.stages();
    const Dim n = static_cast<Dim>(stages);
    const double diagonal = table_.diagonal[0];
    newton.begin(span.h * diagonal, diagonal);
    const Rows table = table_rows(span.h.dtype());

    // Slopes, and what a linear field leaves out of them, stage by stage along axis 0.
    struct Carry {
      Arrays implicit, beyond, other, last;
      Newton::Progress progress;
      Array stage;
    };
    const auto first = [&](const Arrays& slopes, bool empty) {
      Arrays all;
      for (const Array& a : slopes) {
        const Array zero = zeros(a.shape().with_inserted(0, n), a.dtype());
        all.push_back(empty ? zero : zero.at(0).set(a));
      }
      return all;
    };
    const auto combination = [&](const Array& weights, const Arrays& slopes) {
      Arrays all;
      for (const Array& k : slopes) {
        const Array w = weights.dtype() == k.dtype() ? weights : cast(weights, k.dtype());
        const Shape shape = k.shape().without(0);
        all.push_back(reshape(matmul(w, reshape(k, {n, shape.size()})), shape));
      }
      return all;
    };
    const auto put = [](const Arrays& slopes, const Array& row, const Arrays& values) {
      Arrays all;
      for (std::size_t i = 0; i < slopes.size(); ++i)
        all.push_back(slopes[i].at(row).set(values[i]));
      return all;
    };
    const auto body = [&](Carry c, const Rows& row) {
      const Array t = where(row.c == 1, span.t1, span.t0 + row.c * span.h);
      Arrays way = combination(row.a, c.implicit);
      if (split_) way = roots::detail::plus(way, combination(row.explicit_a, c.other));
      const Arrays base = advance(y, span.h, {1}, {way});
      newton.go_on_from(c.progress);
      const Arrays linear = newton.guess(s.implicit[0], roots::detail::times(1 / diagonal, way));
      const Arrays slope =
          newton.solve(t, base, roots::detail::plus(linear, combination(row.predictor, c.beyond)));
      Carry next;
      next.last = advance(base, span.h, {diagonal}, {slope});
      next.implicit = put(c.implicit, c.stage, slope);
      next.beyond = put(c.beyond, c.stage, roots::detail::minus(slope, linear));
      if (split_) next.other = put(c.other, c.stage, f(0, t, next.last));
      next.progress = newton.progress();
      next.stage = c.stage + 1;
      return std::pair{next, None{}};
    };
    Carry start{first(s.implicit[0], false), first(s.implicit[0], true), {}, y,
                newton.progress(),           ones({}, DType::i32)};
    if (split_) start.other = first(s.other[0], false);
    const Carry end = scan(body, start, table).first;
    newton.go_on_from(end.progress);
    const auto taken_apart = [&](const Arrays& stacked, std::vector<Arrays>& to) {
      for (Dim j = 1; j < n; ++j) {
        Arrays row;
        for (const Array& a : stacked) row.push_back(a[j]);
        to.push_back(std::move(row));
      }
    };
    taken_apart(end.implicit, s.implicit);
    if (split_) taken_apart(end.other, s.other);
    s.last = end.last;
    s.evaluated = split_ ? static_cast<int>(n) - 1 : 0;
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
