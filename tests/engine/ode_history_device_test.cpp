// tests/engine/ode_history_device_test.cpp -- ensembles of delay equations and of equations that
// data drives, on the device.
#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

class OdeHistory : public DeviceTest {};

/// All steps of a lane are in one kernel, whatever comes before and behind it.
void expect_one_loop(const std::string& fusion) {
  const std::string lane = "every lane runs its own trips";
  const std::size_t at = fusion.find(lane);
  EXPECT_NE(at, std::string::npos) << fusion;
  EXPECT_EQ(fusion.find(lane, at + 1), std::string::npos) << fusion;
}

const auto decay_before = [](const Array& t, const Array&, const ode::History<Array>& y,
                             const Array& tau) { return -y(t - tau); };
const auto one = [](const Array& t) { return ones_like(t); };

/// y' = -y(t - tau) behind y = 1, and its derivative by tau, by the method of steps.
std::pair<double, double> known(double tau, double t) {
  double sum = 1, slope = 0, factorial = 1;
  for (int k = 1; t - (k - 1) * tau >= 0; ++k) {
    const double sign = k % 2 ? -1 : 1, x = t - (k - 1) * tau;
    slope += sign * -(k - 1) * std::pow(x, k - 1) / factorial;
    factorial *= k;
    sum += sign * std::pow(x, k) / factorial;
  }
  return {sum, slope};
}

auto solve(const Array& tau, Dim remembered) {
  return diffeqsolve(
      ode::DelayTerm(decay_before, one, {.delays = {tau}, .remembered = remembered}), ode::Tsit5(),
      0.0f, 3.0f, none, ones({}), tau,
      {.controller = ode::PidController{.rtol = 1e-5f, .atol = 1e-5f}, .max_steps = 64});
}

TEST_F(OdeHistory, LanesOfOneKernelHaveTheirOwnDelaysAndDerivativesByThem) {
  std::vector<float> tau;
  for (int i = 0; i < 33; ++i) tau.push_back(0.5f + 0.03f * static_cast<float>(i));
  for (const Dim remembered : {0, 24}) {
    auto all = jit(rt, vmap([&](const Array& x) {
                     const auto sol = solve(x, remembered);
                     return std::tuple{sol.y1, sol.stats.steps, sol.result};
                   }),
                   {.name = "ode_delay", .max_traces = 1});
    const auto [end, steps, result] = all(rt.from_host(tau));
    expect_one_loop(all.text("fusion"));
    const auto y = rt.to_host<float>(end);
    const auto n = rt.to_host<std::int32_t>(steps);
    for (std::int32_t code : rt.to_host<std::int32_t>(result)) EXPECT_EQ(code, 0);
    for (std::size_t i = 0; i < tau.size(); ++i)
      EXPECT_NEAR(y[i], known(tau[i], 3).first, 1e-4) << tau[i];
    EXPECT_GT(n[0], n[32]);
  }
  auto slopes = jit(rt, vmap(grad([](const Array& x) { return solve(x, 0).y1; })));
  const auto s = rt.to_host<float>(slopes(rt.from_host(tau)));
  for (std::size_t i = 0; i < tau.size(); ++i)
    EXPECT_NEAR(s[i], known(tau[i], 3).second, 1e-3) << tau[i];
}

TEST_F(OdeHistory, DataDrivesLanesOfOneKernel) {
  const std::vector<double> ts{0, 0.5, 0.75, 1.5, 2};
  const auto pieces = [&](const Array& ys) { return ode::backward_hermite_coefficients(ts, ys); };
  const auto end = [&](const ode::CubicCoefficients<Array>& coefficients) {
    const auto field = [](const Array&, const Array& y, const None&) { return y; };
    const ode::CubicInterpolation path(ts, coefficients);
    return diffeqsolve(
               to_ode(ode::ControlTerm(field, path)), ode::Tsit5(), 0.0f, 2.0f, none, ones({}),
               none,
               {.controller = ode::ClipStepSize{.controller = ode::PidController{.rtol = 1e-5f,
                                                                                 .atol = 1e-5f},
                                                .step_ts = {0.5, 0.75, 1.5}},
                .max_steps = 128})
        .y1;
  };
  std::vector<float> data;
  for (int i = 0; i < 16 * 5; ++i) data.push_back(std::sin(0.7f * static_cast<float>(i)));
  const Array rows = reshape(rt.from_host(data), {16, 5});
  const auto coefficients = jit(rt, vmap(pieces))(rows);
  auto solve_all = jit(rt, vmap(end));
  const auto y = rt.to_host<float>(solve_all(coefficients));
  expect_one_loop(solve_all.text("fusion"));
  auto slopes_of = jit(rt, vmap(grad([&](const Array& ys) { return end(pieces(ys)); })));
  const auto s = rt.to_host<float>(slopes_of(rows));
  for (std::size_t i = 0; i < 16; ++i) {
    const double want = std::exp(data[5 * i + 4] - data[5 * i]);
    EXPECT_NEAR(y[i], want, 2e-4 * want);
    EXPECT_NEAR(s[5 * i + 4], want, 2e-3 * want);
    EXPECT_NEAR(s[5 * i], -want, 2e-3 * want);
    for (std::size_t k = 1; k < 4; ++k) EXPECT_NEAR(s[5 * i + k], 0, 2e-3 * want);
  }
}

}  // namespace
}  // namespace gnomon::testing
