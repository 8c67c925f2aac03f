// tests/engine/ode_backsolve_corners_test.cpp -- the adjoint equations of solves that stop early,
// whose steps move or whose dtypes differ, against closed forms; terms that have none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gnomon/indexing.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ::testing::HasSubstr;

const ode::PidController tight{.rtol = 1e-10, .atol = 1e-10};
const ode::BacksolveAdjoint back{};

/// y' = -k t y from y(0) = 1.5: 1.5 exp(-k t^2 / 2).
const ode::OdeTerm sinks{
    [](const Array& t, const Array& y, const Array& k) { return negative(k * t * y); }};
double at(double k, double t) { return 1.5 * std::exp(-k * t * t / 2); }
Array start() { return full({}, 1.5, DType::f64); }

struct CornerInputs {
  Array y0, k, t1;
};

TEST(OdeBacksolveCorners, AWayBackBeginsWhereTheSolveEnded) {
  // Ten steps of 0.01: at 0.1, and y1 is not what t1 is.
  const auto solve = [](const CornerInputs& in, const ode::SaveAt& saveat) {
    return diffeqsolve(sinks, ode::Dopri8(), 0.0, in.t1, 0.01, in.y0, in.k,
                       {.saveat = saveat, .adjoint = back, .max_steps = 10});
  };
  const ode::SaveAt rows{.t1 = true, .ts = {0.03, 0.08, 1.9}};
  const auto all = test::run_all(
      [&](const Array& y0, const Array& k, const Array& t1) {
        const auto end = [&](const CornerInputs& in) {
          const auto sol = solve(in, {.t1 = true});
          return std::pair{sol.y1, std::pair{sol.t1, sol.result}};
        };
        const auto r = value_and_grad(end, has_aux)(CornerInputs{y0, k, t1});
        const auto sums = grad([&](const CornerInputs& in) { return sum(solve(in, rows).ys); });
        return std::tuple{r.grad, r.value.second, sums(CornerInputs{y0, k, t1})};
      },
      f64(1.5), f64(1.3), f64(2.0));
  const double t = all[3][0], k = 1.3;
  EXPECT_NEAR(t, 0.1, 0.011);
  EXPECT_EQ(static_cast<ode::Result>(all[4][0]), ode::Result::max_steps_reached);
  EXPECT_NEAR(all[0][0], at(k, t) / 1.5, 1e-9);
  EXPECT_NEAR(all[1][0], -t * t / 2 * at(k, t), 1e-9);
  EXPECT_EQ(all[2][0], 0);
  // With two of three rows and that of the end.
  double dy0 = 0, dk = 0;
  for (double row : {0.03, 0.08, t}) {
    dy0 += at(k, row) / 1.5;
    dk -= row * row / 2 * at(k, row);
  }
  EXPECT_NEAR(all[5][0], dy0, 1e-8);
  EXPECT_NEAR(all[6][0], dk, 1e-8);
  EXPECT_EQ(all[7][0], 0);
}

TEST(OdeBacksolveCorners, StepsThatMoveAreConstants) {
  const auto by = [](const Array& k, const ode::FirstStep& dt0, const ode::Controller& c,
                     const ode::BacksolveAdjoint& adjoint) {
    return diffeqsolve(sinks, ode::Dopri8(), 0.0, 1.0, dt0, start(), k,
                       {.controller = c, .adjoint = adjoint, .max_steps = 400})
        .y1;
  };
  const auto all = test::run_all(
      [&](const Array& k) {
        const auto first = [&](const Array& x) {
          return by(x, x * 0.01, ode::ConstantStepSize{}, back);
        };
        const auto tolerances = [&](const Array& x) {
          return by(x, none, ode::PidController{.rtol = 1e-10 * x, .atol = 1e-10 * x}, back);
        };
        const auto own = [&](const Array& x) {
          return by(x, none, ode::StepTo{stack({0 * x, 0.3 + 0 * x, 0.6 + 0 * x, x / x})},
                    {.controller = ode::PidController{.rtol = 1e-10 * x, .atol = 1e-10}});
        };
        return std::tuple{grad(first)(k), grad(tolerances)(k), grad(own)(k)};
      },
      f64(1.3));
  EXPECT_NEAR(all[0][0], -0.5 * at(1.3, 1), 1e-8);
  EXPECT_NEAR(all[1][0], -0.5 * at(1.3, 1), 1e-8);
  EXPECT_NEAR(all[2][0], -0.5 * at(1.3, 1), 1e-7);
}

