// tests/engine/ode_stiff_test.cpp -- the problems that stiff solvers are tried on, and gradients
// through implicit steps.
#include <gtest/gtest.h>

#include <array>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

// ---- problems
//
// All but the Brusselator: F. Mazzia and C. Magherini, Test Set for Initial Value Problem Solvers,
// release 2.4 (2008), with their reference solutions.

using Field = Handler<Array(const Array&, const Array&)>;

struct Problem {
  const char* name;
  Numbers start;
  double end;
  Field field;
  Numbers want;
  double scale = 1;  // of absolute tolerances, what is small
};

Array joined(const std::vector<Array>& numbers) { return stack(numbers); }

const Problem& robertson() {
  static const Problem p{"Robertson",
                         {1, 0, 0},
                         1e11,
                         [](const Array&, const Array& y) {
                           const Array a = 0.04 * y[0], b = 3e7 * y[1] * y[1],
                                       c = 1e4 * y[1] * y[2];
                           return joined({c - a, a - c - b, b});
                         },
                         {0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050},
                         1e-8};
  return p;
}

const Problem& van_der_pol() {
  // mu = 1000, with time in units of mu.
  static const Problem p{"van der Pol",
                         {2, 0},
                         2,
                         [](const Array&, const Array& y) {
                           return joined({y[1], 1e6 * ((1 - y[0] * y[0]) * y[1] - y[0])});
                         },
                         {0.1706167732170483e1, -0.8928097010247975}};
  return p;
}

const Problem& hires() {
  static const Problem p{
      "HIRES",
      {1, 0, 0, 0, 0, 0, 0, 0.0057},
      321.8122,
      [](const Array&, const Array& y) {
        const Array r = 280 * y[5] * y[7];
        return joined({-1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
                       -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
                       8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
                       -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
                       -r + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6], r - 1.81 * y[6],
                       -r + 1.81 * y[6]});
      },
      {0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
       0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2},
      1e-3};
  return p;
}

const Problem& orego() {
  static const Problem p{"OREGO",
                         {1, 2, 3},
                         360,
                         [](const Array&, const Array& y) {
                           const double s = 77.27;
                           return joined({s * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])),
                                          (y[2] - (1 + y[0]) * y[1]) / s, 0.161 * (y[0] - y[2])});
                         },
                         {0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3}};
  return p;
}

const Problem& pollution() {
  static const Problem p{
      "Pollution",
      {0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0},
      60,
      [](const Array&, const Array& state) {
        std::vector<Array> y{Array()};
        for (int i = 0; i < 20; ++i) y.push_back(state[i]);
        const std::vector<Array> r{Array(),
                                   0.35 * y[1],
                                   0.266e2 * y[2] * y[4],
                                   0.123e5 * y[5] * y[2],
                                   0.86e-3 * y[7],
                                   0.82e-3 * y[7],
                                   0.15e5 * y[7] * y[6],
                                   0.13e-3 * y[9],
                                   0.24e5 * y[9] * y[6],
                                   0.165e5 * y[11] * y[2],
                                   0.9e4 * y[11] * y[1],
                                   0.22e-1 * y[13],
                                   0.12e5 * y[10] * y[2],
                                   0.188e1 * y[14],
                                   0.163e5 * y[1] * y[6],
                                   0.48e7 * y[3],
                                   0.35e-3 * y[4],
                                   0.175e-1 * y[4],
                                   0.1e9 * y[16],
                                   0.444e12 * y[16],
                                   0.124e4 * y[17] * y[6],
                                   0.21e1 * y[19],
                                   0.578e1 * y[19],
                                   0.474e-1 * y[1] * y[4],
                                   0.178e4 * y[19] * y[1],
                                   0.312e1 * y[20]};
        return joined({-r[1] - r[10] - r[14] - r[23] - r[24] + r[2] + r[3] + r[9] + r[11] + r[12] +
                           r[22] + r[25],
                       -r[2] - r[3] - r[9] - r[12] + r[1] + r[21],
                       -r[15] + r[1] + r[17] + r[19] + r[22],
                       -r[2] - r[16] - r[17] - r[23] + r[15],
                       -r[3] + 2 * r[4] + r[6] + r[7] + r[13] + r[20],
                       -r[6] - r[8] - r[14] - r[20] + r[3] + 2 * r[18],
                       -r[4] - r[5] - r[6] + r[13],
                       r[4] + r[5] + r[6] + r[7],
                       -r[7] - r[8],
                       -r[12] + r[7] + r[9],
                       -r[9] - r[10] + r[8] + r[11],
                       r[9],
                       -r[11] + r[10],
                       -r[13] + r[12],
                       r[14],
                       -r[18] - r[19] + r[16],
                       -r[20],
                       r[20],
                       -r[21] - r[22] - r[24] + r[23] + r[25],
                       -r[25] + r[24]});
      },
      {0.5646255480022769e-1, 0.1342484130422339,    0.4139734331099427e-8, 0.5523140207484359e-2,
       0.2018977262302196e-6, 0.1464541863493966e-6, 0.7784249118997964e-1, 0.3245075353396018,
       0.7494013383880406e-2, 0.1622293157301561e-7, 0.1135863833257075e-7, 0.2230505975721359e-2,
       0.2087162882798630e-3, 0.1396921016840158e-4, 0.8964884856898295e-2, 0.4352846369330103e-17,
       0.6899219696263405e-2, 0.1007803037365946e-3, 0.1772146513969984e-5, 0.5682943292316392e-4},
      1e-3};
  return p;
}

