// tests/engine/ode_sde_device_test.cpp -- ensembles of stochastic equations on the device: one
// kernel, the numbers of the host reference, paths of their own.
#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class Sde : public DeviceTest {};

const auto drift = [](const Array&, const Array& y, const None&) { return 0.5f - y; };
const auto diffusion = [](const Array&, const Array& y, const None&) { return 0.6f * cos(y); };

/// Ends of many solves whose keys come from one, and the steps they took.
template <class MakePath>
auto ensemble(const ode::Solver& solver, const ode::Controller& controller, MakePath make,
              Dim lanes) {
  return [=](const Array& words) {
    return vmap([=](const Key& key) {
      const auto sol = ode::diffeqsolve(
          ode::MultiTerm(ode::OdeTerm{drift}, ode::ControlTerm(diffusion, make(key.clone()))),
          solver, 0.0f, 1.0f, 1.0f / 32, full({}, 0.4f), none, {.controller = controller});
      return std::pair{sol.y1, sol.stats.steps};
    })(random::split(Key(words), lanes));
  };
}

template <class F>
void expect_one_kernel_like_the_host(Runtime& rt, F solve, bool own_steps) {
  auto compiled = jit(rt, solve, {.name = "sde"});
  const std::vector<std::uint32_t> words{0, 5};
  const auto [ends, steps] = compiled(rt.from_host(words));
  EXPECT_EQ(compiled.kernel_count(), 1) << compiled.text("fusion");
  const auto want = test::run_all(solve, test::host(DType::u32, {2}, {0, 5}));
  const auto got = rt.to_host<float>(ends);
  const auto taken = rt.to_host<std::int32_t>(steps);
  ASSERT_EQ(got.size(), want[0].size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Lanes that took another number of steps took a decision on the edge another way.
    if (taken[i] != static_cast<std::int32_t>(want[1][i])) continue;
    ++same;
    EXPECT_NEAR(got[i], want[0][i], own_steps ? 1e-3 : 2e-5) << i;
  }
  EXPECT_GE(same, got.size() * 9 / 10);
  EXPECT_EQ(own_steps, *std::min_element(taken.begin(), taken.end()) !=
                           *std::max_element(taken.begin(), taken.end()));
}

TEST_F(Sde, PathsByTheNumberOfTheStepAreOneKernel) {
  expect_one_kernel_like_the_host(
      rt,
      ensemble(
          ode::EulerMaruyama(), ode::ConstantStepSize{},
          [](Key key) { return ode::IndexedBrownianPath(zeros({}), std::move(key)); }, 300),
      false);
}

TEST_F(Sde, PathsAsFunctionsOfTimeAreOneKernelInWhichEveryLaneTakesItsOwnSteps) {
  expect_one_kernel_like_the_host(rt,
                                  ensemble(
                                      ode::SPaRK(), ode::PidController{.rtol = 0, .atol = 3e-3f},
                                      [](Key key) {
                                        return ode::VirtualBrownianTree(0.0, 1.0, 1e-3, zeros({}),
                                                                        std::move(key),
                                                                        ode::LevyArea::space_time);
                                      },
                                      100),
                                  true);
}

}  // namespace
}  // namespace gnomon::testing
