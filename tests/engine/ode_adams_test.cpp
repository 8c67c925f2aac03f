// tests/engine/ode_adams_test.cpp -- Adams methods: known values, orders by equal and unequal
// steps, the choice among orders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/library/ode/method.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/ode_host.h"
#include "tests/engine/ode_orders.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ::testing::HasSubstr;

/// y1 by steps that end at `ts`, of a method whose slopes at ts[0 .. slopes) are exact.
template <class Field, class Slope>
double run_from(const ode::Solver& solver, const Field& field, const Slope& slope, double start,
                const Numbers& ts, std::size_t slopes) {
  namespace d = ode::detail;
  return test::run(
      [&](const Array& y0) {
        const auto f = [&](const Array& t, const std::vector<Array>& y) {
          return std::vector<Array>{field(t, y[0])};
        };
        // Times that are arrays: steps of any length.
        const Array begin = full({}, ts[0], DType::f64);
        const ode::SolveOptions options;
        d::Request request{.solver = solver,
                           .fields = {d::FieldRef(f)},
                           .drives = {},
                           .t0 = begin,
                           .t1 = begin,
                           .dt0 = begin,
                           .y0 = {y0},
                           .paths = {"y"},
                           .options = options,
                           .saves = {},
                           .events = {},
                           .loc = {}};
        const d::Fields fields(request, std::nullopt);
        const auto method = solver.method().prepared(request);
        const auto number = [](double x) { return full({}, x, DType::f64); };
        // Modified divided differences of the slopes, and the lengths they belong to.
        std::vector<Array> state, psi;
        for (std::size_t i = 0; i < slopes; ++i) {
          const double now = ts[slopes - 1];
          std::vector<double> table;
          double product = 1;
          for (std::size_t j = 0; j <= i; ++j) table.push_back(slope(ts[slopes - 1 - j]));
          for (std::size_t j = 1; j <= i; ++j)
            for (std::size_t k = 0; k + j <= i; ++k)
              table[k] = (table[k] - table[k + 1]) / (ts[slopes - 1 - k] - ts[slopes - 1 - k - j]);
          for (std::size_t j = 1; j <= i; ++j) product *= now - ts[slopes - 1 - j];
          state.push_back(number(table[0] * product));
          psi.push_back(number(i + 1 < slopes ? now - ts[slopes - 2 - i] : 1));
        }
        state.insert(state.end(), psi.begin(), psi.end());
        if (slopes > 1) state.push_back(full({}, static_cast<int>(slopes) - 1, DType::i32));
        std::vector<Array> y{y0};
        for (std::size_t i = slopes - 1; i + 1 < ts.size(); ++i) {
          const d::Span span{number(ts[i]), number(ts[i + 1]), number(ts[i + 1] - ts[i])};
          const d::Stepped s = method->step(fields, span, y, state);
          y = s.y1;
          state = s.state;
        }
        return y[0];
      },
      f64(start))[0];
}

TEST(OdeAdams, KnownValues) {
  // Golden T44: y' = -y by ten steps, those of the start exact.
  const Numbers want{.3486784401, .3693436151613547, .3677564746622977, .3678899579570314,
                     .3678785530574269};
  Numbers ts;
  for (int i = 0; i <= 10; ++i) ts.push_back(0.1 * i);
  const auto slope = [](double t) { return -std::exp(-t); };
  for (int order = 1; order <= 5; ++order) {
    const auto slopes = static_cast<std::size_t>(order);
    const double got = run_from(
        ode::AdamsBashforth(order), [](const Array&, const Array& y) { return -y; }, slope,
        std::exp(-ts[slopes - 1]), ts, slopes);
    EXPECT_NEAR(got, want[slopes - 1], 1e-15) << order;
  }
}

TEST(OdeAdams, KnownValuesWithARungeKuttaStart) {
  // Golden T44.
  const ode::OdeTerm rated{
      [](const Array&, const Array& y, const Array& rate) { return -rate * y; }};
  const auto solve = [&](const Array& y, const Array& rate) {
    return diffeqsolve(rated, ode::AdamsBashforth(4), 0.0, 1.0, 0.1, y, rate).y1;
  };
  const auto all = test::run_all(
      [&](const Array& y, const Array& rate) {
        const auto by_start =
            jvp([&](const Array& x) { return solve(x, rate); }, y, ones_like(y)).second;
        return std::tuple{solve(y, rate), by_start,
                          grad([&](const Array& r) { return solve(y, r); })(rate)};
      },
      f64(1.0), f64(1.0));
  EXPECT_NEAR(all[0][0], .3678900574754835, 1e-15);
  EXPECT_NEAR(all[1][0], .3678900574754835, 1e-15);
  EXPECT_NEAR(all[2][0], -.3678352737071921, 1e-15);
}

