// tests/engine/ode_events_test.cpp -- events that end a solve or change its state, against closed
// forms.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

constexpr double gravity = 9.81;

struct Ball {
  Array height, speed;
};
const ode::OdeTerm falling{[](const Array&, const Ball& b, const None&) {
  return Ball{b.speed, full_like(b.speed, -gravity)};
}};
const auto height = [](const Array&, const Ball& b, const None&) { return b.height; };
const ode::PidController event_pid{.rtol = 1e-8, .atol = 1e-8};

Ball dropped(const Array& from) { return {from, zeros_like(from)}; }

TEST(OdeEvents, ASolveEndsWhereANumberChangesItsSign) {
  const auto all = test::run_all(
      [](const Array& from) {
        const auto sol =
            diffeqsolve(falling, ode::Tsit5(), 0.0, 10.0, none, dropped(from), none,
                        {.saveat = {.t1 = true, .ts = {0.1, 0.2, 5.0}}, .controller = event_pid},
                        ode::event(height));
        return std::tuple{sol.t1,    sol.y1.height, sol.y1.speed, sol.result,
                          sol.event, sol.count,     sol.ts,       sol.ys.height};
      },
      f64(2.0));
  const double end = std::sqrt(2 * 2.0 / gravity);
  EXPECT_NEAR(all[0][0], end, 1e-13);
  EXPECT_NEAR(all[1][0], 0, 1e-12);
  EXPECT_NEAR(all[2][0], -gravity * end, 1e-12);
  EXPECT_EQ(static_cast<ode::Result>(all[3][0]), ode::Result::event_occurred);
  EXPECT_EQ(all[4][0], 0);
  // What comes behind the event is not saved.
  EXPECT_EQ(all[5][0], 3);
  EXPECT_NEAR(all[6][2], end, 1e-13);
  EXPECT_EQ(all[6][3], 0);
  EXPECT_NEAR(all[7][1], 2 - gravity / 2 * 0.04, 1e-12);
}

TEST(OdeEvents, ABallBouncesAndGoesOn) {
  constexpr double kept = 0.8;
  const auto all = test::run_all(
      [&](const Array& from) {
        const auto bounce = [](const Array&, const Ball& b, const None&) {
          return Ball{zeros_like(b.height), -kept * b.speed};
        };
        const auto sol =
            diffeqsolve(falling, ode::Tsit5(), 0.0, 2.0, none, dropped(from), none,
                        {.saveat = {.ts = {0.5, 1.5}}, .controller = event_pid},
                        ode::event(height, bounce, {.direction = ode::Direction::down}));
        return std::tuple{sol.y1.height, sol.y1.speed, sol.result, sol.event, sol.ys.height};
      },
      f64(1.0));
  const auto known = [](double t) {
    double speed = std::sqrt(2 * gravity), at = speed / gravity;  // of the first impact
    if (t < at) return std::pair{1 - gravity / 2 * t * t, -gravity * t};
    for (;;) {
      speed *= kept;
      const double flight = 2 * speed / gravity, since = t - at;
      if (since < flight)
        return std::pair{speed * since - gravity / 2 * since * since, speed - gravity * since};
      at += flight;
    }
  };
  EXPECT_NEAR(all[0][0], known(2).first, 1e-10);
  EXPECT_NEAR(all[1][0], known(2).second, 1e-10);
  EXPECT_EQ(all[2][0], 0);
  EXPECT_EQ(all[3][0], -1);
  EXPECT_NEAR(all[4][0], known(0.5).first, 1e-10);
  EXPECT_NEAR(all[4][1], known(1.5).first, 1e-10);
}

TEST(OdeEvents, ASolveEndsInTheStateThatAnEffectLeft) {
  struct Counted {
    Array height, speed, bounces;
  };
  const ode::OdeTerm field{[](const Array&, const Counted& b, const None&) {
    return Counted{b.speed, full_like(b.speed, -gravity), zeros_like(b.bounces)};
  }};
  const auto high = [](const Array&, const Counted& b, const None&) { return b.height; };
  const auto often = [](const Array&, const Counted& b, const None&) { return b.bounces >= 6; };
  const auto bounce = [](const Array&, const Counted& b, const None&) {
    return Counted{zeros_like(b.height), -0.5 * b.speed, b.bounces + 1};
  };
  const auto all = test::run_all(
      [&](const Array& from) {
        const auto sol = diffeqsolve(
            field, ode::Tsit5(), 0.0, 10.0, none, Counted{from, zeros_like(from), zeros_like(from)},
            none, {.controller = event_pid}, ode::event(high, bounce), ode::event(often));
        return std::tuple{sol.t1, sol.y1.bounces, sol.event, sol.result};
      },
      f64(1.0));
  // Flights of 1/2, 1/4, ... of the first one behind half of it.
  EXPECT_NEAR(all[0][0], std::sqrt(2 / gravity) * (1 + 2 * (1 - std::pow(0.5, 5))), 1e-12);
  EXPECT_EQ(all[1][0], 6);
  EXPECT_EQ(all[2][0], 1);
  EXPECT_EQ(static_cast<ode::Result>(all[3][0]), ode::Result::event_occurred);
}

