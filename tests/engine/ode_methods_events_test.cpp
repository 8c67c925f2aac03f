// tests/engine/ode_methods_events_test.cpp -- events of multistep and symplectic methods: times by
// their interpolants, and histories that begin again.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

/// x'' = -x from rest at 1 with a wall at 0 that turns the speed: x = |cos t|.
struct EventSpring {
  Array v, x;
};
const ode::PartitionedTerm event_spring(
    ode::OdeTerm{[](const Array&, const Array& x, const None&) { return -x; }},
    ode::OdeTerm{[](const Array&, const Array& v, const None&) { return v; }});
const auto wall = [](const Array&, const EventSpring& s, const None&) { return s.x; };
const auto turn = [](const Array&, const EventSpring& s, const None&) {
  return EventSpring{-s.v, s.x};
};

struct Case {
  ode::Solver solver;
  ode::FirstStep dt0;
  ode::Controller controller;
  double tolerance;
};
std::vector<Case> cases() {
  const ode::PidController pid{.rtol = 1e-9, .atol = 1e-9};
  return {{ode::Adams(), none, pid, 1e-7},
          {ode::AdamsBashforth(4), none, pid, 1e-7},
          {ode::AdamsMoulton(4), 0.01, ode::ConstantStepSize{}, 1e-7},
          {ode::Yoshida6(), 0.01, ode::ConstantStepSize{}, 1e-7},
          {ode::HalfSolver(ode::Yoshida6()), none, pid, 1e-6}};
}

template <class F>
auto with_term(const ode::Solver& solver, const F& f) {
  return solver.name().find("Adams") == 0 ? f(ode::to_ode(event_spring)) : f(event_spring);
}

TEST(OdeMethodEvents, ASolveEndsWhereANumberChangesItsSign) {
  for (const Case& c : cases()) {
    const auto t = test::run(
        [&](const Array& one) {
          return with_term(c.solver, [&](const auto& term) {
            return diffeqsolve(term, c.solver, 0.0, 3.0, c.dt0, EventSpring{zeros_like(one), one},
                               none, {.controller = c.controller}, ode::event(wall))
                .t1;
          });
        },
        f64(1.0))[0];
    EXPECT_NEAR(t, std::numbers::pi / 2, c.tolerance) << c.solver.name();
  }
}

TEST(OdeMethodEvents, BehindAWallTheyGoOn) {
  for (const Case& c : cases()) {
    const auto all = test::run_all(
        [&](const Array& one) {
          return with_term(c.solver, [&](const auto& term) {
            const auto sol = diffeqsolve(
                term, c.solver, 0.0, 6.0, c.dt0, EventSpring{zeros_like(one), one}, none,
                {.saveat = {.t1 = true, .ts = {1.0, 2.0, 5.0}}, .controller = c.controller},
                ode::event(wall, turn, {.direction = ode::Direction::down}));
            return std::tuple{sol.ys.x, sol.result};
          });
        },
        f64(1.0));
    const Numbers ts{1, 2, 5, 6};
    for (std::size_t i = 0; i < ts.size(); ++i)
      EXPECT_NEAR(all[0][i], std::fabs(std::cos(ts[i])), 10 * c.tolerance)
          << c.solver.name() << " at " << ts[i];
    EXPECT_EQ(all[1][0], 0) << c.solver.name();
  }
}

}  // namespace
}  // namespace gnomon::testing