TEST(OdeBacksolveCorners, WhatFieldsCaptureHasDtypesOfItsOwn) {
  // A state in f32 beside a rate in f64, which is one of several: the way back is in f64.
  const auto all = test::run_all(
      [](const Array& rates, const Array& which) {
        return grad([&](const Array& k) {
          const ode::OdeTerm f{[&](const Array& t, const Array& y, const None&) {
            return negative(cast(k[which], DType::f32) * t * y);
          }};
          const auto sol =
              diffeqsolve(f, ode::Tsit5(), 0.0f, 1.0f, none, full({}, 1.5f), none,
                          {.saveat = {.t1 = true, .ts = {0.5}},
                           .controller = ode::PidController{.rtol = 1e-6, .atol = 1e-6},
                           .adjoint = back,
                           .max_steps = 64});
          return sum(sol.ys);
        })(rates);
      },
      f64({0.3, 1.3}), test::i32(1));
  EXPECT_EQ(all[0][0], 0);
  EXPECT_NEAR(all[0][1], -0.5 * at(1.3, 1) - 0.125 * at(1.3, 0.5), 1e-5);
}

TEST(OdeBacksolveCorners, NeedsNoBoundOfSteps) {
  const auto slope = test::run(
      [](const Array& k) {
        return grad([](const Array& x) {
          return diffeqsolve(sinks, ode::Dopri8(), 0.0, 1.0, none, start(), x,
                             {.controller = tight, .adjoint = back, .max_steps = unbounded})
              .y1;
        })(k);
      },
      f64(1.3));
  EXPECT_NEAR(slope[0], -0.5 * at(1.3, 1), 1e-8);
}

template <class Solve>
void expect_refused(const std::string& what, const Solve& solve, const ode::SaveAt& saveat = {}) {
  const ode::SolveOptions options{.saveat = saveat, .adjoint = back};
  EXPECT_THAT(test::usage_error_of([&] { return solve(start(), options); }), HasSubstr(what));
}

TEST(OdeBacksolveCorners, RefusesTermsWithoutAdjointEquations) {
  const auto field = [](const Array&, const Array& y, const None&) { return negative(y); };
  const auto by = [&](double end) {
    return [=](const Array& y, const ode::SolveOptions& o) {
      return diffeqsolve(decay, ode::Tsit5(), 0.0, end, 0.1, y, none, o).y1;
    };
  };
  expect_refused("there is no way back from infinity", by(std::numeric_limits<double>::infinity()));
  expect_refused("a solver_state joins steps", by(1), {.t1 = true, .solver_state = true});
  expect_refused("an event is not one of them", [](const Array& y, const ode::SolveOptions& o) {
    return diffeqsolve(
               decay, ode::Tsit5(), 0.0, 1.0, 0.1, y, none, o,
               ode::event([](const Array&, const Array& x, const None&) { return x - 0.5; }))
        .y1;
  });
  expect_refused("these are driven by a path", [&](const Array& y, const ode::SolveOptions& o) {
    const ode::VirtualBrownianTree<Array> path(0.0, 1.0, 0.1, y, random::key(1));
    return diffeqsolve(ode::MultiTerm(ode::OdeTerm{field}, ode::ControlTerm(field, path)),
                       ode::EulerMaruyama(), 0.0, 1.0, 0.1, y, none, o)
        .y1;
  });
  expect_refused("those of a delay equation", [](const Array& y, const ode::SolveOptions& o) {
    const ode::DelayTerm late([](const Array& t, const Array&, const ode::History<Array>& past,
                                 const None&) { return negative(past(t - 1.0)); },
                              [](const Array&) { return start(); }, {.delays = {1.0}});
    return diffeqsolve(late, ode::Tsit5(), 0.0, 1.0, 0.1, y, none, o).y1;
  });
  expect_refused("solve to_ode of it", [&](const Array& y, const ode::SolveOptions& o) {
    return diffeqsolve(ode::PartitionedTerm(ode::OdeTerm{field}, ode::OdeTerm{field}),
                       ode::VelocityVerlet(), 0.0, 1.0, 0.1, std::pair{y, y}, none, o)
        .y1.first;
  });
}

}  // namespace
}  // namespace gnomon::testing
