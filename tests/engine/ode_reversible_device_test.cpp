// tests/engine/ode_reversible_device_test.cpp -- gradients by undone steps on the device: their
// memory, and ensembles in which every lane goes back its own steps.
#include <algorithm>
#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

class OdeReversibleDevice : public DeviceTest {
 protected:
  /// Gradients in the start and a rate of each of `width` numbers: y' = sin(w y).
  struct Moving {
    Array y0, w;
  };
  struct Found {
    std::vector<float> y0, w;
    std::uint64_t peak;
  };
  Found gradient(const ode::Adjoint& adjoint, const ode::Controller& controller, int steps) {
    const ode::OdeTerm wave{
        [](const Array&, const Array& y, const Array& w) { return sin(w * y); }};
    auto f = jit(rt, [&](const Moving& at) {
      return grad([&](const Moving& m) {
        const auto sol =
            diffeqsolve(wave, ode::ReversibleHeun(), 0.0f, 1.0f, 1.0f / static_cast<float>(steps),
                        m.y0, m.w, {.controller = controller, .adjoint = adjoint});
        return sum(sol.y1 * sol.y1);
      })(at);
    });
    std::vector<float> start, rates;
    for (int i = 0; i < 4096; ++i) {
      start.push_back(0.1f + 1e-4f * static_cast<float>(i));
      rates.push_back(1 - 1e-4f * static_cast<float>(i));
    }
    const Moving got = f(Moving{rt.from_host(start), rt.from_host(rates)});
    return {rt.to_host<float>(got.y0), rt.to_host<float>(got.w), f.memory_report().peak()};
  }
  static void expect_close(const std::vector<float>& got, const std::vector<float>& want,
                           float tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << i;
  }
};

TEST_F(OdeReversibleDevice, MemoryDoesNotGrowWithTheSteps) {
  const ode::ReversibleAdjoint undone{};
  const Found few = gradient(undone, ode::ConstantStepSize{}, 64),
              many = gradient(undone, ode::ConstantStepSize{}, 4096);
  EXPECT_EQ(many.peak, few.peak);
  // A row of 16 KiB for each of 64 steps, had they been kept.
  const Found kept = gradient(ode::StoredAdjoint{}, ode::ConstantStepSize{}, 64);
  EXPECT_GT(kept.peak, 3 * few.peak);
  expect_close(few.y0, kept.y0, 1e-5f);
  expect_close(few.w, kept.w, 1e-5f);
  // Of steps that a controller chose one number each, of at most 4096.
  const Found chosen = gradient(undone, ode::PidController{.rtol = 1e-4f, .atol = 1e-4f}, 64);
  EXPECT_LT(chosen.peak, few.peak + 4096 * sizeof(float) + 16384);
  expect_close(chosen.y0, many.y0, 2e-3f);
}

TEST_F(OdeReversibleDevice, LanesGoBackTheirOwnSteps) {
  struct Point {
    Array x, y, z;
  };
  const ode::OdeTerm lorenz{[](const Array&, const Point& s, const Array& rho) {
    return Point{10.0f * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - (8.0f / 3.0f) * s.z};
  }};
  const auto by = [&](const ode::Adjoint& adjoint) {
    const auto end = [&, adjoint](const Array& rho) {
      const Point start{ones({}), zeros({}), zeros({})};
      const auto sol = diffeqsolve(lorenz, ode::ReversibleHeun(), 0.0f, 0.2f, 0.01f, start, rho,
                                   {.saveat = {.t1 = true, .ts = {0.05, 0.15}},
                                    .controller = ode::PidController{.rtol = 1e-3f, .atol = 1e-3f},
                                    .adjoint = adjoint,
                                    .max_steps = 256});
      return sol.y1.x + sum(sol.ys.z);
    };
    auto f = jit(rt, vmap(grad(end)));
    std::vector<float> rho;
    for (int i = 0; i < 33; ++i) rho.push_back(static_cast<float>(i));
    const std::vector<float> got = rt.to_host<float>(f(rt.from_host(rho)));
    return got;
  };
  expect_close(by(ode::ReversibleAdjoint{}), by(ode::RecursiveCheckpointAdjoint{}), 1e-4f);
}

TEST_F(OdeReversibleDevice, StochasticEnsemblesKeepNothingOfEqualSteps) {
  const auto at = [&](int steps, const ode::Adjoint& adjoint) {
    const auto end = [&, adjoint](const Array& a, const Key& key) {
      const auto drift = [](const Array&, const Array& y, const Array& rate) { return -rate * y; };
      const auto diffusion = [](const Array&, const Array& y, const Array& rate) {
        return 0.5f * sin(rate * y);
      };
      const ode::VirtualBrownianTree path(0.0, 1.0, 1e-4, zeros({}), key.clone());
      return diffeqsolve(ode::MultiTerm(ode::OdeTerm{drift}, ode::ControlTerm(diffusion, path)),
                         ode::ReversibleHeun(), 0.0, 1.0, 1.0 / steps, ones({}), a,
                         {.adjoint = adjoint})
          .y1;
    };
    auto f = jit(rt, [&](const Array& a) {
      return vmap([&](const Array& one, const Key& key) { return grad(end)(one, key); })(
          a, random::split(random::key(3), 64));
    });
    std::vector<float> rates;
    for (int i = 0; i < 64; ++i) rates.push_back(0.01f * static_cast<float>(i));
    const Array got = f(rt.from_host(rates));
    if (std::holds_alternative<ode::ReversibleAdjoint>(adjoint)) {
      EXPECT_LE(f.kernel_count(), 5);
    }
    return std::pair{rt.to_host<float>(got), f.memory_report().peak()};
  };
  const auto few = at(64, ode::ReversibleAdjoint{}), many = at(1024, ode::ReversibleAdjoint{}),
             kept = at(64, ode::RecursiveCheckpointAdjoint{});
  EXPECT_EQ(few.second, many.second);
  expect_close(few.first, kept.first, 1e-4f);
}

}  // namespace
}  // namespace gnomon::testing
