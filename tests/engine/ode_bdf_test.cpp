// tests/engine/ode_bdf_test.cpp -- backward differentiation: the order of each formula, the choice
// among them, and values between the steps.
#include <gtest/gtest.h>

#include "engine/library/ode/method.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ::testing::HasSubstr;
const ode::NewtonOptions exact{.rtol = 1e-13, .atol = 1e-13};

/// y' = -2 t y^2: 1 / (1 + t^2).
double hill(double t) { return 1 / (1 + t * t); }
const ode::OdeTerm hill_term{
    [](const Array& t, const Array& y, const None&) { return -2.0 * t * y * y; }};

/// y' = cos(t) y.
double wave(double t) { return std::exp(std::sin(t)); }

/// The error at 1 of `n` equal steps of one order from 0.5, that begin with exact differences.
double error_of(int order, int n) {
  const double h = 0.5 / n;
  // Backward differences at the start.
  std::vector<double> values, differences;
  for (int i = 0; i <= 7; ++i) values.push_back(wave(0.5 - h * i));
  for (int j = 1; j <= 7; ++j) {
    for (int i = 0; i + j <= 7; ++i)
      values[static_cast<std::size_t>(i)] -= values[static_cast<std::size_t>(i + 1)];
    differences.push_back(values[0]);
  }
  const ode::BDF solver({.newton = exact});
  const auto end = test::run(
      [&](const Array& start) {
        namespace d = ode::detail;
        const auto field = [](const Array& t, const std::vector<Array>& y) {
          return std::vector<Array>{cos(t) * y[0]};
        };
        const ode::SolveOptions options;
        d::Request request{.solver = solver,
                           .fields = {d::FieldRef(field)},
                           .drives = {},
                           .t0 = 0.5,
                           .t1 = 1.0,
                           .dt0 = h,
                           .y0 = {start},
                           .paths = {"y"},
                           .options = options,
                           .saves = {},
                           .events = {},
                           .loc = {}};
        const d::Fields fields(request, std::nullopt);
        const auto method = solver.method().prepared(request);
        const auto number = [](double x) { return full({}, x, DType::f64); };
        std::vector<Array> y{start}, state;
        for (double x : differences) state.push_back(number(x));
        state.insert(state.end(), {full({}, order, DType::i32), zeros({}, DType::i32), number(h),
                                   number(1.0), number(h)});
        for (int i = 0; i < n; ++i) {
          const d::Span span{number(0.5 + i * h), number(0.5 + (i + 1) * h), number(h)};
          const d::Stepped s = method->step(fields, span, y, state);
          y = s.y1;
          state = s.state;
          state[8] = zeros({}, DType::i32);  // never ready for another order
        }
        return y[0];
      },
      f64(wave(0.5)))[0];
  return std::fabs(end - wave(1));
}

TEST(OdeBdf, FormulasHaveTheirOrders) {
  for (int order = 1; order <= 5; ++order) {
    const int n = 24;
    std::vector<std::pair<double, double>> points;
    for (int steps : {n, 2 * n}) points.emplace_back(0.5 / steps, error_of(order, steps));
    EXPECT_NEAR(slope(points), order, 0.1) << order;
  }
}

struct Solved {
  double y, steps, rejected;
};
Solved solve(const ode::Solver& solver, double tolerance) {
  const auto all = test::run_all(
      [&](const Array& y) {
        const auto sol =
            diffeqsolve(hill_term, solver, 0.0, 3.0, none, y, none,
                        {.controller = ode::PidController{.rtol = tolerance, .atol = tolerance}});
        return std::tuple{sol.y1, sol.stats.steps, sol.stats.rejected};
      },
      f64(1.0));
  return {all[0][0], all[1][0], all[2][0]};
}

TEST(OdeBdf, HigherOrdersTakeFewerSteps) {
  double before = INFINITY;
  for (int order = 1; order <= 5; ++order) {
    const Solved s = solve(ode::BDF({.max_order = order}), order == 1 ? 1e-6 : 1e-8);
    EXPECT_NEAR(s.y, 0.1, order == 1 ? 2e-4 : 1e-6) << order;
    EXPECT_LT(s.steps, 0.9 * before) << order;
    EXPECT_LE(s.rejected, 15) << order;
    before = s.steps;
  }
}

TEST(OdeBdf, ErrorsFollowTheTolerance) {
  for (double tolerance : {1e-4, 1e-6, 1e-8})
    EXPECT_LT(std::fabs(solve(ode::BDF(), tolerance).y - 0.1), 50 * tolerance) << tolerance;
}

TEST(OdeBdf, ValuesBetweenTheStepsAreThoseOfThePolynomial) {
  Numbers ts;
  for (int i = 1; i < 30; ++i) ts.push_back(0.1 * i);
  const auto ys = test::run(
      [&](const Array& y) {
        return diffeqsolve(hill_term, ode::BDF(), 0.0, 3.0, none, y, none,
                           {.saveat = {.ts = ode::Times(ts)},
                            .controller = ode::PidController{.rtol = 1e-7, .atol = 1e-7}})
            .ys;
      },
      f64(1.0));
  for (std::size_t i = 0; i < ts.size(); ++i) EXPECT_NEAR(ys[i], hill(ts[i]), 1e-5) << ts[i];
}

TEST(OdeBdf, EqualStepsAndBackwardOnes) {
  const auto end = [](double from, double to, double h, double start) {
    return test::run(
        [&](const Array& y) {
          return diffeqsolve(hill_term, ode::BDF({.newton = {.rtol = 1e-6, .atol = 1e-6}}), from,
                             to, h, y)
              .y1;
        },
        f64(start))[0];
  };
  EXPECT_NEAR(end(0, 1, 0.005, 1), 0.5, 1e-4);
  EXPECT_NEAR(end(1, 0, -0.005, 0.5), 1, 1e-4);
}

TEST(OdeBdf, StepsEndWhereTheyAreToldTo) {
  Numbers ts;
  for (int i = 1; i < 30; ++i) ts.push_back(0.1 * i);
  const auto run = [&](const ode::ClipStepSize& clip) {
    const auto all = test::run_all(
        [&](const Array& y) {
          const auto sol =
              diffeqsolve(hill_term, ode::BDF(), 0.0, 3.0, none, y, none, {.controller = clip});
          return std::tuple{sol.y1, sol.stats.steps};
        },
        f64(1.0));
    return std::pair{all[0][0], all[1][0]};
  };
  const ode::PidController pid{.rtol = 1e-4, .atol = 1e-4};
  const auto stepped = run({pid, ts, {}});
  EXPECT_NEAR(stepped.first, 0.1, 1e-4);
  EXPECT_LT(stepped.second, 110);
  // Behind a jump it begins with order 1.
  const auto jumped = run({pid, {}, ts});
  EXPECT_NEAR(jumped.first, 0.1, 2e-3);
  EXPECT_GT(jumped.second, stepped.second);
}

TEST(OdeBdf, SaysWhatIsWrong) {
  const auto complaint = [](const ode::Solver& s) {
    return test::usage_error_of(
        [&](const Array& y) { return diffeqsolve(hill_term, s, 0.0, 1.0, 0.1, y).y1; }, f64(1.0));
  };
  EXPECT_THAT(complaint(ode::BDF({.max_order = 6, .newton = exact})),
              HasSubstr("max_order of BDF is 6; there are formulas of orders 1 to 5"));
  EXPECT_THAT(complaint(ode::BDF()), HasSubstr("BDF solves an equation in each step"));
}

}  // namespace
}  // namespace gnomon::testing
