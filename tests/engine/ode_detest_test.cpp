// tests/engine/ode_detest_test.cpp -- DETEST's problems: errors where the solve ends against the
// tolerance asked for.
#include <gtest/gtest.h>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/ode_host.h"
#include "tests/support/detest.h"

namespace gnomon::testing {
namespace {

const Numbers tolerances{1e-3, 1e-6, 1e-9};

struct Solved {
  std::vector<Numbers> y1;  // [tolerance][component]
  Numbers steps;            // [tolerance]
};

/// One solve per tolerance, lanes of one vmap. A tolerance is what it is in DETEST: of the error
/// per step in the largest component.
Solved solve(const detest::Problem<Array>& p, const ode::Solver& solver) {
  const auto one = [&](const Array& tolerance) {
    std::vector<Array> y0;
    for (double x : p.start) y0.push_back(full({}, x, DType::f64));
    const auto field = [&](const Array& t, const std::vector<Array>& y, const None&) {
      return p.field(t, y);
    };
    const auto sol = ode::diffeqsolve(
        ode::OdeTerm{field}, solver, 0.0, detest::end, none, y0, none,
        {.controller = ode::PidController{.rtol = 0.0, .atol = tolerance, .norm = ode::max_norm},
         .max_steps = 100000});
    return std::tuple{stack(sol.y1), sol.stats.steps, sol.result};
  };
  const std::vector<Numbers> out =
      test::run_all([&](const Array& t) { return vmap(one)(t); }, f64(tolerances));
  Solved s;
  const auto n = static_cast<std::ptrdiff_t>(p.start.size());
  for (std::ptrdiff_t i = 0; i < 3; ++i)
    s.y1.emplace_back(out[0].begin() + i * n, out[0].begin() + (i + 1) * n);
  s.steps = out[1];
  EXPECT_EQ(out[2], Numbers(3, 0)) << p.name << " by " << solver.name();
  return s;
}

/// All problems of one class end within so many tolerances of what they come to.
void expect_solutions(char of, double allowed) {
  const auto problems = detest::problems<Array>();
  const auto exact = detest::problems<long double>();
  for (std::size_t n = 0; n < problems.size(); ++n) {
    const auto& problem = problems[n];
    if (problem.name[0] != of) continue;
    const Numbers want = detest::reference(exact[n]);
    for (const ode::Solver& solver : {ode::Solver(ode::Tsit5()), ode::Solver(ode::Dopri8()),
                                      ode::Solver(ode::Vern7()), ode::Solver(ode::Adams())}) {
      const Solved got = solve(problem, solver);
      for (std::size_t k = 0; k < 3; ++k) {
        const double tolerance = tolerances[k];
        double worst = 0;
        for (std::size_t i = 0; i < want.size(); ++i)
          worst = std::max(worst, std::fabs(got.y1[k][i] - want[i]) /
                                      (tolerance * std::max(1.0, std::fabs(want[i]))));
        EXPECT_LE(worst, allowed) << problem.name << " by " << solver.name() << " at " << tolerance;
      }
    }
  }
}

TEST(OdeDetest, SingleEquations) { expect_solutions('A', 100); }
TEST(OdeDetest, SmallSystems) { expect_solutions('B', 100); }
TEST(OdeDetest, ModerateSystems) { expect_solutions('C', 100); }
// Here errors of steps add up.
TEST(OdeDetest, Orbits) { expect_solutions('D', 500); }
TEST(OdeDetest, EquationsOfSecondOrder) { expect_solutions('E', 100); }

}  // namespace
}  // namespace gnomon::testing