TEST(OdeEvents, TheEarliestOfSeveralCountsAndDirectionsDo) {
  const auto sine = [](const Array& t, const Ball&, const None&) { return sin(t); };
  const auto solve = [&](const ode::EventOptions& options, double low) {
    const auto all = test::run_all(
        [&](const Array& from) {
          const auto below = [&](const Array&, const Ball& b, const None&) {
            return b.height - low;
          };
          const auto sol = diffeqsolve(
              falling, ode::Tsit5(), 0.5, 20.0, none, dropped(from), none,
              {.controller = ode::PidController{.rtol = 1e-8, .atol = 1e-8, .dtmax = 1.0}},
              ode::event(below), ode::event(sine, options));
          return std::tuple{sol.t1, sol.event};
        },
        f64(0.0));
    return std::pair{all[0][0], all[1][0]};
  };
  const double pi = 3.14159265358979324;
  const auto [t, which] = solve({}, -1e6);
  EXPECT_NEAR(t, pi, 1e-13);
  EXPECT_EQ(which, 1);
  const auto [up, which_up] = solve({.direction = ode::Direction::up}, -1e6);
  EXPECT_NEAR(up, 2 * pi, 1e-13);
  EXPECT_EQ(which_up, 1);
  const auto [first, which_first] = solve({}, -gravity / 2);
  EXPECT_NEAR(first, 1.5, 1e-13);
  EXPECT_EQ(which_first, 0);
}

TEST(OdeEvents, ConditionsOfTruthEndAtTheEndOfAStep) {
  const auto all = test::run_all(
      [](const Array& y) {
        const auto small = [](const Array&, const Array& x, const None&) { return x < 0.5; };
        const auto sol =
            diffeqsolve(decay, ode::Tsit5(), 0.0, 5.0, 0.25, y, none, {}, ode::event(small));
        return std::tuple{sol.t1, sol.y1, sol.event, sol.stats.steps};
      },
      f64(1.0));
  EXPECT_NEAR(all[0][0], 0.75, 1e-15);  // log 2 is 0.69
  EXPECT_NEAR(all[1][0], std::exp(-0.75), 1e-6);
  EXPECT_EQ(all[2][0], 0);
  EXPECT_EQ(all[3][0], 3);
}

TEST(OdeEvents, TheTimeOfAnEventIsDifferentiable) {
  const auto end = [](const Array& from) {
    return diffeqsolve(falling, ode::Tsit5(), 0.0, 10.0, none, dropped(from), none,
                       {.controller = event_pid}, ode::event(height))
        .t1;
  };
  const double want = 1 / std::sqrt(2 * gravity * 2.0);
  EXPECT_NEAR(test::run([&](const Array& h) { return grad(end)(h); }, f64(2.0))[0], want, 1e-10);
  EXPECT_NEAR(
      test::run([&](const Array& h) { return jvp(end, h, ones_like(h)).second; }, f64(2.0))[0],
      want, 1e-10);
}

TEST(OdeEvents, ManyEventsLeaveADerivativeItsDigits) {
  struct Counted {
    Array height, speed, bounces, at;
  };
  const auto last_bounce = [](const Array& restitution) {
    const ode::OdeTerm field{[](const Array&, const Counted& b, const None&) {
      return Counted{b.speed, full_like(b.speed, -gravity), zeros({}), zeros({})};
    }};
    const auto high = [](const Array&, const Counted& b, const None&) { return b.height; };
    const auto often = [](const Array&, const Counted& b, const None&) { return b.bounces >= 8; };
    const auto bounce = [&](const Array& t, const Counted& b, const None&) {
      return Counted{zeros({}), -restitution * b.speed, b.bounces + 1, t};
    };
    return diffeqsolve(field, ode::Tsit5(), 0.0, 20.0, 0.1,
                       Counted{ones({}), zeros({}), zeros({}), zeros({})}, none,
                       {.controller = ode::PidController{.rtol = 1e-5, .atol = 1e-5}},
                       ode::event(high, bounce), ode::event(often))
        .y1.at;
  };
  const Numbers restitutions{0.5, 0.65, 0.75, 0.785, 0.83, 0.87, 0.92, 0.95};
  const Numbers slopes = test::run(
      [&](const Array& all) {
        return vmap([&](const Array& x) { return jvp(last_bounce, x, ones({})).second; })(all);
      },
      test::f32(restitutions));
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    double want = 0;
    for (int k = 1; k < 8; ++k) want += 2 * k * std::pow(restitutions[i], k - 1);
    EXPECT_NEAR(slopes[i], want * std::sqrt(2 / gravity), 1e-3 * want) << restitutions[i];
  }
}

TEST(OdeEvents, ConditionsOfOtherShapesAreRefused) {
  const auto text = test::usage_error_of(
      [](const Array& y) {
        const auto several = [](const Array&, const Array& x, const None&) { return x; };
        return diffeqsolve(decay, ode::Tsit5(), 0.0, 5.0, 0.25, y, none, {}, ode::event(several))
            .y1;
      },
      f64({1.0, 2.0}));
  EXPECT_THAT(text, ::testing::HasSubstr("the condition of event 0 gives f64[2]"));
}

}  // namespace
}  // namespace gnomon::testing
