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

/// dy = mu y dt + sigma y dW of Stratonovich: exp(mu t + sigma W).
constexpr float mu = 0.1f, sigma = 0.4f;
const ode::OdeTerm device_drift{[](const Array&, const Array& y, const None&) { return mu * y; }};
const auto device_diffusion = [](const Array&, const Array& y, const None&) { return sigma * y; };

std::vector<std::uint32_t> words(std::size_t lanes) {
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < lanes; ++i) {
    all.push_back(static_cast<std::uint32_t>(i));
    all.push_back(5);
  }
  return all;
}

TEST_F(Sde, PathsByTheNumberOfTheStepAreOneKernelWithTheNumbersOfTheHost) {
  constexpr std::size_t lanes = 300;
  const auto solve = [](const Array& keys) {
    return vmap([](const Key& key) {
      const ode::IndexedBrownianPath path(zeros({}), key.clone());
      return ode::diffeqsolve(
                 ode::MultiTerm(device_drift, ode::ControlTerm(device_diffusion, path)),
                 ode::EulerMaruyama(), 0.0f, 1.0f, 1.0f / 32, ones({}))
          .y1;
    })(Keys(keys));
  };
  auto compiled = jit(rt, solve, {.name = "sde_indexed"});
  const auto got = rt.to_host<float>(compiled(rt.from_host(words(lanes), {lanes, 2})));
  EXPECT_EQ(compiled.kernel_count(), 1) << compiled.text("fusion");
  const std::vector<std::uint32_t> all = words(lanes);
  const auto want = test::run(
      solve, test::host(DType::u32, {lanes, 2}, std::vector<double>(all.begin(), all.end())));
  for (std::size_t i = 0; i < lanes; ++i) EXPECT_NEAR(got[i], want[i], 2e-5 * want[i]) << i;
}

TEST_F(Sde, PathsAsFunctionsOfTimeLetEveryLaneTakeItsOwnSteps) {
  constexpr std::size_t lanes = 100;
  const auto path_of = [](const Key& key) {
    return ode::VirtualBrownianTree(0.0, 1.0, 1e-4, zeros({}), key.clone());
  };
  const auto solve = [&](const Array& keys) {
    return vmap([&](const Key& key) {
      const auto sol = ode::diffeqsolve(
          ode::MultiTerm(device_drift, ode::ControlTerm(device_diffusion, path_of(key))),
          ode::Heun(), 0.0f, 1.0f, 1.0f / 8, ones({}), none,
          {.controller = ode::PidController{.rtol = 0, .atol = 3e-3f}, .max_steps = 512});
      return std::pair{sol.y1, sol.stats.steps};
    })(Keys(keys));
  };
  const auto values = [&](const Array& keys) {
    return vmap([&](const Key& key) { return path_of(key).evaluate(ones({})); })(Keys(keys));
  };
  auto compiled = jit(rt, solve, {.name = "sde_tree"});
  const Array keys = rt.from_host(words(lanes), {lanes, 2});
  const auto [ends, steps] = compiled(keys);
  EXPECT_EQ(compiled.kernel_count(), 1) << compiled.text("fusion");
  EXPECT_NE(compiled.text("fusion").find("every lane runs its own trips"), std::string::npos)
      << compiled.text("fusion");
  const auto taken = rt.to_host<std::int32_t>(steps);
  EXPECT_LT(*std::min_element(taken.begin(), taken.end()),
            *std::max_element(taken.begin(), taken.end()));
  const auto w = rt.to_host<float>(jit(rt, values)(keys)), y = rt.to_host<float>(ends);
  const std::vector<std::uint32_t> all = words(lanes);
  const auto want = test::run(
      values, test::host(DType::u32, {lanes, 2}, std::vector<double>(all.begin(), all.end())));
  double squares = 0;
  for (std::size_t i = 0; i < lanes; ++i) {
    EXPECT_NEAR(w[i], want[i], 2e-6 * (1 + std::fabs(want[i]))) << i;
    const double exact = std::exp(mu + sigma * want[i]);
    squares += (y[i] / exact - 1) * (y[i] / exact - 1);
  }
  EXPECT_LT(std::sqrt(squares / lanes), 3e-3);
}

}  // namespace
}  // namespace gnomon::testing
