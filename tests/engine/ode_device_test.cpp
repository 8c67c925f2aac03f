// tests/engine/ode_device_test.cpp -- ensembles on the device: one kernel, steps by lane, and
// gradients.
#include <array>
#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

class Ode : public DeviceTest {};

struct State {
  Array x, y, z;
};
const ode::OdeTerm lorenz{[](const Array&, const State& s, const Array& rho) {
  return State{10.0f * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - (8.0f / 3.0f) * s.z};
}};
State start() { return {ones({}), zeros({}), zeros({})}; }
const ode::PidController pid{.rtol = 1e-5f, .atol = 1e-5f};

std::vector<float> sweep(int n) {
  std::vector<float> rho;
  for (int i = 0; i < n; ++i)
    rho.push_back(28.0f * static_cast<float>(i) / static_cast<float>(n - 1));
  return rho;
}

/// The same in f64 by small steps.
std::array<double, 3> reference(double rho, double end) {
  std::array<double, 3> p{1, 0, 0};
  const int steps = 20000;
  const double h = end / steps;
  const auto field = [&](const std::array<double, 3>& s) {
    return std::array<double, 3>{10 * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1],
                                 s[0] * s[1] - 8.0 / 3 * s[2]};
  };
  const auto along = [](std::array<double, 3> a, double c, const std::array<double, 3>& k) {
    for (std::size_t i = 0; i < 3; ++i) a[i] += c * k[i];
    return a;
  };
  for (int i = 0; i < steps; ++i) {
    const auto a = field(p), b = field(along(p, h / 2, a)), c = field(along(p, h / 2, b)),
               d = field(along(p, h, c));
    p = along(along(along(along(p, h / 6, a), h / 3, b), h / 3, c), h / 6, d);
  }
  return p;
}

TEST_F(Ode, AnEnsembleIsOneKernelInWhichEveryLaneTakesItsOwnSteps) {
  const auto one = [](const Array& rho) {
    const auto sol =
        diffeqsolve(lorenz, ode::Dopri5(), 0.0f, 2.0f, 0.01f, start(), rho, {.controller = pid});
    return std::pair{sol.y1, sol.stats.steps};
  };
  auto solve = jit(rt, vmap(one), {.name = "ode_lorenz", .max_traces = 1});
  const std::vector<float> rho = sweep(33);
  const auto [end, taken] = solve(rt.from_host(rho));
  EXPECT_EQ(solve.kernel_count(), 1) << solve.text("fusion");
  EXPECT_NE(solve.text("fusion").find("every lane runs its own trips"), std::string::npos)
      << solve.text("fusion");
  const auto x = rt.to_host<float>(end.x), z = rt.to_host<float>(end.z);
  for (std::size_t i = 0; i < rho.size(); i += 8) {
    const auto want = reference(rho[i], 2);
    EXPECT_NEAR(x[i], want[0], 0.03) << rho[i];  // 1e-3 of the attractor's size
    EXPECT_NEAR(z[i], want[2], 0.03) << rho[i];
  }
  const auto steps = rt.to_host<std::int32_t>(taken);
  EXPECT_LT(*std::min_element(steps.begin(), steps.end()),
            *std::max_element(steps.begin(), steps.end()));
}

TEST_F(Ode, AWholeSolutionComesOutOfAnEnsemble) {
  auto solve =
      jit(rt, vmap([](const Array& rho) {
            return diffeqsolve(
                lorenz, ode::Tsit5(), 0.0f, 1.0f, none, start(), rho,
                {.saveat = {.t1 = true, .dense = true}, .controller = pid, .max_steps = 64});
          }));
  const std::vector<float> rho = sweep(5);
  const auto sol = solve(rt.from_host(rho));
  ode::throw_if_failed(rt, sol);
  EXPECT_EQ(rt.to_host<float>(sol.y1.x), rt.to_host<float>(sol.ys.x));
  EXPECT_EQ(rt.to_host<float>(sol.t1), std::vector<float>(5, 1.0f));
  // An interpolation is a tree: another function takes it.
  auto at = jit(rt, vmap([](const ode::Interpolation<State>& f) { return f.evaluate(0.4).x; }));
  const auto x = rt.to_host<float>(at(*sol.interpolation));
  for (std::size_t i = 0; i < rho.size(); ++i)
    EXPECT_NEAR(x[i], reference(rho[i], 0.4)[0], 1e-3) << rho[i];
}

TEST_F(Ode, LanesSaveAtTheirOwnSteps) {
  const auto one = [](const Array& rho) {
    const auto sol =
        diffeqsolve(lorenz, ode::Tsit5(), 0.0f, 1.0f, 0.01f, start(), rho,
                    {.saveat = {.t1 = true, .ts = {0.25, 0.5, 0.75}}, .controller = pid});
    return std::tuple{sol.ys.x, sol.count, sol.result};
  };
  auto solve = jit(rt, vmap(one), {.name = "ode_saves"});
  const std::vector<float> rho = sweep(9);
  const auto [x, count, result] = solve(rt.from_host(rho));
  EXPECT_NE(solve.text("fusion").find("every lane runs its own trips"), std::string::npos)
      << solve.text("fusion");
  for (std::int32_t n : rt.to_host<std::int32_t>(count)) EXPECT_EQ(n, 4);
  const auto rows = rt.to_host<float>(x);
  for (std::size_t i = 0; i < rho.size(); i += 4)
    for (int k = 0; k < 4; ++k)
      EXPECT_NEAR(rows[i * 4 + static_cast<std::size_t>(k)], reference(rho[i], 0.25 * (k + 1))[0],
                  1e-3)
          << "system " << i << ", row " << k;
}

