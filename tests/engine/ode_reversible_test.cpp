// tests/engine/ode_reversible_test.cpp -- ReversibleHeun and LeapfrogMidpoint: their steps written
// out in plain C++, orders, error estimates, and ensembles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"
#include "tests/engine/ode_orders.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ::testing::HasSubstr;

/// y' = -2 t y^2 from y(0) = 1: 1 / (1 + t^2).
const ode::OdeTerm hill{
    [](const Array& t, const Array& y, const None&) { return -2.0 * t * y * y; }};
double hill_slope(double t, double y) { return -2 * t * y * y; }

/// {y1 | rows, steps, accepted, evaluations}.
std::vector<Numbers> run_hill(const ode::Solver& solver, double t0, double t1,
                              const ode::FirstStep& dt0, double y0,
                              const ode::SolveOptions& options = {}) {
  return test::run_all(
      [&](const Array& y) {
        const auto sol = diffeqsolve(hill, solver, t0, t1, dt0, y, none, options);
        return std::tuple{options.saveat.ts.empty() ? sol.y1 : sol.ys, sol.stats.steps,
                          sol.stats.accepted, sol.stats.evaluations};
      },
      f64(y0));
}

/// A step of ReversibleHeun. Source: as the method, algorithm 1.
struct HeunState {
  double y, second, slope, error = 0;
};
HeunState heun_step(const HeunState& s, double t1, double h) {
  const double second = 2 * s.y - s.second + h * s.slope, slope = hill_slope(t1, second);
  return {s.y + h / 2 * (s.slope + slope), second, slope, h / 2 * (slope - s.slope)};
}

TEST(OdeReversible, HeunTakesTheStepsOfTheAlgorithm) {
  for (const double sign : {1.0, -1.0}) {
    HeunState s{1, 1, 0};
    for (int i = 0; i < 100; ++i) s = heun_step(s, sign * (i + 1) * 0.02, sign * 0.02);
    const auto got = run_hill(ode::ReversibleHeun(), 0, 2 * sign, sign * 0.02, 1);
    EXPECT_NEAR(got[0][0], s.y, 1e-14) << sign;
    EXPECT_EQ(got[3][0], 101);
    EXPECT_NEAR(s.y, 0.2, 1e-3);
  }
}

TEST(OdeReversible, HeunChoosesItsStepsByTheEmbeddedError) {
  const double tolerance = 1e-5;
  double t = 0, h = 0.01;
  HeunState s{1, 1, 0};
  int steps = 0, accepted = 0;
  for (; t < 2; ++steps) {
    const double next = std::min(t + h, 2.0), length = next - t;
    const HeunState there = heun_step(s, next, length);
    const double e = std::fabs(there.error) /
                     (tolerance + tolerance * std::max(std::fabs(s.y), std::fabs(there.y)));
    const bool keep = e < 1;
    h = length * std::clamp(0.9 / std::sqrt(e), keep ? 1 : 0.2, keep ? 10 : 0.9);
    if (!keep) continue;
    t = next, s = there, ++accepted;
  }
  const auto got =
      run_hill(ode::ReversibleHeun(), 0, 2, 0.01, 1,
               {.controller = ode::PidController{.rtol = tolerance, .atol = tolerance}});
  EXPECT_EQ(got[1][0], steps);
  EXPECT_EQ(got[2][0], accepted);
  EXPECT_NEAR(got[0][0], s.y, 1e-10);
  EXPECT_NEAR(got[0][0], 0.2, 1e-3);
}

TEST(OdeReversible, LeapfrogTakesTheStepsOfTheFormula) {
  for (const double sign : {1.0, -1.0}) {
    double before = 1, y = 1, t_before = 0;
    for (int i = 0; i < 20; ++i) {
      const double t = sign * i * 0.1, t1 = sign * (i + 1) * 0.1;
      const double next = before + (t1 - t_before) * hill_slope(t, y);
      before = y, t_before = t, y = next;
    }
    const auto got = run_hill(ode::LeapfrogMidpoint(), 0, 2 * sign, sign * 0.1, 1);
    EXPECT_NEAR(got[0][0], y, 1e-14) << sign;
    EXPECT_EQ(got[3][0], 20);
  }
  // Of steps that are not equal.
  const Numbers ts{0, 0.1, 0.25, 0.3, 0.5};
  double before = 1, y = 1;
  for (std::size_t i = 0; i + 1 < ts.size(); ++i) {
    const double next = before + (ts[i + 1] - ts[i == 0 ? 0 : i - 1]) * hill_slope(ts[i], y);
    before = y, y = next;
  }
  EXPECT_NEAR(run_hill(ode::LeapfrogMidpoint(), 0, 0.5, none, 1,
                       {.controller = ode::StepTo{ode::Times(ts)}})[0][0],
              y, 1e-15);
}

TEST(OdeReversible, OrdersAreTwoAtAndBetweenTheEndsOfSteps) {
  for (const ode::Solver& solver :
       {ode::Solver(ode::ReversibleHeun()), ode::Solver(ode::LeapfrogMidpoint())}) {
    EXPECT_EQ(solver.order(), 2);
    EXPECT_NEAR(slope(errors(solver, short_way, {64, 128, 256})), 2, 0.1) << solver.name();
    EXPECT_NEAR(slope(errors(solver, short_way, {64, 128, 256}, 0.4)), 2, 0.1) << solver.name();
  }
}

TEST(OdeReversible, LanesTakeTheirOwnSteps) {
  const auto end = [](const Array& y) {
    const auto sol = diffeqsolve(decay, ode::ReversibleHeun(), 0.0, 1.0, 0.1, y, none,
                                 {.controller = ode::PidController{.rtol = 0, .atol = 1e-4}});
    return std::pair{sol.y1, sol.stats.steps};
  };
  const Numbers starts{0.01, 1, 100};
  const auto all = test::run_all(vmap(end), f64(starts));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto one = test::run_all(end, f64(starts[i]));
    EXPECT_EQ(all[0][i], one[0][0]);
    EXPECT_EQ(all[1][i], one[1][0]);
    EXPECT_NEAR(all[0][i], starts[i] * std::exp(-1), 3e-3);
  }
  EXPECT_LT(all[1][0], all[1][2]);
}

TEST(OdeReversible, SaysWhatItCannot) {
  const auto text = [](const ode::Solver& solver, const ode::Controller& controller) {
    return test::usage_error_of(
        [&](const Array& y) {
          return diffeqsolve(decay, solver, 0.0, 1.0, 0.1, y, none, {.controller = controller}).y1;
        },
        f64(1.0));
  };
  const ode::PidController pid{.rtol = 1e-3, .atol = 1e-3};
  EXPECT_THAT(text(ode::LeapfrogMidpoint(), pid),
              HasSubstr("LeapfrogMidpoint has no estimate of its error"));
  EXPECT_THAT(text(ode::HalfSolver(ode::LeapfrogMidpoint()), pid),
              HasSubstr("LeapfrogMidpoint looks back at earlier steps"));
}

}  // namespace
}  // namespace gnomon::testing
