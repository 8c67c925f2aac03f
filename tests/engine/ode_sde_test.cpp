// tests/engine/ode_sde_test.cpp -- stochastic differential equations: strong and weak orders
// against Taylor schemes and closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "gnomon/ops.h"
#include "tests/engine/ode_sde_paths.h"

namespace gnomon::testing {
namespace {

using ode::ControlTerm;
using ode::diffeqsolve;
using ode::MultiTerm;
using ode::OdeTerm;

/// dy = a dt + b dW in the sense of Ito with all the derivatives that its Taylor scheme needs.
struct Scalar1d {
  std::function<double(double, double)> a, a1, a2, at, b, b1, b2, bt;
};

/// One step of strong order 1.5. Source: P. Kloeden, E. Platen, Numerical Solution of Stochastic
/// Differential Equations, 1992, equation 10.4.1.
double taylor(const Scalar1d& e, double t, double y, double h, const Move& m) {
  const double a = e.a(t, y), a1 = e.a1(t, y), a2 = e.a2(t, y), b = e.b(t, y), b1 = e.b1(t, y),
               b2 = e.b2(t, y), w = m.w, z = h * (0.5 * m.w + m.h);
  return y + a * h + b * w + 0.5 * b * b1 * (w * w - h) + a1 * b * z +
         0.5 * (e.at(t, y) + a * a1 + 0.5 * b * b * a2) * h * h +
         (e.bt(t, y) + a * b1 + 0.5 * b * b * b2) * (w * h - z) +
         0.5 * b * (b * b2 + b1 * b1) * (w * w / 3 - h) * w;
}

Numbers references(const Scalar1d& e, const Grid& grid, double y0) {
  Numbers ends;
  const double h = 1.0 / grid.fine;
  for (int p = 0; p < grid.count; ++p) {
    double y = y0;
    for (int i = 0; i < grid.fine; ++i)
      y = taylor(e, i * h, y, h, grid.moves[static_cast<std::size_t>(p * grid.fine + i)]);
    ends.push_back(y);
  }
  return ends;
}

/// Where `steps` steps lead every path of the grid to.
template <class Drift, class Diffusion>
Numbers ends(const ode::Solver& solver, const Drift& f, const Diffusion& g, const Grid& grid,
             int steps, double y0) {
  return test::run(
      [&](const Array& w, const Array& integral) {
        return vmap([&](const Array& one, const Array& its) {
          return diffeqsolve(MultiTerm(OdeTerm{f}, ControlTerm(g, GridPath{one, its})), solver, 0.0,
                             1.0, 1.0 / steps, full({}, y0, DType::f64))
              .y1;
        })(w, integral);
      },
      grid.values(), grid.integrals());
}

double strong_error(const Numbers& got, const Numbers& want) {
  double sum = 0;
  for (std::size_t i = 0; i < got.size(); ++i) sum += (got[i] - want[i]) * (got[i] - want[i]);
  return std::sqrt(sum / static_cast<double>(got.size()));
}
double weak_error(const Numbers& got, const Numbers& want) {
  double sum = 0;
  for (std::size_t i = 0; i < got.size(); ++i) sum += got[i] - want[i];
  return std::fabs(sum) / static_cast<double>(got.size());
}

template <class Drift, class Diffusion>
double order(const ode::Solver& solver, const Drift& f, const Diffusion& g, const Grid& grid,
             const Numbers& want, double y0, std::vector<int> all_steps = {16, 32, 64, 128},
             double (*error)(const Numbers&, const Numbers&) = strong_error) {
  std::vector<std::pair<double, double>> points;
  for (int steps : all_steps)
    points.push_back({1.0 / steps, error(ends(solver, f, g, grid, steps, y0), want)});
  return slope(points);
}

// ---- noise that depends on the state: dy = (0.5 - y) dt + cos(y) dW

const auto drift = [](const Array&, const Array& y, const None&) { return 0.5 - y; };
const auto diffusion = [](const Array&, const Array& y, const None&) { return cos(y); };
/// With `correction` the equation of Stratonovich.
Scalar1d multiplicative(double correction) {
  const auto zero = [](double, double) { return 0.0; };
  // b b' = -sin y cos y = -(1/2) sin 2y.
  return {[=](double, double y) { return 0.5 - y - correction * 0.25 * std::sin(2 * y); },
          [=](double, double y) { return -1 - correction * 0.5 * std::cos(2 * y); },
          [=](double, double y) { return correction * std::sin(2 * y); },
          zero,
          [](double, double y) { return std::cos(y); },
          [](double, double y) { return -std::sin(y); },
          [](double, double y) { return -std::cos(y); },
          zero};
}

TEST(SdeOrder, OfScalarNoise) {
  const Grid grid(300, 128, 16, 1);
  const Numbers ito = references(multiplicative(0), grid, 0.4),
                stratonovich = references(multiplicative(1), grid, 0.4);
  const auto expect = [&](const ode::Solver& solver, const Numbers& want, double o) {
    EXPECT_NEAR(order(solver, drift, diffusion, grid, want, 0.4), o, 0.15) << solver.name();
  };
  expect(ode::EulerMaruyama(), ito, 0.5);
  expect(ode::Euler(), ito, 0.5);
  expect(ode::ItoMilstein(), ito, 1);
  expect(ode::StratonovichMilstein(), stratonovich, 1);
  expect(ode::EulerHeun(), stratonovich, 1);
  expect(ode::Heun(), stratonovich, 1);
  expect(ode::Midpoint(), stratonovich, 1);
  expect(ode::Ralston(), stratonovich, 1);
  expect(ode::SPaRK(), stratonovich, 1);
  expect(ode::GeneralShARK(), stratonovich, 1);
  expect(ode::SlowRK(), stratonovich, 1.5);

  // Its two states part from each other in long steps.
  const Grid fine(300, 512, 4, 1);
  EXPECT_NEAR(order(ode::ReversibleHeun(), drift, diffusion, fine,
                    references(multiplicative(1), fine, 0.4), 0.4, {64, 128, 256, 512}),
              1, 0.15);
}

// ---- additive noise: dy = (sin(2 y) + t - y) dt + (1 + t) dW

const auto waves = [](const Array& t, const Array& y, const None&) { return sin(2 * y) + t - y; };
const auto growing = [](const Array& t, const Array&, const None&) { return 1 + t; };
const Scalar1d additive{[](double t, double y) { return std::sin(2 * y) + t - y; },
                        [](double, double y) { return 2 * std::cos(2 * y) - 1; },
                        [](double, double y) { return -4 * std::sin(2 * y); },
                        [](double, double) { return 1.0; },
                        [](double t, double) { return 1 + t; },
                        [](double, double) { return 0.0; },
                        [](double, double) { return 0.0; },
                        [](double, double) { return 1.0; }};

TEST(SdeOrder, OfAdditiveNoise) {
  const Grid grid(300, 128, 16, 2);
  const Numbers want = references(additive, grid, 0.3);
  const auto expect = [&](const ode::Solver& solver, double o) {
    EXPECT_NEAR(order(solver, waves, growing, grid, want, 0.3), o, 0.15) << solver.name();
  };
  expect(ode::EulerMaruyama(), 1);
  expect(ode::EulerHeun(), 1);
  expect(ode::Heun(), 1);
  expect(ode::ReversibleHeun(), 1);
  expect(ode::SEA(), 1);
  expect(ode::SRA1(), 1.5);
  expect(ode::ShARK(), 1.5);
  expect(ode::SPaRK(), 1.5);
  expect(ode::GeneralShARK(), 1.5);
  expect(ode::SlowRK(), 1.5);
}

// ---- noises that do not commute: dx = -x dt + dW_1, dy = x dW_2, which needs more than increments

TEST(SdeOrder, OfGeneralNoise) {
  const Grid grid(600, 128, 16, 4);  // two for each system
  const std::size_t systems = 300, fine = static_cast<std::size_t>(grid.fine);
  Numbers want;
  for (std::size_t p = 0; p < systems; ++p) {
    double x = 0.5, y = 0;
    for (std::size_t i = 0; i < fine; ++i) {
      const Move &a = grid.moves[2 * p * fine + i], &b = grid.moves[(2 * p + 1) * fine + i];
      const double decay = std::exp(-1.0 / grid.fine), next = x * decay + a.w;
      y += 0.5 * (x + next) * b.w;
      x = next;
    }
    want.push_back(x);
    want.push_back(y);
  }
  const auto fall = [](const Array&, const Array& y, const None&) {
    return stack({negative(y[0]), zeros_like(y[0])});
  };
  const auto push = [](const Array&, const Array& y, const None&) {
    const Array zero = zeros_like(y[0]);
    return stack({stack({ones_like(zero), zero}), stack({zero, y[0]})});
  };
  const auto solve = [&](const ode::Solver& solver, int steps) {
    return test::run(
        [&](const Array& w, const Array& integral) {
          const auto pairs = [](const Array& a) {
            return transpose(reshape(a, {300, 2, a.dim(1)}), {0, 2, 1});
          };
          return vmap([&](const Array& one, const Array& its) {
            const Array start = stack({full({}, 0.5, DType::f64), zeros({}, DType::f64)});
            return diffeqsolve(MultiTerm(OdeTerm{fall}, ControlTerm(push, GridPath{one, its})),
                               solver, 0.0, 1.0, 1.0 / steps, start)
                .y1;
          })(pairs(w), pairs(integral));
        },
        grid.values(), grid.integrals());
  };
  const auto expect = [&](const ode::Solver& solver) {
    std::vector<std::pair<double, double>> points;
    for (int steps : {16, 32, 64, 128})
      points.push_back({1.0 / steps, strong_error(solve(solver, steps), want)});
    EXPECT_NEAR(slope(points), 0.5, 0.15) << solver.name();
  };
  expect(ode::EulerMaruyama());
  expect(ode::ItoMilstein());
  expect(ode::StratonovichMilstein());
  expect(ode::EulerHeun());
  expect(ode::Heun());
  expect(ode::ReversibleHeun());
  expect(ode::SPaRK());
  expect(ode::GeneralShARK());
  expect(ode::SlowRK());
}

TEST(SdeOrder, WeakOnes) {
  const Grid grid(20000, 8, 16, 3);
  const Numbers add = references(additive, grid, 0.3),
                ito = references(multiplicative(0), grid, 0.4),
                stratonovich = references(multiplicative(1), grid, 0.4);
  const std::vector<int> steps{2, 4, 8};
  const auto of = [&](const ode::Solver& solver, const auto& f, const auto& g, const Numbers& want,
                      double y0) { return order(solver, f, g, grid, want, y0, steps, weak_error); };
  EXPECT_NEAR(of(ode::EulerMaruyama(), drift, diffusion, ito, 0.4), 1, 0.3);
  EXPECT_NEAR(of(ode::ShARK(), waves, growing, add, 0.3), 2, 0.4);
  EXPECT_NEAR(of(ode::SRA1(), waves, growing, add, 0.3), 2, 0.4);
  EXPECT_NEAR(of(ode::SlowRK(), drift, diffusion, stratonovich, 0.4), 2, 0.4);
}

}  // namespace
}  // namespace gnomon::testing
