// tests/engine/ode_delay_test.cpp -- delay equations against closed forms and the method of steps
// in plain C++.
#include <gtest/gtest.h>

#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::DelayOptions;
using ode::DelayTerm;
using ode::diffeqsolve;
using ode::History;
using ode::PidController;
using ode::Result;

Array number(double x) { return full({}, x, DType::f64); }

const auto minus_before = [](const Array& t, const Array&, const History<Array>& y, const None&) {
  return -y(t - 1.0);
};
const auto one = [](const Array&) { return number(1); };

/// y' = -y(t - 1) behind y = 1: by the method of steps a polynomial on each unit of time.
double known(double t) {
  double sum = 1, factorial = 1;
  for (int k = 1; t - (k - 1) >= 0; ++k) {
    factorial *= k;
    sum += (k % 2 ? -1 : 1) * std::pow(t - (k - 1), k) / factorial;
  }
  return sum;
}

TEST(OdeDelay, ComesToTheClosedFormOfTheMethodOfSteps) {
  const Numbers at{0.5, 1, 1.25, 2.5, 3.75, 5.5, 8, 10};
  const auto solve = [&](const ode::Solver& solver, const ode::Controller& controller,
                         const ode::FirstStep& first) {
    return test::run([&] {
      return diffeqsolve(DelayTerm(minus_before, one, {.delays = {1.0}}), solver, 0.0, 10.0, first,
                         number(1), none, {.saveat = {.ts = at}, .controller = controller})
          .ys;
    });
  };
  const PidController pid{.rtol = 1e-9, .atol = 1e-9};
  const auto expect = [&](const Numbers& got, double tolerance) {
    for (std::size_t i = 0; i < at.size(); ++i)
      EXPECT_NEAR(got[i], known(at[i]), tolerance) << at[i];
  };
  expect(solve(ode::Tsit5(), pid, none), 1e-8);
  expect(solve(ode::Dopri5(), pid, none), 1e-8);
  expect(solve(ode::Bosh3(), pid, none), 1e-7);
  // Polynomials of degree up to the method's order, if no step goes over a break.
  const Numbers exact = solve(ode::Tsit5(), PidController{.rtol = 1e-3, .atol = 1e-3}, none);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(exact[i], known(at[i]), 1e-13) << at[i];
  // Steps of a whole delay, which need the interpolant of the one before.
  expect(solve(ode::RK4(), ode::ConstantStepSize{}, 1.0 / 64), 1e-8);
}

TEST(OdeDelay, StepsEndAtTheBreaksAndAreNoLongerThanADelay) {
  const auto all = test::run_all([&] {
    const auto two = [](const Array& t, const Array&, const History<Array>& y, const None&) {
      return -0.3 * y(t - 1.0) - 0.2 * y(t - 1.5);
    };
    const auto sol = diffeqsolve(DelayTerm(two, one, {.delays = {1.0, 1.5}}), ode::Bosh3(), 0.0,
                                 6.0, none, number(1), none,
                                 {.saveat = {.t0 = true, .steps = 1},
                                  .controller = PidController{.rtol = 1e-1, .atol = 1e-1},
                                  .max_steps = 64});
    return std::pair{sol.ts, sol.count};
  });
  const auto count = static_cast<std::ptrdiff_t>(all[1][0]);
  const Numbers ts(all[0].begin(), all[0].begin() + count);
  for (double at : {1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5})  // up to three delays
    EXPECT_EQ(std::count(ts.begin(), ts.end(), at), 1) << at;
  for (std::size_t i = 1; i < ts.size(); ++i) EXPECT_LE(ts[i] - ts[i - 1], 1 + 1e-12);
}

// ---- Mackey and Glass

struct Glass {
  Array beta, tau, start;
};
const auto glass = [](const Array& t, const Array& y, const History<Array>& before,
                      const Glass& p) {
  const Array x = before(t - p.tau);
  return p.beta * x / (1.0 + pow(x, 6)) - y;
};
const auto level = [](const Array&, const Glass& p) { return p.start; };

/// Steps of h = tau / n of the fourth-order method, in between by cubics through two steps.
double reference(double beta, double tau, double start, double end) {
  const int n = 1000;
  const auto f = [&](double y, double x) { return beta * x / (1 + std::pow(x, 6)) - y; };
  Numbers y{start}, slope;
  const double full = tau / n;
  const auto before = [&](int i, double theta) {
    if (i < 0) return start;
    const auto j = static_cast<std::size_t>(i);
    const double rise = y[j + 1] - y[j], a = full * slope[j] - rise, b = rise - full * slope[j + 1];
    return y[j] + theta * rise + theta * (1 - theta) * ((1 - theta) * a + theta * b);
  };
  for (int i = 0; i * full < end; ++i) {
    const double h = std::min(full, end - i * full), part = h / full;
    slope.push_back(f(y.back(), before(i - n, 0)));
    const double middle = before(i - n, part / 2), last = before(i - n, part);
    const double k1 = slope.back(), k2 = f(y.back() + h / 2 * k1, middle),
                 k3 = f(y.back() + h / 2 * k2, middle), k4 = f(y.back() + h * k3, last);
    y.push_back(y.back() + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4));
  }
  return y.back();
}

Array mackey_glass(const Glass& p, double end, const DelayOptions& more = {}) {
  DelayOptions options = more;
  options.delays = {p.tau};
  return diffeqsolve(DelayTerm(glass, level, options), ode::Tsit5(), 0.0, end, none, p.start, p,
                     {.controller = PidController{.rtol = 1e-9, .atol = 1e-9}, .max_steps = 600})
      .y1;
}

