// tests/engine/ode_backsolve_device_test.cpp -- the adjoint equations and states at rest, on the
// device.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

class OdeBacksolveDevice : public DeviceTest {
 protected:
  /// Of the end of 4,096 coupled numbers; y' = sin(w y).
  struct Found {
    std::vector<float> gradient;
    std::uint64_t peak;
  };
  Found gradient(const ode::Adjoint& adjoint, Dim max_steps) {
    auto f = jit(rt, [&](const Array& w) {
      return grad([&](const Array& rates) {
        const ode::OdeTerm wave{
            [&](const Array&, const Array& y, const None&) { return sin(rates * y); }};
        const auto sol =
            diffeqsolve(wave, ode::Tsit5(), 0.0f, 1.0f, none, full({4096}, 0.3f), none,
                        {.saveat = {.t1 = true, .ts = {0.4, 0.7}},
                         .controller = ode::PidController{.rtol = 1e-5f, .atol = 1e-5f},
                         .adjoint = adjoint,
                         .max_steps = max_steps});
        return sum(sol.ys * sol.ys);
      })(w);
    });
    std::vector<float> rates;
    for (int i = 0; i < 4096; ++i) rates.push_back(1 - 1e-4f * static_cast<float>(i));
    const Array g = f(rt.from_host(rates));
    return {rt.to_host<float>(g), f.memory_report().peak()};
  }
};

TEST_F(OdeBacksolveDevice, MemoryDoesNotGrowWithTheSteps) {
  const Found few = gradient(ode::BacksolveAdjoint{}, 64),
              many = gradient(ode::BacksolveAdjoint{}, 4096),
              kept = gradient(ode::StoredAdjoint{}, 64);
  EXPECT_EQ(many.peak, few.peak);
  EXPECT_GT(kept.peak, 3 * few.peak);
  for (std::size_t i = 0; i < few.gradient.size(); ++i) {
    ASSERT_EQ(few.gradient[i], many.gradient[i]) << i;
    ASSERT_NEAR(few.gradient[i], kept.gradient[i], 2e-4f * (1 + std::fabs(kept.gradient[i]))) << i;
  }
}

TEST_F(OdeBacksolveDevice, EachLaneComesToItsOwnRest) {
  auto f = jit(rt, vmap(grad([](const Array& square) {
                 const ode::OdeTerm falls{
                     [&](const Array&, const Array& y, const None&) { return square - y * y; }};
                 return diffeqsolve(falls, ode::Tsit5(), 0.0f, 1e6f, none, full({}, 1.5f), none,
                                    {.controller = ode::PidController{.rtol = 1e-5f, .atol = 1e-6f},
                                     .adjoint = ode::ImplicitAdjoint{}},
                                    ode::steady_state_event(falls, 1e-4, 1e-4))
                     .y1;
               })));
  std::vector<float> squares;
  for (int i = 1; i <= 1000; ++i) squares.push_back(0.01f * static_cast<float>(i));
  const std::vector<float> slopes = rt.to_host<float>(f(rt.from_host(squares)));
  for (std::size_t i = 0; i < squares.size(); ++i)
    ASSERT_NEAR(slopes[i] * 2 * std::sqrt(squares[i]), 1, 5e-3f) << i;
}

}  // namespace
}  // namespace gnomon::testing
