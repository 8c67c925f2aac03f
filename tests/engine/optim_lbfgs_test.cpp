// tests/engine/optim_lbfgs_test.cpp -- limited-memory BFGS on the host reference: minima, the Wolfe
// conditions of each step, and the order of convergence.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/optim.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::testing {
namespace {

using test::Numbers;
using ::testing::HasSubstr;

/// The parameters before each of `count` steps, and after the last one, row by row.
template <class F>
std::vector<Numbers> iterates(const F& loss, const Numbers& start, int count,
                              optim::LbfgsOptions options = {}) {
  const auto steps = [&](const Array& x) {
    const auto opt = optim::lbfgs(options);
    const auto step = [&](const std::pair<Array, optim::State<Array>>& s, const None&) {
      const auto both = value_and_grad(loss)(s.first);
      auto [u, next] = opt.update(both.grad, s.second, s.first, both.value, loss);
      const Array moved = optim::apply_updates(s.first, u);
      return std::pair{std::pair{moved, std::move(next)}, moved};
    };
    return scan(step, std::pair{x, opt.init(x)}, none, {.length = count}).second;
  };
  const Numbers flat = test::run(steps, test::host(DType::f64, Shape(start.size()), start));
  std::vector<Numbers> rows{start};
  const auto n = std::ptrdiff_t(start.size());
  for (std::ptrdiff_t i = 0; i < count; ++i)
    rows.emplace_back(flat.begin() + i * n, flat.begin() + (i + 1) * n);
  return rows;
}

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
Numbers minus(const Numbers& a, const Numbers& b) {
  Numbers r;
  for (std::size_t i = 0; i < a.size(); ++i) r.push_back(a[i] - b[i]);
  return r;
}
double norm(const Numbers& a) { return std::sqrt(dot(a, a)); }

const auto valley = [](const Array& x) {
  return 100 * square(x[1] - x[0] * x[0]) + square(1 - x[0]);
};
double valley_value(const Numbers& x) {
  return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
}
Numbers valley_slope(const Numbers& x) {
  const double v = x[1] - x[0] * x[0];
  return {-400 * x[0] * v - 2 * (1 - x[0]), 200 * v};
}

TEST(Lbfgs, EachStepOnRosenbrockMeetsTheStrongWolfeConditions) {
  const auto x = iterates(valley, {-1.2, 1}, 40);
  int checked = 0;
  for (std::size_t k = 0; k + 1 < x.size(); ++k) {
    const Numbers g = valley_slope(x[k]), step = minus(x[k + 1], x[k]);
    if (norm(g) < 1e-5) break;  // the decrease is lost in rounding
    ++checked;
    const double slope = dot(g, step);
    EXPECT_LT(slope, 0) << k;
    EXPECT_LE(valley_value(x[k + 1]), valley_value(x[k]) + 1e-4 * slope) << k;
    EXPECT_LE(std::fabs(dot(valley_slope(x[k + 1]), step)), 0.9 * std::fabs(slope)) << k;
  }
  EXPECT_GT(checked, 15);
  test::expect_near(x.back(), {1, 1}, 1e-12);
  // Superlinear: quotients of errors tend to 0.
  std::vector<double> errors;
  for (const Numbers& at : x)
    if (const double e = norm(minus(at, {1, 1})); e > 1e-13) errors.push_back(e);
  ASSERT_GT(errors.size(), 6u);
  const std::size_t n = errors.size();
  EXPECT_LT(errors[n - 2], 0.1 * errors[n - 3]);
  EXPECT_LT(errors[n - 1], 0.05 * errors[n - 2]);
}

TEST(Lbfgs, ConvergesSuperlinearlyOnAQuadratic) {
  // Eigenvalues 1 to 100; a memory of all dimensions is BFGS.
  constexpr int n = 6;
  Numbers start;
  for (int i = 0; i < n; ++i) start.push_back(1 + i);
  const auto bowl = [](const Array& x) {
    return 0.5 * sum(exp(cast(arange(n), x.dtype()) * (std::log(100.0) / (n - 1))) * square(x - 1));
  };
  const auto x = iterates(bowl, start, 40, {.memory = 20});
  std::vector<double> errors;
  for (const Numbers& at : x)
    if (const double e = norm(minus(at, Numbers(n, 1))); e > 1e-14) errors.push_back(e);
  const std::size_t m = errors.size();
  ASSERT_LT(m, 40u);
  EXPECT_LT(errors[m - 1], 1e-11);
  // The mean rate of the last five steps is far below that of the first ten.
  const double late = std::pow(errors[m - 1] / errors[m - 6], 0.2),
               early = std::pow(errors[10] / errors[0], 0.1);
  EXPECT_LT(late, 0.5 * early);
}

TEST(Lbfgs, MinimisesOverATree) {
  struct Two {
    Array x, y;
  };
  const auto bowl = [](const Two& p) {
    const Array w = exp(cast(arange(20), p.x.dtype()) * (std::log(1e3) / 19));
    return 0.5 * sum(w * square(p.x - 1)) + sum(square(p.y + w));
  };
  const auto solve = [&](const Array& zero) {
    const auto opt = optim::lbfgs();
    const Two start{broadcast_to(zero, {20}), zeros({20}, DType::f64)};
    const auto step = [&](const Array&, const std::pair<Two, optim::State<Two>>& s) {
      const auto both = value_and_grad(bowl)(s.first);
      auto [u, next] = opt.update(both.grad, s.second, s.first, both.value, bowl);
      return std::pair{optim::apply_updates(s.first, u), std::move(next)};
    };
    return fori_loop(0, 300, step, std::pair{start, opt.init(start)}).first;
  };
  const auto all = test::run_all(solve, test::host(DType::f64, {}, {0}));
  Numbers weights;
  for (int i = 0; i < 20; ++i) weights.push_back(-std::exp(i * std::log(1e3) / 19));
  test::expect_near(all[0], Numbers(20, 1), 1e-7);
  test::expect_near(all[1], weights, 1e-7);
}

TEST(Lbfgs, NeedsTheLoss) {
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& x) {
                    const auto opt = optim::lbfgs();
                    return opt.update(x, opt.init(x), x).first;
                  },
                  test::f32(Numbers{1, 2})),
              HasSubstr("update(grads, state, params, value, loss)"));
}

}  // namespace
}  // namespace gnomon::testing