TEST(OdeDelay, SystemsOfAnEnsembleHaveTheirOwnDelays) {
  const Numbers beta{2, 1.8, 1.5}, tau{2, 1.25, 1}, start{0.5, 0.7, 1.2};
  const Numbers got = test::run(
      [](const Array& b, const Array& t, const Array& s) {
        return vmap([](const Array& bi, const Array& ti, const Array& si) {
          return mackey_glass({bi, ti, si}, 10);
        })(b, t, s);
      },
      f64(beta), f64(tau), f64(start));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(got[i], reference(beta[i], tau[i], start[i], 10), 2e-8) << i;
}

TEST(OdeDelay, GradientsAreThoseOfDifferencesAlsoByTheDelay) {
  const auto f = [](const Array& x) {
    return mackey_glass({x.at(0).get(), x.at(1).get(), x.at(2).get()}, 5);
  };
  const Numbers at{2, 1.25, 0.5};
  const Numbers slopes = test::run([&](const Array& x) { return grad(f)(x); }, f64(at));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto moved = [&](double by) {
      Numbers p = at;
      p[i] += by;
      return reference(p[0], p[1], p[2], 5);
    };
    EXPECT_NEAR(slopes[i], (moved(1e-4) - moved(-1e-4)) / 2e-4, 1e-6) << i;
  }
}

TEST(OdeDelay, ARingRemembersWhatADelayReachesAndSaysWhenItDoesNot) {
  const auto solve = [](Dim remembered) {
    return test::run_all([&] {
      const auto sol =
          diffeqsolve(DelayTerm(minus_before, one, {.delays = {1.0}, .remembered = remembered}),
                      ode::Tsit5(), 0.0, 10.0, none, number(1), none,
                      {.controller = PidController{.rtol = 1e-9, .atol = 1e-9}});
      return std::tuple{sol.y1, sol.result, sol.stats.accepted};
    });
  };
  const auto all = solve(0), ring = solve(16), small = solve(3);
  EXPECT_GT(all[2][0], 32);
  EXPECT_EQ(ring, all);
  EXPECT_EQ(static_cast<Result>(small[1][0]), Result::history_lost);
}

TEST(OdeDelay, DelaysMayDependOnTheState) {
  // Whatever it looks back at, sin(t) + 2 is the solution.
  const auto exact = [](const Array& t) { return sin(t) + 2.0; };
  const auto field = [&](const Array& t, const Array& y, const History<Array>& before,
                         const None&) {
    const Array then = t - 0.25 * y;
    return cos(t) - (before(then) - exact(then));
  };
  const auto all = test::run_all([&] {
    const auto sol =
        diffeqsolve(DelayTerm(field, exact, {.smallest = 0.25}), ode::Tsit5(), 0.0, 7.0, none,
                    number(2), none, {.controller = PidController{.rtol = 1e-8, .atol = 1e-8}});
    return std::pair{sol.y1, sol.result};
  });
  EXPECT_NEAR(all[0][0], std::sin(7.0) + 2, 1e-6);
  EXPECT_EQ(all[1][0], 0);
}

TEST(OdeDelay, ImplicitMethodsLookBackAsWell) {
  const auto stiff = [](const Array& t, const Array& y, const History<Array>& before, const None&) {
    return -1000.0 * (y - before(t - 1.0) * 0.5);
  };
  const auto all = test::run_all([&] {
    const auto sol =
        diffeqsolve(DelayTerm(stiff, one, {.delays = {1.0}}), ode::Kvaerno5(), 0.0, 2.5, none,
                    number(1), none, {.controller = PidController{.rtol = 1e-7, .atol = 1e-7}});
    return std::pair{sol.y1, sol.stats.steps};
  });
  // Half of what it was a delay ago, 1, 1/2, 1/4, as soon as the transient is over.
  EXPECT_NEAR(all[0][0], 0.125, 1e-6);
  EXPECT_LT(all[1][0], 400);
}

TEST(OdeDelay, RefusesWhatCannotBeLookedBackAt) {
  const auto says = [](const std::string& what, const DelayOptions& options, double t1 = 1,
                       const ode::FirstStep& dt0 = 0.1, StepBound bound = 64) {
    EXPECT_THAT(test::usage_error_of([&] {
                  return diffeqsolve(DelayTerm(minus_before, one, options), ode::Tsit5(), 0.0, t1,
                                     dt0, number(1), none, {.max_steps = bound})
                      .y1;
                }),
                ::testing::HasSubstr(what));
  };
  says("delay 1 is -1; delays are finite and above 0", {.delays = {1.0, -1.0}});
  says("delay 0 is 0; delays are finite and above 0", {.delays = {0.0}});
  says("names no delays", {});
  says("t1 is below t0", {.delays = {1.0}}, -1, -0.1);
  says("dt0 is 0.5 and the smallest delay 0.25", {.delays = {1.0}, .smallest = 0.25}, 1, 0.5);
  says("max_steps is `unbounded`; say how many there may be, or how many are remembered",
       {.delays = {1.0}}, 1, 0.1, unbounded);
  EXPECT_THAT(test::usage_error_of([&] {
                const auto wide = [](const Array&) { return zeros({2}, DType::f64); };
                return diffeqsolve(DelayTerm(minus_before, wide, {.delays = {1.0}}), ode::Tsit5(),
                                   0.0, 1.0, 0.1, number(1))
                    .y1;
              }),
              ::testing::HasSubstr("`y` is f64[] and the initial function gives f64[2] for it"));
  EXPECT_THAT(test::usage_error_of([&] {
                return diffeqsolve(DelayTerm(minus_before, one, {.delays = {1.0}}), ode::Tsit5(),
                                   0.0, 1.0, 0.1, number(1), none,
                                   {.saveat = {.t1 = true, .solver_state = true}})
                    .y1;
              }),
              ::testing::HasSubstr("cannot go on from a solver_state"));
}

}  // namespace
}  // namespace gnomon::testing
