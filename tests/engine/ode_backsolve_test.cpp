// tests/engine/ode_backsolve_test.cpp -- derivatives by the adjoint equations, against central
// differences and against those of solves that kept their steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ::testing::HasSubstr;

struct Pendulum {
  Array angle, speed;
};
struct Rig {
  Array length, torque;
};

struct Setting {
  const char* name;
  ode::Solver solver;
  ode::Controller controller;
  ode::FirstStep dt0 = none;
  ode::SaveAt saveat = {.t1 = true};
  bool times_move = false, backwards = false;
  ode::BacksolveAdjoint adjoint = {};
};

/// Something of all that the solve gives; x: angle, speed, length, torque, friction, t0, t1.
Array loss(const Array& x, const Setting& s, const ode::Adjoint& adjoint) {
  const Array friction = x[4];
  const auto field = [&](const Array& t, const Pendulum& p, const Rig& rig) {
    return Pendulum{p.speed,
                    -sin(p.angle) / rig.length - friction * p.speed + rig.torque * cos(1.5 * t)};
  };
  const double begin = s.backwards ? 1.7 : 0.2, end = s.backwards ? 0.2 : 1.7;
  const Operand t0 = s.times_move ? Operand(x[5]) : Operand(begin);
  const Operand t1 = s.times_move ? Operand(x[6]) : Operand(end);
  const auto square = [](const Array&, const Pendulum& p, const Rig& rig) {
    return rig.length * p.angle * p.angle;
  };
  const auto sol = diffeqsolve(
      ode::OdeTerm{field}, s.solver, t0, t1, s.dt0, Pendulum{x[0], x[1]}, Rig{x[2], x[3]},
      {.saveat = s.saveat, .controller = s.controller, .adjoint = adjoint, .max_steps = 4000},
      ode::save(square, s.saveat));
  const Array weights = 1 + 0.1 * cast(iota({sol.ys.angle.dim(0)}, 0), DType::f64);
  return sol.y1.angle + 0.7 * sol.y1.speed * sol.y1.speed + 0.3 * sol.t1 +
         sum(weights * sin(sol.ys.angle)) + sum(weights * std::get<0>(sol.subs).ys);
}

const Numbers point{0.8, -0.3, 1.2, 0.4, 0.15, 0.2, 1.7};

void expect_gradient(const Setting& s) {
  const auto both = test::run_all(
      [&](const Array& x) {
        const auto by = [&](const ode::Adjoint& adjoint) {
          return grad([&](const Array& v) { return loss(v, s, adjoint); })(x);
        };
        return std::pair{by(s.adjoint), by(ode::RecursiveCheckpointAdjoint{})};
      },
      f64(point));
  const auto value = [&](const Numbers& x) {
    return test::run_all([&](const Array& v) { return loss(v, s, ode::ForwardMode{}); },
                         f64(x))[0][0];
  };
  for (std::size_t i = 0; i < point.size(); ++i) {
    const double h = 1e-5;
    Numbers up = point, down = point;
    up[i] += h, down[i] -= h;
    const double difference = (value(up) - value(down)) / (2 * h);
    EXPECT_NEAR(both[0][i], difference, 1e-6 * (1 + std::fabs(difference))) << s.name << ", " << i;
    EXPECT_NEAR(both[0][i], both[1][i], 1e-6 * (1 + std::fabs(both[1][i]))) << s.name << ", " << i;
  }
}

/// What solves are off by goes into differences, divided by 1e-5.
const ode::PidController tight_solve{.rtol = 1e-12, .atol = 1e-12};

