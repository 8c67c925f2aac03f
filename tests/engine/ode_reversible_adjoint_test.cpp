// tests/engine/ode_reversible_adjoint_test.cpp -- derivatives by undone steps, against central
// differences and against those of solves that kept their steps.
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
using ::testing::HasSubstr;

/// A pendulum with a motor: args is its length and what drives it, friction is captured.
struct Pendulum {
  Array angle, speed;
};
struct Rig {
  Array length, torque;
};

struct Setting {
  const char* name;
  ode::Solver solver;
  ode::FirstStep dt0;
  ode::Controller controller = ode::ConstantStepSize{};
  ode::SaveAt saveat = {.t1 = true};
  bool times_move = false;
  Dim max_steps = 300;
};

/// Something of all that the solve gives; x: angle, speed, length, torque, friction, t0, t1.
Array loss(const Array& x, const Setting& s, const ode::Adjoint& adjoint) {
  const Array friction = x[4];
  const auto field = [&](const Array& t, const Pendulum& p, const Rig& rig) {
    return Pendulum{p.speed,
                    -sin(p.angle) / rig.length - friction * p.speed + rig.torque * cos(1.5 * t)};
  };
  const Operand t0 = s.times_move ? Operand(x[5]) : Operand(0.2);
  const Operand t1 = s.times_move ? Operand(x[6]) : Operand(1.7);
  const auto square = [](const Array&, const Pendulum& p, const Rig& rig) {
    return rig.length * p.angle * p.angle;
  };
  const auto sol = diffeqsolve(ode::OdeTerm{field}, s.solver, t0, t1, s.dt0, Pendulum{x[0], x[1]},
                               Rig{x[2], x[3]},
                               {.saveat = s.saveat,
                                .controller = s.controller,
                                .adjoint = adjoint,
                                .max_steps = s.max_steps},
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
        return std::pair{by(ode::ReversibleAdjoint{}), by(ode::RecursiveCheckpointAdjoint{})};
      },
      f64(point));
  const auto value = [&](const Numbers& x) {
    return test::run_all(
        [&](const Array& v) {
          return std::pair{loss(v, s, ode::ReversibleAdjoint{}), loss(v, s, ode::ForwardMode{})};
        },
        f64(x));
  };
  const auto values = value(point);
  EXPECT_DOUBLE_EQ(values[0][0], values[1][0]) << s.name;
  const bool chooses = std::holds_alternative<ode::PidController>(s.controller) ||
                       std::holds_alternative<ode::ClipStepSize>(s.controller);
  for (std::size_t i = 0; i < point.size(); ++i) {
    EXPECT_NEAR(both[0][i], both[1][i], 1e-10 * (1 + std::fabs(both[1][i]))) << s.name << ", " << i;
    // Step sizes that a controller chose move as well, and derivatives take them for constants.
    if (chooses) continue;
    const double h = 1e-5;
    Numbers up = point, down = point;
    up[i] += h, down[i] -= h;
    const double difference = (value(up)[0][0] - value(down)[0][0]) / (2 * h);
    EXPECT_NEAR(both[0][i], difference, 1e-6 * (1 + std::fabs(difference))) << s.name << ", " << i;
  }
}

const ode::PidController pid{.rtol = 1e-4, .atol = 1e-4};
const ode::StepTo steps{{0.2, 0.3, 0.45, 0.7, 0.8, 1.1, 1.3, 1.5, 1.7}};

TEST(OdeReversibleAdjoint, GradientsOfTheEnd) {
  expect_gradient({"equal steps", ode::ReversibleHeun(), 0.05});
  expect_gradient({"given steps", ode::ReversibleHeun(), none, steps});
  expect_gradient({"chosen steps", ode::ReversibleHeun(), none, pid});
  expect_gradient({"leapfrog", ode::LeapfrogMidpoint(), 0.05});
  expect_gradient({"leapfrog, given steps", ode::LeapfrogMidpoint(), none, steps});
}

TEST(OdeReversibleAdjoint, GradientsOfWhatIsSaved) {
  const ode::SaveAt times{.t0 = true, .t1 = true, .ts = {0.2, 0.21, 0.22, 0.8, 1.1, 1.69, 1.7}};
  const ode::SaveAt all{.t0 = true, .steps = 1}, some{.t1 = true, .steps = 3};
  expect_gradient({"times", ode::ReversibleHeun(), 0.1, ode::ConstantStepSize{}, times});
  expect_gradient({"times, leapfrog", ode::LeapfrogMidpoint(), none, steps, times});
  expect_gradient({"times, chosen steps", ode::ReversibleHeun(), none, pid, times});
  expect_gradient({"all steps", ode::ReversibleHeun(), 0.1, ode::ConstantStepSize{}, all});
  expect_gradient({"some steps", ode::ReversibleHeun(), none, pid, some});
  expect_gradient({"some given steps", ode::LeapfrogMidpoint(), none, steps, some});
  expect_gradient({"clipped steps", ode::ReversibleHeun(), none,
                   ode::ClipStepSize{.controller = pid, .step_ts = {0.5, 1.0}}, times});
}

