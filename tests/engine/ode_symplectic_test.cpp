// tests/engine/ode_symplectic_test.cpp -- methods that move halves of a state in turn: orders,
// energies, the way back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/ode_host.h"
#include "tests/engine/ode_orders.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ode::OdeTerm;
using ::testing::HasSubstr;

struct Plane {
  Array x, y;
};
struct Body {
  Plane velocity, place;
};

/// A body that goes around another one.
const ode::PartitionedTerm orbit(OdeTerm{[](const Array&, const Plane& q, const None&) {
                                   const Array r2 = q.x * q.x + q.y * q.y, r3 = r2 * sqrt(r2);
                                   return Plane{-q.x / r3, -q.y / r3};
                                 }},
                                 OdeTerm{
                                     [](const Array&, const Plane& p, const None&) { return p; }});
Body start(const Array& x, const Array& v) { return {{zeros_like(x), v}, {x, zeros_like(x)}}; }
const auto closest = [](double e) { return f64(1 - e); };
const auto fastest = [](double e) { return f64(std::sqrt((1 + e) / (1 - e))); };

/// {ts, ys.place.x, ys.place.y} at all times of `at`.
std::vector<Numbers> orbit_by(const ode::Solver& solver, const Ellipse& ellipse, int n,
                              const ode::SaveAt& at) {
  return test::run_all(
      [&](const Array& x, const Array& v) {
        const auto sol = diffeqsolve(orbit, solver, 0.0, ellipse.end, ellipse.end / n, start(x, v),
                                     none, {.saveat = at, .max_steps = n});
        return std::tuple{sol.ts, sol.ys.place.x, sol.ys.place.y};
      },
      closest(ellipse.eccentricity), fastest(ellipse.eccentricity));
}
double error_of(const std::vector<Numbers>& rows, double eccentricity) {
  double sum = 0;
  for (std::size_t k = 0; k < rows[0].size(); ++k) {
    const auto [x, y] = place(rows[0][k], eccentricity);
    sum += std::pow(rows[1][k] - x, 2) + std::pow(rows[2][k] - y, 2);
  }
  return std::sqrt(sum / static_cast<double>(rows[0].size()));
}

TEST(OdeSymplectic, MethodsHaveTheirOrders) {
  struct Case {
    ode::Solver solver;
    double tolerance;
    Ellipse ellipse;
    std::vector<int> steps;
  };
  for (const Case& c : {Case{ode::SemiImplicitEuler(), 0.1, short_way, {200, 400, 800}},
                        Case{ode::VelocityVerlet(), 0.1, short_way, {40, 80, 160}},
                        Case{ode::Yoshida4(), 0.1, longer, {80, 160, 320}},
                        Case{ode::Yoshida6(), 0.3, longer, {40, 60, 80, 120}},
                        Case{ode::Yoshida8(), 0.3, longest, {40, 50, 60, 80}}}) {
    std::vector<std::pair<double, double>> points;
    for (int n : c.steps)
      points.emplace_back(
          c.ellipse.end / n,
          error_of(orbit_by(c.solver, c.ellipse, n, {.steps = 1}), c.ellipse.eccentricity));
    EXPECT_NEAR(slope(points), c.solver.order(), c.tolerance) << c.solver.name();
  }
}

TEST(OdeSymplectic, ValuesBetweenTheStepsAreCubic) {
  std::vector<std::pair<double, double>> points;
  for (int n : {10, 20, 40}) {
    Numbers ts;
    for (int k = 0; k < n; ++k) ts.push_back((k + 0.5) / n);
    const auto rows = orbit_by(ode::Yoshida6(), short_way, n, {.ts = ode::Times(ts)});
    points.emplace_back(1.0 / n, error_of(rows, short_way.eccentricity));
  }
  EXPECT_NEAR(slope(points), 4, 0.1);
}

// ---- a spring

struct Spring {
  Array v, x;
};
const ode::PartitionedTerm spring(
    OdeTerm{[](const Array&, const Array& x, const None&) { return -x; }},
    OdeTerm{[](const Array&, const Array& v, const None&) { return v; }});

