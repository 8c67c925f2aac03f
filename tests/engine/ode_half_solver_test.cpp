// tests/engine/ode_half_solver_test.cpp -- step doubling: what two halves are, the error they tell
// of, and which methods have halves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ode::HalfSolver;
using ::testing::HasSubstr;

/// y' = -2 t y^2: 1 / (1 + t^2).
double hill_at(double t) { return 1 / (1 + t * t); }
const ode::OdeTerm hill_term{
    [](const Array& t, const Array& y, const None&) { return -2.0 * t * y * y; }};
double hill_slope(double t, double y) { return -2 * t * y * y; }

TEST(OdeHalfSolver, IsTwiceAsManyStepsOfTheMethod) {
  for (const ode::Solver& solver :
       {ode::Solver(ode::Euler()), ode::Solver(ode::RK4()), ode::Solver(ode::Tsit5())}) {
    const auto end = [&](const ode::Solver& s, double h) {
      return test::run_all(
          [&](const Array& y) {
            const auto sol = diffeqsolve(hill_term, s, 0.0, 2.0, h, y);
            return std::tuple{sol.y1, sol.stats.evaluations};
          },
          f64(1.0));
    };
    const auto halves = end(HalfSolver(solver), 0.25), plain = end(solver, 0.125);
    EXPECT_DOUBLE_EQ(halves[0][0], plain[0][0]) << solver.name();
    EXPECT_EQ(2 * halves[1][0], 3 * plain[1][0]) << solver.name();
  }
}

TEST(OdeHalfSolver, TheErrorIsTheDifferenceToTheWholeStep) {
  // Euler's method with steps by that, written out.
  const double tolerance = 1e-4;
  double t = 0, y = 1, h = 0.01;
  int steps = 0;
  while (t < 2) {
    const double next = std::min(t + h, 2.0), length = next - t;
    const double whole = y + length * hill_slope(t, y), half = y + length / 2 * hill_slope(t, y);
    const double halves = half + length / 2 * hill_slope(t + length / 2, half);
    const double e = std::fabs(halves - whole) / (tolerance + tolerance * std::max(y, halves));
    const double factor = 0.9 / std::sqrt(e);
    h = length * (e < 1 ? std::clamp(factor, 1.0, 10.0) : std::clamp(factor, 0.2, 0.9));
    if (e < 1) t = next, y = halves;
    ++steps;
  }
  const auto got = test::run_all(
      [&](const Array& start) {
        const auto sol =
            diffeqsolve(hill_term, HalfSolver(ode::Euler()), 0.0, 2.0, 0.01, start, none,
                        {.controller = ode::PidController{.rtol = tolerance, .atol = tolerance}});
        return std::tuple{sol.y1, sol.stats.steps};
      },
      f64(1.0));
  EXPECT_NEAR(got[0][0], y, 1e-12);
  EXPECT_EQ(got[1][0], steps);
  EXPECT_NEAR(y, hill_at(2), 20 * tolerance);
}

TEST(OdeHalfSolver, MethodsWithoutAnEstimateChooseTheirSteps) {
  const ode::PidController pid{.rtol = 1e-6, .atol = 1e-6};
  struct Spring {
    Array v, x;
  };
  const auto along = [](const Array&, const Array& v, const None&) { return v; };
  const auto against = [](const Array&, const Array& x, const None&) { return -x; };
  const ode::PartitionedTerm spring(ode::OdeTerm{against}, ode::OdeTerm{along});
  for (const ode::Solver& solver :
       {ode::Solver(ode::VelocityVerlet()), ode::Solver(ode::Yoshida4())}) {
    const double x = test::run(
        [&](const Array& one) {
          return diffeqsolve(spring, HalfSolver(solver), 0.0, 3.0, none,
                             Spring{zeros_like(one), one}, none,
                             {.controller = pid, .max_steps = 10000})
              .y1.x;
        },
        f64(1.0))[0];
    EXPECT_NEAR(x, std::cos(3.0), 1e-4) << solver.name();
  }
  for (const ode::Solver& solver :
       {ode::Solver(ode::RK4()), ode::Solver(ode::Kvaerno3()), ode::Solver(ode::Rosenbrock23())}) {
    const double y = test::run(
        [&](const Array& one) {
          return diffeqsolve(hill_term, HalfSolver(solver), 0.0, 3.0, none, one, none,
                             {.controller = pid})
              .y1;
        },
        f64(1.0))[0];
    EXPECT_NEAR(y, 0.1, 1e-5) << solver.name();
  }
}

TEST(OdeHalfSolver, ValuesBetweenTheStepsMeetTheirEnds) {
  const auto all = test::run_all(
      [](const Array& y) {
        const auto kept = diffeqsolve(hill_term, HalfSolver(ode::Heun()), 0.0, 2.0, 0.2, y, none,
                                      {.saveat = {.steps = 1}, .max_steps = 10});
        const auto between =
            diffeqsolve(hill_term, HalfSolver(ode::Heun()), 0.0, 2.0, 0.2, y, none,
                        {.saveat = {.ts = {0.3, 0.4 - 1e-12, 0.4 + 1e-12, 0.8 - 1e-12}}});
        return std::tuple{kept.ys, between.ys};
      },
      f64(1.0));
  EXPECT_NEAR(all[1][0], hill_at(0.3), 1e-3);
  EXPECT_NEAR(all[1][1], all[0][1], 1e-11);
  EXPECT_NEAR(all[1][2], all[0][1], 1e-11);
  EXPECT_NEAR(all[1][3], all[0][3], 1e-11);
}

TEST(OdeHalfSolver, PathsAreFollowedByHalves) {
  const auto drift = [](const Array&, const Array& y, const None&) { return 0.5 - y; };
  const auto diffusion = [](const Array&, const Array& y, const None&) { return cos(y); };
  const auto end = [&](const ode::Solver& solver, double h) {
    return test::run(
        [&](const Array& y) {
          const ode::VirtualBrownianTree path(0.0, 1.0, 1e-3, zeros({}, DType::f64),
                                              random::key(3));
          return diffeqsolve(ode::MultiTerm(ode::OdeTerm{drift}, ode::ControlTerm(diffusion, path)),
                             solver, 0.0, 1.0, h, y)
              .y1;
        },
        f64(0.4))[0];
  };
  EXPECT_NEAR(end(HalfSolver(ode::EulerHeun()), 0.125), end(ode::EulerHeun(), 0.0625), 1e-14);
  // A Runge-Kutta method is one for paths where there are any.
  EXPECT_NEAR(end(HalfSolver(ode::Heun()), 0.125), end(ode::Heun(), 0.0625), 1e-14);
}

TEST(OdeHalfSolver, SaysWhatIsWrong) {
  const auto complaint = [](const ode::Solver& s) {
    return test::usage_error_of(
        [&](const Array& y) {
          return diffeqsolve(hill_term, HalfSolver(s), 0.0, 1.0, 0.1, y, none,
                             {.controller = ode::PidController{.rtol = 1e-3, .atol = 1e-3}})
              .y1;
        },
        f64(1.0));
  };
  EXPECT_THAT(complaint(ode::BDF()), HasSubstr("HalfSolver(BDF): BDF looks back at earlier steps"));
  EXPECT_THAT(complaint(ode::Adams()),
              HasSubstr("HalfSolver(Adams): Adams looks back at earlier steps"));
  EXPECT_THAT(complaint(ode::SemiImplicitEuler()), HasSubstr("write PartitionedTerm("));
}

}  // namespace
}  // namespace gnomon::testing