TEST(OdeReversibleAdjoint, GradientsInTimes) {
  const ode::SaveAt times{.t1 = true, .ts = {0.5, 0.8, 1.6}};
  expect_gradient(
      {"equal steps", ode::ReversibleHeun(), 0.11, ode::ConstantStepSize{}, times, true});
  expect_gradient(
      {"leapfrog", ode::LeapfrogMidpoint(), 0.11, ode::ConstantStepSize{}, times, true});
  expect_gradient({"chosen steps", ode::ReversibleHeun(), 0.1, pid, times, true});
}

TEST(OdeReversibleAdjoint, GoesBackThroughASolveThatWentBack) {
  const auto of = [&](const ode::Adjoint& adjoint) {
    return [=](const Array& x) {
      const auto field = [](const Array& t, const Array& y, const Array& a) {
        return a * sin(y) * cos(t);
      };
      const auto sol = diffeqsolve(
          ode::OdeTerm{field}, ode::ReversibleHeun(), 2.0, x[2], -0.1, x[0], x[1],
          {.saveat = {.t1 = true, .ts = {1.5, 0.7}}, .controller = pid, .adjoint = adjoint});
      return sol.y1 + sum(sol.ys);
    };
  };
  const auto both = test::run_all(
      [&](const Array& x) {
        return std::pair{grad(of(ode::ReversibleAdjoint{}))(x),
                         grad(of(ode::RecursiveCheckpointAdjoint{}))(x)};
      },
      f64(Numbers{0.4, 1.3, 0.3}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(both[0][i], both[1][i], 1e-10) << i;
}

/// dy = -a y dt + b sin(y) dW.
template <class Path>
Array stochastic(const Array& x, const Path& path, const ode::Controller& controller,
                 const ode::FirstStep& dt0, const ode::Adjoint& adjoint) {
  const auto drift = [](const Array&, const Array& y, const Array& a) { return negative(a * y); };
  const Array b = x[2];
  const auto diffusion = [&](const Array&, const Array& y, const Array&) { return b * sin(y); };
  const auto sol =
      diffeqsolve(ode::MultiTerm(ode::OdeTerm{drift}, ode::ControlTerm(diffusion, path)),
                  ode::ReversibleHeun(), 0.0, 1.0, dt0, x[0], x[1],
                  {.saveat = {.t1 = true, .ts = {0.33, 0.5}},
                   .controller = controller,
                   .adjoint = adjoint,
                   .max_steps = 400});
  return sol.y1 * sol.y1 + sum(sol.ys);
}

TEST(OdeReversibleAdjoint, GradientsAlongABrownianPath) {
  const Numbers at{0.9, 0.6, 0.4};
  const auto expect = [&](const auto& path, const ode::Controller& controller,
                          const ode::FirstStep& dt0, const char* name) {
    const auto of = [&](const ode::Adjoint& adjoint) {
      return
          [&, adjoint](const Array& x) { return stochastic(x, path(), controller, dt0, adjoint); };
    };
    const auto both = test::run_all(
        [&](const Array& x) {
          return std::pair{grad(of(ode::ReversibleAdjoint{}))(x),
                           grad(of(ode::RecursiveCheckpointAdjoint{}))(x)};
        },
        f64(at));
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_NEAR(both[0][i], both[1][i], 1e-10) << name << ", " << i;
      if (std::holds_alternative<ode::PidController>(controller)) continue;
      Numbers up = at, down = at;
      up[i] += 1e-5, down[i] -= 1e-5;
      const auto f = of(ode::ReversibleAdjoint{});
      EXPECT_NEAR(both[0][i], (test::run(f, f64(up))[0] - test::run(f, f64(down))[0]) / 2e-5, 1e-6)
          << name << ", " << i;
    }
  };
  const auto tree = [] {
    return ode::VirtualBrownianTree(0.0, 1.0, 1e-5, zeros({}, DType::f64), random::key(5));
  };
  const auto indexed = [] {
    return ode::IndexedBrownianPath(zeros({}, DType::f64), random::key(5));
  };
  expect(tree, ode::ConstantStepSize{}, 0.02, "tree");
  expect(tree, ode::PidController{.rtol = 0, .atol = 1e-2}, none, "tree, chosen steps");
  expect(indexed, ode::ConstantStepSize{}, 0.02, "indexed");
}

TEST(OdeReversibleAdjoint, LanesGoBackTheirOwnSteps) {
  const Setting s{"lanes", ode::ReversibleHeun(), none, pid, {.t1 = true, .ts = {0.4, 1.2}}};
  const auto one = [&](const Array& x) {
    return grad([&](const Array& v) { return loss(v, s, ode::ReversibleAdjoint{}); })(x);
  };
  Numbers many;
  std::vector<Numbers> each;
  for (double angle : {0.01, 0.8, 3.0}) {
    Numbers x = point;
    x[0] = angle;
    many.insert(many.end(), x.begin(), x.end());
    each.push_back(test::run(one, f64(x)));
  }
  const auto all = test::run(vmap(one), test::host(DType::f64, {3, 7}, many));
  for (std::size_t lane = 0; lane < 3; ++lane)
    for (std::size_t i = 0; i < 7; ++i)
      EXPECT_NEAR(all[lane * 7 + i], each[lane][i], 1e-12) << lane << ", " << i;
}

TEST(OdeReversibleAdjoint, EqualStepsHaveForwardModeAndSecondDerivatives) {
  const Setting s{"equal steps", ode::ReversibleHeun(), 0.05};
  const auto of = [&](const ode::Adjoint& adjoint) {
    return [&, adjoint](const Array& x) { return loss(x, s, adjoint); };
  };
  const auto all = test::run_all(
      [&](const Array& x) {
        const auto both = [&](const auto& f) {
          const auto slopes = [&](const Array& v) { return sum(grad(f)(v)); };
          return std::pair{jvp(f, x, x).second, jvp(slopes, x, x).second};
        };
        return std::pair{both(of(ode::ReversibleAdjoint{})),
                         both(of(ode::RecursiveCheckpointAdjoint{}))};
      },
      f64(point));
  EXPECT_NEAR(all[0][0], all[2][0], 1e-10);
  EXPECT_NEAR(all[1][0], all[3][0], 1e-10);
}

TEST(OdeReversibleAdjoint, ASolveThatEndsEarlyIsDifferentiatedAsFarAsItCame) {
  Setting s{"few steps", ode::ReversibleHeun(), 0.01, pid, {.t1 = true, .ts = {0.3, 1.6}}};
  s.max_steps = 5;
  expect_gradient(s);
}

TEST(OdeReversibleAdjoint, SaysWhatCannotBeUndone) {
  const auto text = [](const ode::Solver& solver, ode::SolveOptions options) {
    options.adjoint = ode::ReversibleAdjoint{};
    return test::usage_error_of(
        [&](const Array& y) {
          return diffeqsolve(decay, solver, 0.0, 1.0, 0.1, y, none, options).y1;
        },
        f64(1.0));
  };
  const ode::Solver heun = ode::ReversibleHeun();
  EXPECT_THAT(text(ode::Tsit5(), {}), HasSubstr("those of Tsit5 cannot be; solve by Rev"));
  EXPECT_THAT(text(ode::HalfSolver(heun), {}), HasSubstr("HalfSolver(ReversibleHeun) cannot be"));
  EXPECT_THAT(text(heun, {.saveat = {.dense = true}}), HasSubstr("SaveAt::dense keeps"));
  EXPECT_THAT(text(heun, {.saveat = {.ts = {0.5}, .steps = 1}}), HasSubstr("are not told apart"));
  EXPECT_THAT(text(heun, {.saveat = {.t1 = true, .solver_state = true}}),
              HasSubstr("solver_state joins it"));
  EXPECT_THAT(text(heun, {.controller = pid, .max_steps = unbounded}),
              HasSubstr("max_steps is `unbounded`"));
  EXPECT_THAT(text(heun, {.controller = ode::ClipStepSize{.controller = pid, .jump_ts = {0.5}}}),
              HasSubstr("begins anew behind each of jump_ts"));
  const auto with_event = test::usage_error_of(
      [&](const Array& y) {
        return diffeqsolve(
                   decay, heun, 0.0, 1.0, 0.1, y, none, {.adjoint = ode::ReversibleAdjoint{}},
                   ode::event([](const Array&, const Array& v, const None&) { return v - 0.5; }))
            .y1;
      },
      f64(1.0));
  EXPECT_THAT(with_event, HasSubstr("an event cuts one short"));
  const Setting moving{
      "clipped steps", heun, none, ode::ClipStepSize{.controller = pid, .step_ts = {0.5}},
      {.t1 = true},    true};
  const auto in_times = test::usage_error_of(
      [&](const Array& x) {
        return grad([&](const Array& v) { return loss(v, moving, ode::ReversibleAdjoint{}); })(x);
      },
      f64(point));
  EXPECT_THAT(in_times, HasSubstr("captured an array that is differentiated in"));
}

}  // namespace
}  // namespace gnomon::testing
