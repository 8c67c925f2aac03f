// engine/library/ode/rosenbrock.cpp -- linearly implicit methods: one matrix a step, one linear
// system a stage.
#include "engine/library/ode/rosenbrock.h"

#include <algorithm>

#include "engine/library/ode/newton.h"
#include "gnomon/implicit.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::ode {
namespace detail {
namespace {

using roots::detail::Factors;
using roots::detail::Layout;
using roots::detail::minus;
using roots::detail::plus;
using roots::detail::times;

class RosenbrockMethod final : public Method {
 public:
  RosenbrockMethod(const RosenbrockTable& table, Dim numbers)
      : Method(table.name, table.order, table.error_order), table_(table), numbers_(numbers) {}

  int evaluations_to_begin() const override { return table_.first_same_as_last ? 1 : 0; }
  int evaluations_per_step() const override {
    const int derivatives = static_cast<int>(numbers_) + 1;
    return static_cast<int>(table_.stages()) - evaluations_to_begin() + derivatives;
  }
  std::shared_ptr<const Method> prepared(const Request& r) const override {
    Dim numbers = 0;
    for (const Array& a : r.y0) numbers += a.size();
    return std::make_shared<RosenbrockMethod>(table_, numbers);
  }

  Arrays begin(const Fields& f, const Array& t, const Arrays& y) const override {
    return table_.first_same_as_last ? f(0, t, y) : Arrays{};
  }

  Stepped step(const Fields& f, const Span& span, const Arrays& y,
               const Arrays& state) const override {
    const Frozen frozen(f, 0, span.t0, y);
    const Layout& layout = frozen.layout();
    const Array length = stop_gradient(span.h) * table_.gamma;
    const Factors factors(layout, layout.shifted(negative(length), frozen.jacobian()));
    // The matrix as a function: its derivative needs no matrix.
    const auto product = [&](const Arrays& x) {
      const auto along = [&](const Arrays& v) { return f(0, span.t0, v); };
      return minus(x, weighted(span.h, {table_.gamma}, {jvp(along, y, x).second}));
    };
    const auto solve = [&](const auto&, const Arrays& b) {
      return layout.leaves(factors.solve(layout.flat(b)));
    };
    const auto solve_transposed = [&](const auto&, const Arrays& b) {
      return layout.leaves(factors.solve_transposed(layout.flat(b)));
    };
    const Arrays by_time =
        jvp([&](const Array& t) { return f(0, t, y); }, span.t0, ones_like(span.t0)).second;
    const bool autonomous = std::all_of(by_time.begin(), by_time.end(), is_symbolic_zero);
    const Arrays drift = autonomous ? Arrays{} : weighted(span.h * span.h, {1}, {by_time});

    Stepped result;
    std::vector<Arrays>& u = result.slopes;
    Arrays last;
    for (std::size_t i = 0; i < table_.stages(); ++i) {
      const double c = table_.c[i];
      const Array t = c == 1 ? span.t1 : c == 0 ? span.t0 : span.t0 + c * span.h;
      if (i > 0) last = plus(y, combined(table_.a[i - 1], u));
      Arrays slope = i > 0 ? f(0, t, last) : state.empty() ? f(0, t, y) : state;
      Arrays right = weighted(span.h, {table_.scale}, {slope});
      if (i > 0) right = plus(right, combined(table_.r[i - 1], u));
      if (table_.d[i] != 0 && !autonomous) right = plus(right, times(table_.d[i], drift));
      u.push_back(custom_linear_solve(product, right, solve, solve_transposed));
      if (i + 1 == table_.stages() && table_.first_same_as_last) result.state = std::move(slope);
    }
    result.y1 = table_.first_same_as_last ? last : plus(last, u.back());
    result.error = combined(table_.error, u);
    return result;
  }

  Polynomial interpolant(const Span&, const Arrays&, const Stepped& s) const override {
    Polynomial powers;
    for (std::size_t p = 0; p < table_.dense[0].size(); ++p) {
      std::vector<double> weights;
      for (const auto& row : table_.dense) weights.push_back(row[p]);
      powers.push_back(combined(weights, s.slopes));
    }
    return powers;
  }

 private:
  const RosenbrockTable& table_;
  Dim numbers_;
};

}  // namespace
}  // namespace detail

Rosenbrock23::Rosenbrock23()
    : Rosenbrock(std::make_shared<detail::RosenbrockMethod>(detail::tables::rosenbrock23(), 0)) {}
Rodas5P::Rodas5P()
    : Rosenbrock(std::make_shared<detail::RosenbrockMethod>(detail::tables::rodas5p(), 0)) {}

}  // namespace gnomon::ode
