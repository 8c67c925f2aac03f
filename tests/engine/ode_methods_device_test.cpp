// tests/engine/ode_methods_device_test.cpp -- ensembles by multistep and symplectic methods on the
// device: one kernel, steps by lane.
#include <algorithm>
#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

class OdeMethods : public DeviceTest {};

struct Spring {
  Array v, x;
};
/// Springs of lanes: x = cos(rate t).
std::vector<float> rates() {
  std::vector<float> all;
  for (int i = 0; i < 33; ++i) all.push_back(0.5f + 0.25f * static_cast<float>(i));
  return all;
}
const ode::PartitionedTerm spring(
    ode::OdeTerm{[](const Array&, const Array& x, const Array& rate) { return -rate * rate * x; }},
    ode::OdeTerm{[](const Array&, const Array& v, const Array&) { return v; }});

TEST_F(OdeMethods, AnEnsembleByAdamsIsOneKernelInWhichEveryLaneHasItsOrderAndSteps) {
  const auto one = [](const Array& rate) {
    const auto sol = diffeqsolve(
        ode::to_ode(spring), ode::Adams(), 0.0f, 3.0f, 0.01f, Spring{zeros({}), ones({})}, rate,
        {.controller = ode::PidController{.rtol = 1e-4f, .atol = 1e-4f}, .max_steps = 1000});
    return std::pair{sol.y1.x, sol.stats.steps};
  };
  auto solve = jit(rt, vmap(one), {.name = "ode_adams", .max_traces = 1});
  const auto [x, taken] = solve(rt.from_host(rates()));
  EXPECT_EQ(solve.kernel_count(), 1) << solve.text("fusion");
  EXPECT_NE(solve.text("fusion").find("every lane runs its own trips"), std::string::npos)
      << solve.text("fusion");
  const auto got = rt.to_host<float>(x);
  const auto steps = rt.to_host<std::int32_t>(taken);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], std::cos(3 * rates()[i]), 0.02) << rates()[i];
  EXPECT_LT(2 * steps.front(), steps.back());
}

TEST_F(OdeMethods, EqualStepsOfAdamsBeginWithARungeKuttaMethodInTheSameKernel) {
  const auto one = [](const Array& rate) {
    return diffeqsolve(ode::to_ode(spring), ode::AdamsBashforth(4), 0.0f, 3.0f, 0.01f,
                       Spring{zeros({}), ones({})}, rate)
        .y1.x;
  };
  auto solve = jit(rt, vmap(one), {.name = "ode_bashforth", .max_traces = 1});
  const auto got = rt.to_host<float>(solve(rt.from_host(rates())));
  EXPECT_EQ(solve.kernel_count(), 1) << solve.text("fusion");
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], std::cos(3 * rates()[i]), 1e-3) << rates()[i];
}

TEST_F(OdeMethods, ASymplecticEnsembleIsOneKernel) {
  const auto one = [](const Array& rate) {
    const Spring end =
        diffeqsolve(spring, ode::Yoshida4(), 0.0f, 3.0f, 0.02f, Spring{zeros({}), ones({})}, rate)
            .y1;
    return std::pair{end.x, end.v};
  };
  auto solve = jit(rt, vmap(one), {.name = "ode_yoshida", .max_traces = 1});
  const auto [x, v] = solve(rt.from_host(rates()));
  EXPECT_EQ(solve.kernel_count(), 1) << solve.text("fusion");
  const auto got = rt.to_host<float>(x), speed = rt.to_host<float>(v);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float rate = rates()[i];
    EXPECT_NEAR(got[i], std::cos(3 * rate), 2e-3) << rate;
    EXPECT_NEAR(speed[i] * speed[i] + rate * rate * got[i] * got[i], rate * rate,
                1e-3 * rate * rate)
        << rate;
  }
}

TEST_F(OdeMethods, StepsOfLanesByTheirHalvesAreOneKernel) {
  const auto one = [](const Array& rate) {
    const auto sol = diffeqsolve(spring, ode::HalfSolver(ode::Yoshida4()), 0.0f, 3.0f, 0.01f,
                                 Spring{zeros({}), ones({})}, rate,
                                 {.controller = ode::PidController{.rtol = 1e-4f, .atol = 1e-4f}});
    return std::pair{sol.y1.x, sol.stats.steps};
  };
  auto solve = jit(rt, vmap(one), {.name = "ode_halves", .max_traces = 1});
  const auto [x, taken] = solve(rt.from_host(rates()));
  EXPECT_EQ(solve.kernel_count(), 1) << solve.text("fusion");
  const auto got = rt.to_host<float>(x);
  const auto steps = rt.to_host<std::int32_t>(taken);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], std::cos(3 * rates()[i]), 0.01) << rates()[i];
  EXPECT_LT(2 * steps.front(), steps.back());
}

TEST_F(OdeMethods, LanesGoOnWhereTheyEnded) {
  // From one program to another: all at one time, and each where its steps are used up.
  const ode::PidController pid{.rtol = 1e-4f, .atol = 1e-4f};
  const auto solve = [&](const Array& t0, const Spring& y, const Array& rate, ode::SolveOptions o) {
    o.controller = pid;
    o.saveat = {.t1 = true, .solver_state = true};
    return diffeqsolve(ode::to_ode(spring), ode::Adams(), t0, 3.0f, 0.01f, y, rate, o);
  };
  auto whole = jit(rt, vmap([&](const Array& rate) {
                     return solve(zeros({}), {zeros({}), ones({})}, rate, {}).y1;
                   }));
  auto first =
      jit(rt, vmap([&](const Array& rate) {
            const auto sol = solve(zeros({}), {zeros({}), ones({})}, rate, {.max_steps = 12});
            return std::tuple{sol.t1, sol.y1, *sol.solver_state};
          }));
  auto second = jit(rt, vmap([&](const Array& t, const Spring& y, const ode::SolverState& state,
                                 const Array& rate) {
                      return diffeqsolve(ode::to_ode(spring), ode::Adams(), t, 3.0f, none, y, rate,
                                         {.controller = pid, .solver_state = state})
                          .y1;
                    }));
  const Array all = rt.from_host(rates());
  const auto [t, y, state] = first(all);
  const auto times = rt.to_host<float>(t);
  EXPECT_GT(times.front(), times.back());
  const auto got = rt.to_host<float>(second(t, y, state, all).x),
             want = rt.to_host<float>(whole(all).x);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
}

}  // namespace
}  // namespace gnomon::testing