// ---- orders

TEST(OdeAdams, MethodsHaveTheirOrders) {
  const auto measured = [](const ode::Solver& solver, const std::vector<int>& steps) {
    const int order = solver.order();
    EXPECT_NEAR(slope(errors(solver, short_way, steps)), order, order <= 5 ? 0.1 : 0.3)
        << solver.name() << " " << order;
  };
  for (int order = 1; order <= 8; ++order) {
    // Few enough steps that rounding is not seen.
    const std::vector<int> steps =
        order < 3 ? std::vector{400, 800, 1600} : std::vector{200, 400, 800};
    measured(ode::AdamsBashforth(order), order < 6 ? steps : std::vector{100, 120, 140});
    measured(ode::AdamsMoulton(order), order < 6 ? steps : std::vector{50, 60, 70});
  }
}

TEST(OdeAdams, StepsOfAnyLengthsIntegratePolynomialsOfTheirDegree) {
  // y' = degree (t - 0.3)^(degree - 1) by steps of three lengths.
  Numbers ts{0};
  for (int i = 0; i < 20; ++i)
    ts.push_back(ts.back() + (i % 3 == 0 ? 0.02 : i % 3 == 1 ? 0.1 : 0.05));
  for (int order = 1; order <= 8; ++order)
    for (const bool corrects : {false, true}) {
      const ode::Solver solver = corrects ? ode::Solver(ode::AdamsMoulton(order))
                                          : ode::Solver(ode::AdamsBashforth(order));
      const std::size_t slopes =
          static_cast<std::size_t>(corrects ? std::max(order - 1, 1) : order);
      const auto error = [&](int degree) {
        const auto value = [&](double t) { return std::pow(t - 0.3, degree); };
        const auto field = [&](const Array& t, const Array& y) {
          Array power = degree * ones_like(y);
          for (int i = 1; i < degree; ++i) power = power * (t - 0.3);
          return power;
        };
        const double got = run_from(
            solver, field, [&](double t) { return degree * std::pow(t - 0.3, degree - 1); },
            value(ts[slopes - 1]), ts, slopes);
        return std::fabs(got - value(ts.back()));
      };
      EXPECT_LT(error(order), 1e-14) << solver.name() << " " << order;
      EXPECT_GT(error(order + 1), 1e-9) << solver.name() << " " << order;
    }
}

// ---- steps by their errors

/// y' = -2 t y^2: 1 / (1 + t^2).
double hill(double t) { return 1 / (1 + t * t); }
const ode::OdeTerm hill_term{
    [](const Array& t, const Array& y, const None&) { return -2.0 * t * y * y; }};

struct Solved {
  double y, steps, rejected, evaluations;
};
Solved solve(const ode::Solver& solver, double tolerance) {
  const auto all = test::run_all(
      [&](const Array& y) {
        const auto sol =
            diffeqsolve(hill_term, solver, 0.0, 3.0, none, y, none,
                        {.controller = ode::PidController{.rtol = tolerance, .atol = tolerance}});
        return std::tuple{sol.y1, sol.stats.steps, sol.stats.rejected, sol.stats.evaluations};
      },
      f64(1.0));
  return {all[0][0], all[1][0], all[2][0], all[3][0]};
}

TEST(OdeAdams, ErrorsFollowTheTolerance) {
  for (double tolerance : {1e-4, 1e-6, 1e-8})
    for (int order : {3, 5, 8})
      for (const ode::Solver& solver :
           {ode::Solver(ode::AdamsBashforth(order)), ode::Solver(ode::AdamsMoulton(order)),
            ode::Solver(ode::Adams(order))})
        EXPECT_LT(std::fabs(solve(solver, tolerance).y - 0.1), 20 * tolerance)
            << solver.name() << " " << order << " " << tolerance;
}

TEST(OdeAdams, HigherOrdersTakeFewerSteps) {
  double before = INFINITY;
  for (int order : {3, 4, 6, 8}) {
    const Solved s = solve(ode::Adams(order), 1e-8);
    EXPECT_LT(s.steps, 0.9 * before) << order;
    EXPECT_LE(s.rejected, 6) << order;
    EXPECT_EQ(s.evaluations, 2 * s.steps + 2) << order;  // and two for the first step
    before = s.steps;
  }
  EXPECT_LT(before, 60);
}