TEST(OdeSymplectic, EnergiesStayNearOnLongWays) {
  // 100 periods of an ellipse by 60 steps each.
  const int periods = 100, n = 60 * periods;
  const double end = 2 * std::numbers::pi * periods, e = 0.2;
  const auto energies = [&](const auto& term, const ode::Solver& solver) {
    const auto all = test::run_all(
        [&](const Array& x, const Array& v) {
          const auto ys = diffeqsolve(term, solver, 0.0, end, end / n, start(x, v), none,
                                      {.saveat = {.steps = 10}, .max_steps = n})
                              .ys;
          return std::tuple{ys.velocity.x, ys.velocity.y, ys.place.x, ys.place.y};
        },
        closest(e), fastest(e));
    Numbers off;
    for (std::size_t i = 0; i < all[0].size(); ++i)
      off.push_back(std::fabs((std::pow(all[0][i], 2) + std::pow(all[1][i], 2)) / 2 -
                              1 / std::hypot(all[2][i], all[3][i]) + 0.5));
    const auto half = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
    return std::pair{*std::max_element(off.begin(), half), *std::max_element(half, off.end())};
  };
  for (const ode::Solver& solver :
       {ode::Solver(ode::SemiImplicitEuler()), ode::Solver(ode::VelocityVerlet()),
        ode::Solver(ode::Yoshida4()), ode::Solver(ode::Yoshida8())}) {
    const auto [first, second] = energies(orbit, solver);
    EXPECT_LT(second, 1.2 * first + 1e-12) << solver.name();
  }
  EXPECT_LT(energies(orbit, ode::VelocityVerlet()).second, 3e-3);
  EXPECT_LT(energies(orbit, ode::Yoshida8()).second, 1e-7);
  // Of one that is not symplectic it grows.
  const auto [first, second] = energies(ode::to_ode(orbit), ode::RK4());
  EXPECT_GT(second, 1.8 * first);
}

TEST(OdeSymplectic, OneStepIsWhatTheMethodSays) {
  const auto step = [](const ode::Solver& solver) {
    return test::run_all(
        [&](const Array& v, const Array& x) {
          const auto sol = diffeqsolve(spring, solver, 0.0, 0.1, 0.1, Spring{v, x});
          return std::tuple{sol.y1.v, sol.y1.x, sol.stats.evaluations};
        },
        f64(0.5), f64(1.0));
  };
  const auto euler = step(ode::SemiImplicitEuler());
  EXPECT_DOUBLE_EQ(euler[0][0], 0.4);
  EXPECT_DOUBLE_EQ(euler[1][0], 1.04);
  EXPECT_EQ(euler[2][0], 2);
  const auto verlet = step(ode::VelocityVerlet());
  EXPECT_DOUBLE_EQ(verlet[1][0], 1 + 0.1 * 0.45);
  EXPECT_DOUBLE_EQ(verlet[0][0], 0.45 - 0.05 * 1.045);
  EXPECT_EQ(verlet[2][0], 3);  // one to begin with
}

TEST(OdeSymplectic, TheWayBackLeadsToTheStart) {
  for (const ode::Solver& solver :
       {ode::Solver(ode::VelocityVerlet()), ode::Solver(ode::Yoshida4()),
        ode::Solver(ode::Yoshida6()), ode::Solver(ode::Yoshida8())}) {
    const auto all = test::run_all(
        [&](const Array& x, const Array& v) {
          const Body there = diffeqsolve(orbit, solver, 0.0, 3.0, 0.1, start(x, v)).y1;
          const Body back = diffeqsolve(orbit, solver, 3.0, 0.0, -0.1, there).y1;
          return std::tuple{there.place.x, back.place.x, back.velocity.y};
        },
        closest(0.3), fastest(0.3));
    EXPECT_GT(std::fabs(all[0][0] - 0.7), 1) << solver.name();
    EXPECT_NEAR(all[1][0], 0.7, 1e-13) << solver.name();
    EXPECT_NEAR(all[2][0], std::sqrt(1.3 / 0.7), 1e-13) << solver.name();
  }
}

TEST(OdeSymplectic, FieldsThatDependOnTimeKeepTheOrder) {
  // x'' = -x + cos(2 t), x(0) = 2/3, v(0) = 0: x = cos t - cos(2 t) / 3.
  const ode::PartitionedTerm driven(
      OdeTerm{[](const Array& t, const Array& x, const None&) { return cos(2.0 * t) - x; }},
      OdeTerm{[](const Array&, const Array& v, const None&) { return v; }});
  const double want = std::cos(2.0) - std::cos(4.0) / 3;
  for (const ode::Solver& solver : {ode::Solver(ode::VelocityVerlet()),
                                    ode::Solver(ode::Yoshida4()), ode::Solver(ode::Yoshida6())}) {
    std::vector<std::pair<double, double>> points;
    for (int n : {20, 40, 80}) {
      const double got = test::run(
          [&](const Array& x) {
            return diffeqsolve(driven, solver, 0.0, 2.0, 2.0 / n, std::pair{zeros_like(x), x})
                .y1.second;
          },
          f64(2.0 / 3))[0];
      points.emplace_back(1.0 / n, std::fabs(got - want));
    }
    EXPECT_NEAR(slope(points), solver.order(), 0.1) << solver.name();
  }
}

