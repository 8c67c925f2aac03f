// tests/engine/ode_stiff_test.cpp -- the problems that stiff solvers are tried on: errors where the
// solve ends against the tolerance asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"
#include "tests/support/stiff_problems.h"

namespace gnomon::testing {
namespace {

// ---- the end of the Brusselator

/// By small steps of the classical method on the host.
Numbers brusselator_end(int steps) {
  using P = stiff::Brusselator;
  constexpr int points = P::points;
  const auto slope_at = [](const Numbers& y) {
    Numbers f(2 * points);
    const auto u = [&](int i) { return i < 0 || i >= points ? 1 : y[static_cast<std::size_t>(i)]; };
    const auto v = [&](int i) {
      return i < 0 || i >= points ? 3 : y[static_cast<std::size_t>(points + i)];
    };
    for (int i = 0; i < points; ++i) {
      const double r = u(i) * u(i) * v(i);
      f[static_cast<std::size_t>(i)] =
          1 + r - 4 * u(i) + P::diffusion * (u(i - 1) - 2 * u(i) + u(i + 1));
      f[static_cast<std::size_t>(points + i)] =
          3 * u(i) - r + P::diffusion * (v(i - 1) - 2 * v(i) + v(i + 1));
    }
    return f;
  };
  const auto along = [](Numbers y, double h, const Numbers& k) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += h * k[i];
    return y;
  };
  Numbers y(P::start.begin(), P::start.end());
  const double h = P::end / steps;
  for (int n = 0; n < steps; ++n) {
    const Numbers a = slope_at(y), b = slope_at(along(y, h / 2, a)),
                  c = slope_at(along(y, h / 2, b)), d = slope_at(along(y, h, c));
    y = along(along(along(along(y, h / 6, a), h / 3, b), h / 3, c), h / 6, d);
  }
  return y;
}

TEST(OdeStiff, ReferenceOfTheBrusselator) {
  const Numbers end = brusselator_end(8000);
  for (std::size_t i = 0; i < end.size(); ++i)
    EXPECT_NEAR(end[i], stiff::Brusselator::want[i], 1e-13);
}

// ---- solves

/// One of stiff_problems.h without its type.
struct Problem {
  const char* name;
  Numbers start;
  double end, scale;
  Numbers want;
  Handler<Array(const Array&, const Array&)> field;
};

template <class P>
Problem of(const P& field) {
  return {P::name,
          {P::start.begin(), P::start.end()},
          P::end,
          P::scale,
          {P::want.begin(), P::want.end()},
          [=](const Array& t, const Array& y) {
            std::vector<Array> d(P::start.size());
            field(t, y, d);
            return stack(d);
          }};
}

struct Solved {
  Numbers y;
  ode::Result result;
};

Solved solve(const Problem& p, const ode::Solver& solver, double tolerance) {
  const ode::OdeTerm term{
      [&](const Array& t, const Array& y, const None&) { return p.field(t, y); }};
  const auto all = test::run_all(
      [&](const Array& y0) {
        const auto sol = ode::diffeqsolve(
            term, solver, 0.0, p.end, none, y0, none,
            {.controller = ode::PidController{.rtol = tolerance, .atol = tolerance * p.scale},
             .max_steps = 20000});
        return std::tuple{sol.y1, sol.result};
      },
      f64(p.start));
  return {all[0], static_cast<ode::Result>(static_cast<int>(all[1][0]))};
}

void expect_solved(const Problem& p, const ode::Solver& solver, double tolerance) {
  const Solved s = solve(p, solver, tolerance);
  EXPECT_EQ(s.result, ode::Result::successful) << p.name << ", " << solver.name();
  double worst = 0;
  for (std::size_t i = 0; i < p.want.size(); ++i)
    worst = std::max(worst, std::fabs(s.y[i] - p.want[i]) / (p.scale + std::fabs(p.want[i])));
  EXPECT_LT(worst, 100 * tolerance) << p.name << ", " << solver.name();
}

std::vector<ode::Solver> solvers() {
  return {ode::Kvaerno5(), ode::Rodas5P(), ode::KenCarp5(), ode::BDF()};
}

TEST(OdeStiff, Robertson) {
  for (const ode::Solver& s : solvers()) expect_solved(of(stiff::Robertson{}), s, 1e-5);
}
TEST(OdeStiff, VanDerPol) {
  for (const ode::Solver& s : solvers()) expect_solved(of(stiff::VanDerPol{}), s, 1e-5);
}
TEST(OdeStiff, Hires) {
  for (const ode::Solver& s : solvers()) expect_solved(of(stiff::Hires{}), s, 1e-5);
}
TEST(OdeStiff, Orego) {
  for (const ode::Solver& s : solvers()) expect_solved(of(stiff::Orego{}), s, 1e-5);
}
TEST(OdeStiff, Pollution) {
  for (const ode::Solver& s : solvers()) expect_solved(of(stiff::Pollution{}), s, 1e-5);
}
TEST(OdeStiff, Brusselator) {
  for (const ode::Solver& s : solvers()) expect_solved(of(stiff::Brusselator{}), s, 1e-5);
}

TEST(OdeStiff, SlowLooseAndTightTolerances) {
  stiff::for_each([](const auto& field) {
    const Problem problem = of(field);
    for (const ode::Solver& s : solvers()) expect_solved(problem, s, 1e-3);
    for (const ode::Solver& s : {ode::Solver(ode::Kvaerno5()), ode::Solver(ode::Rodas5P())})
      expect_solved(problem, s, 1e-8);
  });
}

}  // namespace
}  // namespace gnomon::testing