TEST(OdeAdams, ValuesBetweenTheStepsAreThoseOfThePolynomial) {
  Numbers ts;
  for (int i = 1; i < 60; ++i) ts.push_back(0.05 * i);
  for (const ode::Solver& solver : {ode::Solver(ode::Adams()), ode::Solver(ode::AdamsBashforth(4)),
                                    ode::Solver(ode::AdamsMoulton(5))}) {
    const auto by_error = test::run(
        [&](const Array& y) {
          return diffeqsolve(hill_term, solver, 0.0, 3.0, none, y, none,
                             {.saveat = {.ts = ode::Times(ts)},
                              .controller = ode::PidController{.rtol = 1e-7, .atol = 1e-7}})
              .ys;
        },
        f64(1.0));
    const auto equal = test::run(
        [&](const Array& y) {
          return diffeqsolve(hill_term, solver, 0.0, 3.0, 0.02, y, none,
                             {.saveat = {.ts = ode::Times(ts)}})
              .ys;
        },
        f64(1.0));
    for (std::size_t i = 0; i < ts.size(); ++i) {
      EXPECT_NEAR(by_error[i], hill(ts[i]), 3e-6) << solver.name() << " " << ts[i];
      EXPECT_NEAR(equal[i], hill(ts[i]), 3e-6) << solver.name() << " " << ts[i];
    }
  }
}

TEST(OdeAdams, ValuesBetweenTheFirstStepsAreOnACubicThroughBothEnds) {
  // Where the slopes known are few: in the first of equal steps, which are those of RK4.
  std::vector<std::pair<double, double>> points;
  for (int n : {10, 20, 40}) {
    const double h = 1.0 / n;
    const auto got = test::run_all(
        [&](const Array& y) {
          const auto sol = diffeqsolve(hill_term, ode::AdamsMoulton(5), 0.0, 1.0, h, y, none,
                                       {.saveat = {.ts = {0.5 * h, h - 1e-9 * h}}});
          const auto steps = diffeqsolve(hill_term, ode::AdamsMoulton(5), 0.0, 1.0, h, y, none,
                                         {.saveat = {.steps = 1}, .max_steps = n});
          return std::tuple{sol.ys, steps.ys};
        },
        f64(1.0));
    EXPECT_NEAR(got[0][1], got[1][0], 1e-9 * h) << n;
    points.emplace_back(h, std::fabs(got[0][0] - hill(0.5 * h)));
  }
  EXPECT_NEAR(slope(points), 4, 0.2);
}

TEST(OdeAdams, TheWholeSolutionIsKeptFromTheFirstStepOn) {
  const Numbers ts{0.01, 0.05, 0.3, 0.77, 1.9};
  const auto got = test::run(
      [&](const Array& y) {
        const auto sol = diffeqsolve(hill_term, ode::AdamsMoulton(4), 0.0, 2.0, 0.02, y, none,
                                     {.saveat = {.dense = true}, .max_steps = 128});
        std::vector<Array> values;
        for (double t : ts) values.push_back(sol.interpolation->evaluate(t));
        return stack(values);
      },
      f64(1.0));
  for (std::size_t i = 0; i < ts.size(); ++i) EXPECT_NEAR(got[i], hill(ts[i]), 1e-6) << ts[i];
}

TEST(OdeAdams, DerivativesAreThoseOfTheSolution) {
  // y = 1 / (1 / start + t^2), so its derivative by the start is 1 / (1 + start t^2)^2.
  for (const ode::Solver& solver :
       {ode::Solver(ode::Adams()), ode::Solver(ode::AdamsBashforth(3))}) {
    const auto end = [&](const Array& y) {
      return diffeqsolve(hill_term, solver, 0.0, 3.0, none, y, none,
                         {.controller = ode::PidController{.rtol = 1e-9, .atol = 1e-9}})
          .y1;
    };
    const auto all = test::run_all(
        [&](const Array& y) {
          return std::tuple{jvp(end, y, ones_like(y)).second, grad(end)(y)};
        },
        f64(1.0));
    EXPECT_NEAR(all[0][0], 0.01, 1e-7) << solver.name();
    EXPECT_NEAR(all[1][0], all[0][0], 1e-14) << solver.name();
  }
}

TEST(OdeAdams, TheFirstStepsAreCountedAsAllOthers) {
  const auto solved = [](Dim bound) {
    return test::run_all(
        [&](const Array& y) {
          const auto sol = diffeqsolve(hill_term, ode::AdamsBashforth(4), 0.0, 1.0, 0.1, y, none,
                                       {.saveat = {.steps = 1}, .max_steps = bound});
          return std::tuple{sol.t1, sol.result, sol.stats.steps, sol.stats.evaluations, sol.count};
        },
        f64(1.0));
  };
  const auto expect = [&](Dim bound, double t1, ode::Result result, double steps,
                          double evaluations) {
    const auto got = solved(bound);
    EXPECT_NEAR(got[0][0], t1, 1e-15) << bound;
    EXPECT_EQ(static_cast<ode::Result>(got[1][0]), result) << bound;
    EXPECT_EQ(got[2][0], steps) << bound;
    EXPECT_EQ(got[3][0], evaluations) << bound;
    EXPECT_EQ(got[4][0], steps) << bound;
  };
  // Three steps of RK4, with the slopes at their ends.
  expect(64, 1, ode::Result::successful, 10, 1 + 3 * 5 + 7);
  expect(5, 0.5, ode::Result::max_steps_reached, 5, 1 + 3 * 5 + 2);
  expect(3, 0.3, ode::Result::max_steps_reached, 3, 1 + 3 * 5);
  expect(2, 0.2, ode::Result::max_steps_reached, 2, 1 + 2 * 5);
}

