// tests/engine/ode_adjoint_test.cpp -- derivatives of solves by every adjoint, against closed
// forms.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

/// y' = -a y^2 from y(0) = y0: y0 / (1 + a y0 t).
const ode::OdeTerm square{
    [](const Array&, const Array& y, const Array& a) { return negative(a * y * y); }};

struct Inputs {
  Array y0, a, t1;
};
constexpr double y0 = 1.5, a = 0.7, t1 = 2.0, below = 1 + a * y0 * t1;
const Numbers gradient{1 / (below * below), -y0* y0* t1 / (below * below),
                       -a* y0* y0 / (below * below)};

auto solve_by(const ode::Adjoint& adjoint, const ode::Controller& controller) {
  return [=](const Inputs& in) {
    return diffeqsolve(square, ode::Tsit5(), 0.0, in.t1, 0.125, in.y0, in.a,
                       {.controller = controller, .adjoint = adjoint, .max_steps = 48})
        .y1;
  };
}

const ode::PidController pid{.rtol = 1e-9, .atol = 1e-9};

Numbers reverse(const ode::Adjoint& adjoint, const ode::Controller& controller) {
  const auto all = test::run_all(
      [&](const Array& x, const Array& y, const Array& z) {
        return grad(solve_by(adjoint, controller))(Inputs{x, y, z});
      },
      f64(y0), f64(a), f64(t1));
  return {all[0][0], all[1][0], all[2][0]};
}

void expect_gradient(const ode::Adjoint& adjoint, const ode::Controller& controller, double within,
                     const char* name) {
  const Numbers got = reverse(adjoint, controller);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], gradient[i], within) << name << ", " << i;
}

TEST(OdeAdjoint, EveryOneGivesTheGradient) {
  expect_gradient(ode::RecursiveCheckpointAdjoint{}, pid, 1e-7, "recursive");
  expect_gradient(ode::RecursiveCheckpointAdjoint{3}, pid, 1e-7, "three checkpoints");
  expect_gradient(ode::DirectAdjoint{}, pid, 1e-7, "direct");
  expect_gradient(ode::StoredAdjoint{}, pid, 1e-7, "stored");
  expect_gradient(ode::RecursiveCheckpointAdjoint{}, ode::ConstantStepSize{}, 1e-5, "equal steps");
}

TEST(OdeAdjoint, ForwardModeAgreesAndRefusesTheWayBack) {
  const auto tangents = test::run_all(
      [&](const Array& x, const Array& y, const Array& z) {
        const auto along = [&](const Inputs& d) {
          return jvp(solve_by(ode::ForwardMode{}, pid), Inputs{x, y, z}, d).second;
        };
        const Array one = ones_like(x), zero = zeros_like(x);
        return std::tuple{along({one, zero, zero}), along({zero, one, zero}),
                          along({zero, zero, one})};
      },
      f64(y0), f64(a), f64(t1));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(tangents[i][0], gradient[i], 1e-7) << i;
  const auto text = test::usage_error_of(
      [&](const Array& x) {
        return grad(solve_by(ode::ForwardMode{}, pid))(Inputs{x, x, x}).a;
      },
      f64(y0));
  EXPECT_THAT(text, ::testing::HasSubstr("lax"));
}

TEST(OdeAdjoint, GradientsOfSavedRowsReachTheStart) {
  // d/dy0 of the sum over three times of y0 / (1 + a y0 t).
  double want = 0;
  for (double t : {0.5, 1.0, 1.9}) want += 1 / std::pow(1 + a * y0 * t, 2);
  const auto loss = [](const Array& start) {
    const auto sol =
        diffeqsolve(square, ode::Tsit5(), 0.0, t1, none, start, full({}, a, DType::f64),
                    {.saveat = {.ts = {0.5, 1.0, 1.9}}, .controller = pid, .max_steps = 64});
    return sum(sol.ys);
  };
  EXPECT_NEAR(test::run([&](const Array& x) { return grad(loss)(x); }, f64(y0))[0], want, 1e-7);
}

TEST(OdeAdjoint, SecondDerivativesComeOut) {
  // d^2/dy0^2 y0 / (1 + a y0 t) = -2 a t / (1 + a y0 t)^3.
  const auto f = [](const Array& start) {
    return diffeqsolve(square, ode::Tsit5(), 0.0, t1, none, start, full({}, a, DType::f64),
                       {.controller = pid, .max_steps = 64})
        .y1;
  };
  const double want = -2 * a * t1 / (below * below * below);
  EXPECT_NEAR(test::run([&](const Array& x) { return grad(grad(f))(x); }, f64(y0))[0], want, 1e-6);
}

}  // namespace
}  // namespace gnomon::testing