TEST_F(Ode, FailedLanesAreCounted) {
  // y' = y^2 from y0 is infinite at 1 / y0.
  const ode::OdeTerm square{[](const Array&, const Array& y, const None&) { return y * y; }};
  auto solve = jit(rt, vmap([&](const Array& y0) {
                     return diffeqsolve(square, ode::Tsit5(), 0.0f, 1.0f, 0.01f, y0, none,
                                        {.controller = pid, .max_steps = 100})
                         .result;
                   }));
  struct Solved {
    Array result;
  };
  const Solved sol{solve(rt.from_host(std::vector<float>{0.5f, 2.0f, 0.25f, 4.0f}))};
  try {
    ode::throw_if_failed(rt, sol);
    FAIL();
  } catch (const ode::SolveFailed& e) {
    EXPECT_NE(std::string(e.what()).find("2 of 4 solves failed, first number 1"), std::string::npos)
        << e.what();
  }
}

// ---- stiff ensembles

/// Robertson's reactions, all rates times a factor: at t the state is that of the plain ones at
/// factor * t.
const ode::OdeTerm reactions{[](const Array&, const State& s, const Array& factor) {
  const Array a = 0.04f * s.x, b = 3e7f * s.y * s.y, c = 1e4f * s.y * s.z;
  return State{factor * (c - a), factor * (a - c - b), factor * b};
}};

struct Known {
  double t;
  std::array<double, 3> y;
};
/// Source: A. Hindmarsh, LSODE's example problem, with the digits that tighter tolerances give.
const std::vector<Known> robertson{{0.4, {0.98517, 3.3864e-5, 0.014794}},
                                   {4, {0.90552, 2.2405e-5, 0.094459}},
                                   {40, {0.71583, 9.1855e-6, 0.28416}},
                                   {400, {0.45052, 3.2232e-6, 0.54948}},
                                   {4000, {0.18320, 8.9423e-7, 0.81680}}};

TEST_F(Ode, AStiffEnsembleIsOneKernel) {
  for (const ode::Solver& solver : {ode::Solver(ode::Kvaerno5()), ode::Solver(ode::Rodas5P())}) {
    const auto one = [&](const Array& factor) {
      const auto sol = diffeqsolve(
          reactions, solver, 0.0f, 40.0f, 1e-5f, start(), factor,
          {.controller = ode::PidController{.rtol = 1e-4f, .atol = 1e-9f}, .max_steps = 200});
      return std::pair{sol.y1, sol.stats.steps};
    };
    auto solve = jit(rt, vmap(one), {.name = "ode_robertson", .max_traces = 1});
    std::vector<float> factors;
    for (int i = 0; i < 33; ++i) factors.push_back(static_cast<float>(robertson[i % 5].t / 40));
    const auto [end, taken] = solve(rt.from_host(factors));
    EXPECT_EQ(solve.kernel_count(), 1) << solve.text("fusion");
    EXPECT_NE(solve.text("fusion").find("every lane runs its own trips"), std::string::npos)
        << solve.text("fusion");
    const auto x = rt.to_host<float>(end.x), y = rt.to_host<float>(end.y),
               z = rt.to_host<float>(end.z);
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const auto& want = robertson[i % 5].y;
      EXPECT_NEAR(x[i], want[0], 3e-4) << solver.name() << ", " << i;
      EXPECT_NEAR(y[i], want[1], 3e-3 * want[1]) << solver.name() << ", " << i;
      EXPECT_NEAR(z[i], want[2], 3e-4) << solver.name() << ", " << i;
    }
    const auto steps = rt.to_host<std::int32_t>(taken);
    EXPECT_LT(steps[0], steps[4]);
  }
}

TEST_F(Ode, ALargeStiffSystemRuns) {
  // Heat on a line of 16 points: the slowest mode is left.
  const int n = 16;
  const float pi = 3.14159265f;
  const ode::OdeTerm heat{[&](const Array&, const Array& u, const None&) {
    const Array cold = zeros({1});
    const Array all = concatenate({cold, u, cold});
    return 289.0f * (slice(all, {0}, {n}) - 2 * u + slice(all, {2}, {n + 2}));
  }};
  std::vector<float> start(n);
  for (int i = 0; i < n; ++i) {
    const float x = static_cast<float>(i + 1) / (n + 1);
    start[static_cast<std::size_t>(i)] = std::sin(pi * x) + std::sin(7 * pi * x);
  }
  const double rate = 4 * 289 * std::pow(std::sin(pi / 34), 2);
  for (const ode::Solver& solver : {ode::Solver(ode::Kvaerno3()), ode::Solver(ode::Rodas5P())}) {
    auto solve = jit(rt, [&](const Array& u) {
      return diffeqsolve(heat, solver, 0.0f, 0.1f, 1e-3f, u, none, {.controller = pid}).y1;
    });
    const auto u = rt.to_host<float>(solve(rt.from_host(start)));
    for (int i = 0; i < n; ++i) {
      const double x = static_cast<double>(i + 1) / (n + 1);
      EXPECT_NEAR(u[static_cast<std::size_t>(i)], std::exp(-0.1 * rate) * std::sin(pi * x), 2e-4)
          << solver.name() << ", " << i;
    }
  }
}

}  // namespace
}  // namespace gnomon::testing