TEST(OdeAdams, EqualStepsAndGivenOnesAndBackwardOnesAgree) {
  const auto end = [](double from, double to, ode::FirstStep h, double start,
                      const ode::Controller& c) {
    return test::run(
        [&](const Array& y) {
          return diffeqsolve(hill_term, ode::AdamsMoulton(6), from, to, h, y, none,
                             {.controller = c})
              .y1;
        },
        f64(start))[0];
  };
  Numbers ts;
  for (int i = 0; i <= 50; ++i) ts.push_back(0.02 * i);
  ts.back() = 1;
  const double equal = end(0, 1, 0.02, 1, ode::ConstantStepSize{});
  EXPECT_NEAR(equal, 0.5, 1e-8);
  EXPECT_NEAR(end(0, 1, none, 1, ode::StepTo{ts}), equal, 1e-14);
  EXPECT_NEAR(end(1, 0, -0.02, 0.5, ode::ConstantStepSize{}), 1, 1e-8);
}

TEST(OdeAdams, StepsEndWhereTheyAreToldTo) {
  Numbers ts;
  for (int i = 1; i < 30; ++i) ts.push_back(0.1 * i);
  const auto run = [&](const ode::ClipStepSize& clip) {
    const auto all = test::run_all(
        [&](const Array& y) {
          const auto sol =
              diffeqsolve(hill_term, ode::Adams(), 0.0, 3.0, none, y, none, {.controller = clip});
          return std::tuple{sol.y1, sol.stats.steps};
        },
        f64(1.0));
    return std::pair{all[0][0], all[1][0]};
  };
  const ode::PidController pid{.rtol = 1e-6, .atol = 1e-6};
  const auto stepped = run({pid, ts, {}});
  EXPECT_NEAR(stepped.first, 0.1, 1e-5);
  EXPECT_LT(stepped.second, 70);
  // Behind a jump it begins with two slopes.
  const auto jumped = run({pid, {}, ts});
  EXPECT_NEAR(jumped.first, 0.1, 3e-5);
  EXPECT_GT(jumped.second, stepped.second);
}

TEST(OdeAdams, LanesTakeTheStepsThatTheyTakeAlone) {
  const Numbers starts{0.5, 1, 3};
  for (const bool by_errors : {true, false}) {
    const auto one = [&](const Array& y) {
      const auto sol =
          by_errors ? diffeqsolve(hill_term, ode::Adams(), 0.0, 3.0, none, y, none,
                                  {.controller = ode::PidController{.rtol = 1e-6, .atol = 1e-6}})
                    : diffeqsolve(hill_term, ode::AdamsBashforth(3), 0.0, 3.0, 0.05, y);
      return std::tuple{sol.y1, sol.stats.steps};
    };
    const auto together = test::run_all([&](const Array& y) { return vmap(one)(y); }, f64(starts));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const auto alone = test::run_all(one, f64(starts[i]));
      EXPECT_EQ(together[0][i], alone[0][0]) << starts[i];
      EXPECT_EQ(together[1][i], alone[1][0]) << starts[i];
    }
    EXPECT_EQ(together[1][0] != together[1][2], by_errors);
  }
}

TEST(OdeAdams, SaysWhatIsWrong) {
  const auto complaint = [](const ode::Solver& s) {
    return test::usage_error_of(
        [&](const Array& y) { return diffeqsolve(hill_term, s, 0.0, 1.0, 0.1, y).y1; }, f64(1.0));
  };
  EXPECT_THAT(complaint(ode::AdamsBashforth(9)),
              HasSubstr("the order of AdamsBashforth is 9; there are orders 1 to 8"));
  EXPECT_THAT(complaint(ode::AdamsMoulton(0)),
              HasSubstr("the order of AdamsMoulton is 0; there are orders 1 to 8"));
  EXPECT_THAT(complaint(ode::Adams(13)),
              HasSubstr("max_order of Adams is 13; there are orders 2 to 12"));
}

}  // namespace
}  // namespace gnomon::testing
