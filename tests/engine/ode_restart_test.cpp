// tests/engine/ode_restart_test.cpp -- solves that go on where others ended, with the same numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ::testing::HasSubstr;

/// y' = -2 t y^2: 1 / (1 + t^2).
const ode::OdeTerm hill_term{
    [](const Array& t, const Array& y, const None&) { return -2.0 * t * y * y; }};

const ode::PidController smooth{
    .rtol = 1e-6, .atol = 1e-6, .pcoeff = 0.3, .icoeff = 0.4, .dcoeff = 0.1};

const std::vector<ode::Solver>& solvers() {
  static const std::vector<ode::Solver> all{
      ode::Tsit5(), ode::Heun(),          ode::Kvaerno3(), ode::BDF(),
      ode::Adams(), ode::AdamsMoulton(4), ode::Rodas5P(),  ode::HalfSolver(ode::RK4())};
  return all;
}

TEST(OdeRestart, OfAnEndIsWhatWouldHaveComeNext) {
  const ode::ClipStepSize both{.controller = smooth, .step_ts = {1.25, 2}};
  for (const ode::Solver& solver : solvers()) {
    const auto all = test::run_all(
        [&](const Array& y) {
          const auto whole =
              diffeqsolve(hill_term, solver, 0.0, 3.0, none, y, none, {.controller = both});
          const auto first =
              diffeqsolve(hill_term, solver, 0.0, 1.25, none, y, none,
                          {.saveat = {.t1 = true, .solver_state = true}, .controller = smooth});
          const auto second = diffeqsolve(hill_term, solver, first.t1, 3.0, none, first.y1, none,
                                          {.controller = both, .solver_state = first.solver_state});
          return std::tuple{whole.y1,
                            second.y1,
                            whole.stats.steps,
                            first.stats.steps,
                            second.stats.steps,
                            whole.stats.evaluations,
                            first.stats.evaluations + second.stats.evaluations};
        },
        f64(1.0));
    EXPECT_NEAR(all[0][0], 0.1, 1e-4) << solver.name();
    EXPECT_EQ(all[0][0], all[1][0]) << solver.name();
    EXPECT_EQ(all[2][0], all[3][0] + all[4][0]) << solver.name();
    EXPECT_GT(all[4][0], 2) << solver.name();
    EXPECT_EQ(all[5][0], all[6][0]) << solver.name();
  }
}

TEST(OdeRestart, OfABoundOfStepsIsWhatWouldHaveComeNext) {
  for (const ode::Solver& solver : solvers()) {
    const auto all = test::run_all(
        [&](const Array& y) {
          const auto whole =
              diffeqsolve(hill_term, solver, 3.0, 0.0, none, y, none, {.controller = smooth});
          const auto first = diffeqsolve(
              hill_term, solver, 3.0, 0.0, none, y, none,
              {.saveat = {.t1 = true, .solver_state = true}, .controller = smooth, .max_steps = 5});
          const auto second =
              diffeqsolve(hill_term, solver, first.t1, 0.0, none, first.y1, none,
                          {.controller = smooth, .solver_state = first.solver_state});
          return std::tuple{whole.y1, second.y1, whole.stats.steps, second.stats.steps};
        },
        f64(0.1));
    EXPECT_NEAR(all[0][0], 1, 2e-3) << solver.name();
    EXPECT_EQ(all[0][0], all[1][0]) << solver.name();
    EXPECT_EQ(all[2][0], 5 + all[3][0]) << solver.name();
  }
}

TEST(OdeRestart, EqualStepsGoOnWithTheirHistory) {
  const auto all = test::run_all(
      [&](const Array& y) {
        const ode::AdamsBashforth solver(4);
        const auto whole = diffeqsolve(hill_term, solver, 0.0, 2.0, 0.125, y);
        const auto first = diffeqsolve(hill_term, solver, 0.0, 1.0, 0.125, y, none,
                                       {.saveat = {.t1 = true, .solver_state = true}});
        const auto second = diffeqsolve(hill_term, solver, 1.0, 2.0, 0.125, first.y1, none,
                                        {.solver_state = first.solver_state});
        return std::tuple{whole.y1, second.y1, second.stats.evaluations};
      },
      f64(1.0));
  EXPECT_NEAR(all[1][0], all[0][0], 1e-15);
  EXPECT_EQ(all[2][0], 8);
}

TEST(OdeRestart, SaysWhatIsWrong) {
  const auto complaint = [](const ode::Solver& before, const ode::Solver& after,
                            const ode::Controller& controller) {
    return test::usage_error_of(
        [&](const Array& y) {
          const auto first = diffeqsolve(hill_term, before, 0.0, 1.0, none, y, none,
                                         {.saveat = {.solver_state = true}, .controller = smooth});
          return diffeqsolve(hill_term, after, 1.0, 2.0, none, first.y1, none,
                             {.controller = controller, .solver_state = first.solver_state})
              .y1;
        },
        f64(1.0));
  };
  EXPECT_THAT(complaint(ode::Tsit5(), ode::Adams(), smooth),
              HasSubstr("solver_state is not one of Adams for this state"));
  EXPECT_THAT(
      complaint(ode::Tsit5(), ode::Tsit5(), ode::PidController{.rtol = 1e-6, .atol = 1e-6}),
      HasSubstr("solver_state is of a controller that carries 2 numbers from step to step, and "
                "this PidController carries 0"));
}

}  // namespace
}  // namespace gnomon::testing