TEST(OdeBacksolve, GradientsAreThoseOfDifferences) {
  expect_gradient({"Dopri8", ode::Dopri8(), tight_solve});
  expect_gradient({"equal steps", ode::Dopri8(), ode::ConstantStepSize{}, 0.01});
  expect_gradient({"moving ends", ode::Tsit5(), tight_solve, none, {.t1 = true}, true});
  expect_gradient({"backwards", ode::Dopri8(), tight_solve, none, {.t1 = true}, false, true});
  expect_gradient(
      {"implicit", ode::Kvaerno5(), ode::PidController{.rtol = 1e-8, .atol = 1e-8}, 0.01});
  expect_gradient({"steps of its own",
                   ode::Dopri8(),
                   ode::StepTo{{0.2, 0.4, 0.7, 1.1, 1.4, 1.7}},
                   none,
                   {.t1 = true},
                   false,
                   false,
                   {.controller = tight_solve}});
}

TEST(OdeBacksolve, RowsAreJumpsOnTheWay) {
  // By a method of many small steps: rows are as good as its interpolant.
  const ode::SaveAt rows{.t0 = true, .t1 = true, .ts = {0.2, 0.5, 0.55, 1.3, 1.7}};
  expect_gradient({"rows", ode::Tsit5(), tight_solve, none, rows});
  expect_gradient(
      {"rows, moving ends", ode::Tsit5(), tight_solve, none, {.ts = {0.5, 0.55, 1.3}}, true});
  expect_gradient(
      {"rows, backwards", ode::Tsit5(), tight_solve, none, {.ts = {1.3, 0.55, 0.5}}, false, true});
}

TEST(OdeBacksolve, EachLaneGoesBackItsOwnWay) {
  const Numbers rates{0.5, 2, 8};
  const auto slopes = test::run_all(
      [&](const Array& k) {
        return vmap(grad([](const Array& rate) {
          const ode::OdeTerm grows{
              [&](const Array&, const Array& y, const None&) { return rate * y * (1 - y); }};
          return diffeqsolve(grows, ode::Dopri8(), 0.0, 2.0, none, full({}, 0.2, DType::f64), none,
                             {.controller = tight_solve, .adjoint = ode::BacksolveAdjoint{}})
              .y1;
        }))(k);
      },
      f64(rates))[0];
  // y = 1 / (1 + 4 exp(-k t)).
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double e = 4 * std::exp(-2 * rates[i]);
    EXPECT_NEAR(slopes[i], 2 * e / ((1 + e) * (1 + e)), 1e-7) << rates[i];
  }
}

TEST(OdeBacksolve, AWayBackThatFailsIsNoGradient) {
  // Backwards from near its rest the solution grows by exp(200).
  const auto slope = test::run_all(
      [&](const Array& y) {
        return grad([](const Array& at) {
          const ode::OdeTerm rests{
              [](const Array&, const Array& x, const None&) { return -200.0 * x * x * x; }};
          return diffeqsolve(rests, ode::Kvaerno5(), 0.0, 1e3, none, at, none,
                             {.controller = ode::PidController{.rtol = 1e-6, .atol = 1e-9},
                              .adjoint = ode::BacksolveAdjoint{},
                              .max_steps = 30})
              .y1;
        })(y);
      },
      f64(1.0))[0];
  EXPECT_TRUE(std::isnan(slope[0]));
}

TEST(OdeBacksolve, RefusesWhatHasNoAdjointEquations) {
  const auto says = [](const std::string& what, const ode::SolveOptions& options,
                       const ode::FirstStep& dt0 = 0.1) {
    ode::SolveOptions o = options;
    o.adjoint = ode::BacksolveAdjoint{};
    EXPECT_THAT(test::usage_error_of([&] {
                  return diffeqsolve(decay, ode::Tsit5(), 0.0, 1.0, dt0, full({}, 1, DType::f64),
                                     none, o)
                      .y1;
                }),
                HasSubstr(what));
  };
  says("SaveAt::dense keeps every step", {.saveat = {.dense = true}});
  says("save at `ts`", {.saveat = {.steps = 1}});
  says("BacksolveAdjoint::controller", {.controller = ode::StepTo{{0, 0.5, 1}}}, none);
}

}  // namespace
}  // namespace gnomon::testing