TEST(OdeSymplectic, MovesOfLargeFieldsAreALoop) {
  // -x + cos(2 t) in two hundred parts, as above.
  const auto parts = [](const Array& t, const Array& x) {
    Array sum = cos(2.0 * t) - 0.5 * x;
    double rest = 0.5;
    for (int i = 0; i < 99; ++i, rest /= 2) sum = sum - (i < 98 ? rest / 2 : rest) * x;
    return sum;
  };
  const auto solve = [&](const auto& force, const ode::Solver& solver) {
    const ode::PartitionedTerm term(
        OdeTerm{[&](const Array& t, const Array& x, const None&) { return force(t, x); }},
        OdeTerm{[](const Array&, const Array& v, const None&) { return v; }});
    return test::run_all(
        [&](const Array& x) {
          const auto sol = diffeqsolve(term, solver, 0.0, 2.0, 0.1, std::pair{zeros_like(x), x},
                                       none, {.saveat = {.t1 = true, .ts = {0.53}}});
          return std::tuple{sol.ys.first, sol.ys.second, sol.stats.evaluations};
        },
        f64(2.0 / 3));
  };
  for (const ode::Solver& solver : {ode::Solver(ode::Yoshida4()), ode::Solver(ode::Yoshida8())}) {
    const auto loop = solve(parts, solver);
    const auto written_out =
        solve([](const Array& t, const Array& x) { return cos(2.0 * t) - x; }, solver);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < loop[i].size(); ++k)
        EXPECT_NEAR(loop[i][k], written_out[i][k], 1e-13) << solver.name();
  }
}

TEST(OdeSymplectic, BothHalvesTogetherAreAnOrdinaryEquation) {
  const auto x = test::run(
      [](const Array& start_x) {
        return diffeqsolve(ode::to_ode(spring), ode::Dopri8(), 0.0, 1.0, 0.02,
                           Spring{zeros_like(start_x), start_x})
            .y1.x;
      },
      f64(1.0))[0];
  EXPECT_NEAR(x, std::cos(1.0), 1e-13);
}

TEST(OdeSymplectic, MethodsOfTwoTermsTakeTheHalvesAsTheirs) {
  const auto x = test::run(
      [](const Array& start_x) {
        return diffeqsolve(spring, ode::KenCarp5({.rtol = 1e-10, .atol = 1e-10}), 0.0, 1.0, 0.02,
                           Spring{zeros_like(start_x), start_x})
            .y1.x;
      },
      f64(1.0))[0];
  EXPECT_NEAR(x, std::cos(1.0), 1e-8);
}

TEST(OdeSymplectic, DerivativesAreThoseOfTheSteps) {
  // Of the whole way, by central differences.
  const auto end = [](const Array& v) {
    return diffeqsolve(orbit, ode::Yoshida4(), 0.0, 3.0, 0.05, start(full({}, 0.7, DType::f64), v))
        .y1.place.x;
  };
  const double v = std::sqrt(1.3 / 0.7), h = 1e-5;
  const auto derivative = [&](const Array& at) { return grad(end)(at); };
  const double got = test::run(derivative, f64(v))[0], up = test::run(end, f64(v + h))[0],
               down = test::run(end, f64(v - h))[0];
  EXPECT_NEAR(got, (up - down) / (2 * h), 1e-8 * std::fabs(got));
}

TEST(OdeSymplectic, SaysWhatIsWrong) {
  const auto complaint = [](const auto& term, const ode::Solver& solver,
                            const ode::Controller& controller) {
    return test::usage_error_of(
        [&](const Array& x) {
          return diffeqsolve(term, solver, 0.0, 1.0, 0.1, Spring{x, x}, none,
                             {.controller = controller})
              .y1.x;
        },
        f64(1.0));
  };
  EXPECT_THAT(complaint(ode::to_ode(spring), ode::Yoshida4(), ode::ConstantStepSize{}),
              HasSubstr("Yoshida4 moves the halves of a state in turn, and the terms do not say "
                        "what moves which; write PartitionedTerm("));
  EXPECT_THAT(complaint(spring, ode::Tsit5(), ode::ConstantStepSize{}),
              HasSubstr("Tsit5 takes 1 terms, not 2; ode::to_ode makes one of a PartitionedTerm"));
  EXPECT_THAT(
      complaint(spring, ode::VelocityVerlet(), ode::PidController{.rtol = 1e-3, .atol = 1e-3}),
      HasSubstr("VelocityVerlet has no estimate of its error, which PidController needs; take "
                "ConstantStepSize, a method with an embedded one (Tsit5, Heun), or "
                "HalfSolver(VelocityVerlet)"));
  const ode::PartitionedTerm longer(
      OdeTerm{[](const Array&, const Array&, const None&) { return zeros({2}, DType::f64); }},
      OdeTerm{[](const Array&, const Array& v, const None&) { return v; }});
  EXPECT_THAT(complaint(longer, ode::VelocityVerlet(), ode::ConstantStepSize{}),
              HasSubstr("`y.v` is f64[] and the vector field gives f64[2] for it"));
}

}  // namespace
}  // namespace gnomon::testing