// The Brusselator with diffusion on a line: E. Hairer and G. Wanner, Solving Ordinary Differential
// Equations II, section IV.1, here with few points.

constexpr int points = 8;

Numbers brusselator_start() {
  Numbers y;
  for (int i = 1; i <= points; ++i)
    y.push_back(1 + std::sin(2 * 3.14159265358979323846 * i / (points + 1)));
  for (int i = 0; i < points; ++i) y.push_back(3);
  return y;
}
constexpr double diffusion = 0.02 * (points + 1) * (points + 1) * 10;

/// By small steps of the classical method on the host.
Numbers brusselator_end(double end, int steps) {
  const auto slope_at = [](const Numbers& y) {
    Numbers f(2 * points);
    const auto u = [&](int i) { return i < 0 || i >= points ? 1 : y[static_cast<std::size_t>(i)]; };
    const auto v = [&](int i) {
      return i < 0 || i >= points ? 3 : y[static_cast<std::size_t>(points + i)];
    };
    for (int i = 0; i < points; ++i) {
      const double r = u(i) * u(i) * v(i);
      f[static_cast<std::size_t>(i)] =
          1 + r - 4 * u(i) + diffusion * (u(i - 1) - 2 * u(i) + u(i + 1));
      f[static_cast<std::size_t>(points + i)] =
          3 * u(i) - r + diffusion * (v(i - 1) - 2 * v(i) + v(i + 1));
    }
    return f;
  };
  const auto along = [](Numbers y, double h, const Numbers& k) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += h * k[i];
    return y;
  };
  Numbers y = brusselator_start();
  const double h = end / steps;
  for (int n = 0; n < steps; ++n) {
    const Numbers a = slope_at(y), b = slope_at(along(y, h / 2, a)),
                  c = slope_at(along(y, h / 2, b)), d = slope_at(along(y, h, c));
    y = along(along(along(along(y, h / 6, a), h / 3, b), h / 3, c), h / 6, d);
  }
  return y;
}

const Problem& brusselator() {
  static const Problem p{
      "Brusselator", brusselator_start(), 10,
      [](const Array&, const Array& y) {
        const Array u = slice(y, {0}, {points}), v = slice(y, {points}, {2 * points});
        const auto spread = [](const Array& x, double edge) {
          const Array one = full({1}, edge, DType::f64);
          const Array all = concatenate({one, x, one});
          return diffusion * (slice(all, {0}, {points}) - 2 * x + slice(all, {2}, {points + 2}));
        };
        const Array r = u * u * v;
        return concatenate({1 + r - 4 * u + spread(u, 1), 3 * u - r + spread(v, 3)});
      },
      brusselator_end(10, 20000)};
  return p;
}

// ---- solves

struct Solved {
  Numbers y;
  double steps, rejected, evaluations;
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
        return std::tuple{sol.y1, sol.stats.steps, sol.stats.rejected, sol.stats.evaluations,
                          sol.result};
      },
      f64(p.start));
  return {all[0], all[1][0], all[2][0], all[3][0],
          static_cast<ode::Result>(static_cast<int>(all[4][0]))};
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
  for (const ode::Solver& s : solvers()) expect_solved(robertson(), s, 1e-5);
}
TEST(OdeStiff, VanDerPol) {
  for (const ode::Solver& s : solvers()) expect_solved(van_der_pol(), s, 1e-5);
}
TEST(OdeStiff, Hires) {
  for (const ode::Solver& s : solvers()) expect_solved(hires(), s, 1e-5);
}
TEST(OdeStiff, Orego) {
  for (const ode::Solver& s : solvers()) expect_solved(orego(), s, 1e-5);
}
TEST(OdeStiff, Pollution) {
  for (const ode::Solver& s : solvers()) expect_solved(pollution(), s, 1e-5);
}
TEST(OdeStiff, Brusselator) {
  for (const ode::Solver& s : solvers()) expect_solved(brusselator(), s, 1e-5);
}

TEST(OdeStiff, SlowLooseAndTightTolerances) {
  for (const Problem* p :
       {&robertson(), &van_der_pol(), &hires(), &orego(), &pollution(), &brusselator()}) {
    for (const ode::Solver& s : solvers()) expect_solved(*p, s, 1e-3);
    for (const ode::Solver& s : {ode::Solver(ode::Kvaerno5()), ode::Solver(ode::Rodas5P())})
      expect_solved(*p, s, 1e-8);
  }
}

}  // namespace
}  // namespace gnomon::testing
