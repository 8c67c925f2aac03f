// tests/engine/ode_solve_test.cpp -- steps, saved rows and the ends of solves, on the host
// reference in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ::testing::HasSubstr;

constexpr ode::Result okay = ode::Result::successful;

// ---- equal steps and given ones

/// {ts, ys, count} of y' = -y from y(0) = 1.
template <class Solve>
std::vector<Numbers> rows(const Solve& solve) {
  return test::run_all(
      [&](const Array& y) {
        const auto sol = solve(y);
        return std::tuple{sol.ts, sol.ys, sol.count};
      },
      f64(1.0));
}

void expect_times(const Numbers& got, double count, const Numbers& want) {
  ASSERT_EQ(count, static_cast<double>(want.size()));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-15) << i;
  for (std::size_t i = want.size(); i < got.size(); ++i) EXPECT_EQ(got[i], 0) << i;
}

TEST(OdeSteps, AllButTheFirstAreEqual) {
  const auto all = rows([](const Array& y) {
    return diffeqsolve(decay, ode::Euler(), 0.0, 2.5, 1.0, y, none,
                       {.saveat = {.steps = 1}, .max_steps = 8});
  });
  ASSERT_EQ(all[0].size(), 8u);
  expect_times(all[0], all[2][0], {1, 2.5 * 2 / 3, 2.5});  // golden T43
  EXPECT_DOUBLE_EQ(all[1][0], 0.0);                        // 1 - 1
}

TEST(OdeSteps, AnIntegerNumberOfThemIsNotExceeded) {
  const auto all = rows([](const Array& y) {
    return diffeqsolve(decay, ode::Euler(), 0.0, 1.0, 0.1, y, none, {.saveat = {.steps = 1}});
  });
  EXPECT_EQ(all[2][0], 10);
  EXPECT_EQ(all[0][9], 1.0);
  EXPECT_NEAR(all[1][9], std::pow(0.9, 10), 1e-15);
}

TEST(OdeSteps, EveryNthIsKeptAndTheLastOneOnce) {
  // Golden T35.
  const auto kept = [](int last, ode::SaveAt saveat) {
    Numbers ts;
    for (int i = 0; i <= last; ++i) ts.push_back(i);
    auto all = rows([&](const Array& y) {
      return diffeqsolve(decay, ode::Euler(), 0.0, last, none, y, none,
                         {.saveat = saveat, .controller = ode::StepTo{ts}, .max_steps = 16});
    });
    return std::pair{all[0], all[2][0]};
  };
  const auto [a, a_count] = kept(7, {.steps = 2});
  expect_times(a, a_count, {2, 4, 6});
  const auto [b, b_count] = kept(7, {.t1 = true, .steps = 3});
  expect_times(b, b_count, {3, 6, 7});
  const auto [c, c_count] = kept(6, {.t1 = true, .steps = 3});
  expect_times(c, c_count, {3, 6});
  const auto [d, d_count] = kept(7, {.t0 = true, .t1 = true, .steps = 4});
  expect_times(d, d_count, {0, 4, 7});
}

TEST(OdeSteps, RowsBehindTheLastAreInfinityOnlyWhenAskedFor) {
  const auto all = rows([](const Array& y) {
    return diffeqsolve(decay, ode::Euler(), 0.0, 1.0, 0.5, y, none,
                       {.saveat = {.steps = 1, .fill_infinity = true}, .max_steps = 4});
  });
  EXPECT_EQ(all[0], (Numbers{0.5, 1, INFINITY, INFINITY}));
  EXPECT_EQ(all[1], (Numbers{0.5, 0.25, INFINITY, INFINITY}));
}

// ---- saved rows

const ode::OdeTerm half{[](const Array&, const Array& y, const None&) { return -0.5 * y; }};
double known(double t) { return 2.1 * std::exp(-0.5 * (t - 0.1)); }
const ode::PidController tight{.rtol = 1e-8, .atol = 1e-8};

TEST(OdeSaves, RowsComeAtTheirTimesForwardAndBackward) {
  // Golden T35: y' = -y / 2 from 0.1 to 1.1, and the way back.
  const Numbers times{0.1, 0.3, 0.35, 0.36, 1.0, 1.1};
  const auto solved = [&](bool back) {
    Numbers ts = times;
    if (back) std::reverse(ts.begin(), ts.end());
    const auto all = test::run_all(
        [&](const Array& y) {
          const auto sol =
              diffeqsolve(half, ode::Dopri5(), back ? 1.1 : 0.1, back ? 0.1 : 1.1, none, y, none,
                          {.saveat = {.t0 = true, .t1 = true, .ts = ts}, .controller = tight});
          return std::tuple{sol.ts, sol.ys, sol.count, sol.result, sol.y1, sol.t1};
        },
        f64(back ? known(1.1) : 2.1));
    ASSERT_EQ(all[2][0], 8);
    EXPECT_EQ(all[3][0], 0);
    EXPECT_EQ(all[0][0], back ? 1.1 : 0.1);
    EXPECT_EQ(all[0][7], back ? 0.1 : 1.1);
    EXPECT_EQ(all[5][0], back ? 0.1 : 1.1);
    for (std::size_t i = 0; i < ts.size(); ++i) EXPECT_NEAR(all[0][i + 1], ts[i], 1e-15);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(all[1][i], known(all[0][i]), 1e-7) << i;
    EXPECT_NEAR(all[4][0], known(back ? 0.1 : 1.1), 1e-7);
  };
  solved(false);
  solved(true);
}

TEST(OdeSaves, ADenseSolutionIsAFunctionOfTime) {
  const auto all = test::run_all(
      [&](const Array& y) {
        const auto sol = diffeqsolve(half, ode::Tsit5(), 0.1, 1.1, none, y, none,
                                     {.saveat = {.dense = true}, .controller = tight});
        const auto& f = *sol.interpolation;
        return std::tuple{f.evaluate(0.1), f.evaluate(0.77), f.evaluate(1.1),
                          f.evaluate(1.2), f.evaluate(0.0),  f.derivative(0.77)};
      },
      f64(2.1));
  EXPECT_NEAR(all[0][0], known(0.1), 1e-14);
  EXPECT_NEAR(all[1][0], known(0.77), 1e-7);
  EXPECT_NEAR(all[2][0], known(1.1), 1e-7);
  EXPECT_TRUE(std::isnan(all[3][0]));
  EXPECT_TRUE(std::isnan(all[4][0]));
  EXPECT_NEAR(all[5][0], -0.5 * known(0.77), 1e-6);
}

TEST(OdeSaves, ADenseSolutionOfNoLengthIsItsStart) {
  const auto dense = [](const Array& t0, const Array& t1, const Array& y, const Array& ask) {
    const auto sol = diffeqsolve(half, ode::Tsit5(), t0, t1, none, y, none,
                                 {.saveat = {.dense = true}, .controller = tight});
    const auto& f = *sol.interpolation;
    return std::tuple{f.evaluate(ask), f.derivative(ask), sol.result};
  };
  // To t0, forward and backward, lane by lane.
  const auto all = test::run_all(vmap(dense), f64({1, 1, 1, 1}), f64({1, 1, 1.5, 0.5}),
                                 f64({2, 2, 2, 2}), f64({1, 1.25, 1.25, 0.75}));
  EXPECT_EQ(all[0][0], 2);
  EXPECT_EQ(all[1][0], -1);
  EXPECT_TRUE(std::isnan(all[0][1]));
  for (const std::size_t i : {2u, 3u}) {
    const double want = 2 * std::exp(-0.5 * (i == 2 ? 0.25 : -0.25));
    EXPECT_NEAR(all[0][i], want, 1e-7);
    EXPECT_NEAR(all[1][i], -0.5 * want, 1e-6);
  }
  EXPECT_EQ(all[2], (Numbers{0, 0, 0, 0}));
  // Between numbers.
  const auto known = test::run_all(
      [](const Array& y) {
        const auto sol = diffeqsolve(half, ode::Tsit5(), 1.0, 1.0, none, y, none,
                                     {.saveat = {.dense = true}, .controller = tight});
        return std::pair{sol.interpolation->evaluate(1.0), sol.interpolation->evaluate(0.5)};
      },
      f64(2.0));
  EXPECT_EQ(known[0][0], 2);
  EXPECT_TRUE(std::isnan(known[1][0]));
}

TEST(OdeSaves, FunctionsOfTheStateHaveRowsOfTheirOwn) {
  struct Energy {
    Array kinetic, time;
  };
  const auto all = test::run_all(
      [&](const Array& y) {
        const auto sol =
            diffeqsolve(half, ode::Tsit5(), 0.1, 1.1, none, y, none, {.controller = tight},
                        ode::save(
                            [](const Array& t, const Array& x, const None&) {
                              return Energy{x * x, t};
                            },
                            {.ts = {0.2, 0.9}}),
                        ode::save([](const Array&, const Array& x, const None&) { return 3.0 * x; },
                                  {.t0 = true}));
        const auto& [first, second] = sol.subs;
        return std::tuple{first.ys.kinetic, first.ys.time, second.ys, second.count, sol.ys};
      },
      f64(2.1));
  EXPECT_NEAR(all[0][0], known(0.2) * known(0.2), 1e-6);
  EXPECT_NEAR(all[0][1], known(0.9) * known(0.9), 1e-6);
  EXPECT_NEAR(all[1][1], 0.9, 1e-15);
  EXPECT_EQ(all[2], Numbers{3 * 2.1});
  EXPECT_EQ(all[3], Numbers{1});
  ASSERT_EQ(all[4].size(), 1u);
  EXPECT_NEAR(all[4][0], known(1.1), 1e-7);
}

TEST(OdeSaves, ASolveOfNoLengthKeepsItsStart) {
  const auto all = rows([](const Array& y) {
    return diffeqsolve(decay, ode::Tsit5(), 1.0, 1.0, 0.1, y, none,
                       {.saveat = {.t1 = true, .ts = {1.0, 1.0}}});
  });
  EXPECT_EQ(all[2][0], 3);
  EXPECT_EQ(all[0], (Numbers{1, 1, 1}));
  EXPECT_EQ(all[1], (Numbers{1, 1, 1}));
}

// ---- steps by their errors

struct Reference {
  double y = 1;
  int steps = 0, accepted = 0;
};
/// y' = cos t / y by a table and the controller, written for one number.
Reference reference(const ode::Tableau& table, const ode::PidController& o, double t1, double h,
                    double tolerance) {
  Reference r;
  double t = 0, before = 1, oldest = 1, next = h;
  const double k = table.order, end = t1 - 100 * 2.220446049250313e-16 * t1;
  if (next > end) next = t1;
  while (t < t1) {
    h = next - t;
    Numbers slopes;
    const auto sum = [&](const Numbers& w) {
      double s = 0;
      for (std::size_t j = 0; j < w.size(); ++j) s += w[j] * slopes[j];
      return h * s;
    };
    slopes.push_back(std::cos(t) / r.y);
    for (std::size_t i = 0; i < table.a.size(); ++i) {
      const double y = r.y + sum(table.a[i]);
      slopes.push_back(std::cos(t + table.c[i] * h) / y);
    }
    const double y1 = r.y + sum(table.b);
    const double scale = tolerance + tolerance * std::max(std::fabs(r.y), std::fabs(y1));
    const double e = std::fabs(sum(table.error)) / scale;
    const bool keep = e < 1;
    double factor = o.safety * std::pow(1 / e, (o.icoeff + o.pcoeff + o.dcoeff) / k) *
                    std::pow(before, -(o.pcoeff + 2 * o.dcoeff) / k) *
                    std::pow(oldest, o.dcoeff / k);
    factor = std::min(std::max(factor, keep ? 1 : o.factormin), keep ? o.factormax : o.safety);
    ++r.steps;
    if (keep) {
      ++r.accepted;
      r.y = y1;
      t = next;
      oldest = before;
      before = 1 / e;
    }
    next = t + h * factor;
    if (next > end) next = keep ? t1 : t + (t1 - t) / 2;
  }
  return r;
}

const ode::OdeTerm wave{[](const Array& t, const Array& y, const None&) { return cos(t) / y; }};

void expect_as_reference(const ode::Solver& solver, const ode::Tableau& table,
                         const ode::PidController& o, double tolerance) {
  const double t1 = 3.5, dt0 = 0.5;
  const Reference want = reference(table, o, t1, dt0, tolerance);
  const auto got = test::run_all(
      [&](const Array& y) {
        const auto sol = diffeqsolve(wave, solver, 0.0, t1, dt0, y, none, {.controller = o});
        return std::tuple{sol.y1, sol.stats.steps, sol.stats.accepted, sol.stats.rejected,
                          sol.result};
      },
      f64(1.0));
  EXPECT_NEAR(got[0][0], want.y, 1e-12) << solver.name();
  EXPECT_EQ(got[1][0], want.steps) << solver.name();
  EXPECT_EQ(got[2][0], want.accepted) << solver.name();
  EXPECT_EQ(got[3][0], want.steps - want.accepted) << solver.name();
  EXPECT_EQ(got[4][0], 0);
  EXPECT_GT(want.steps, want.accepted) << "nothing was rejected, which this shall test as well";
}

TEST(OdeController, TakesTheStepsOfItsFormula) {
  namespace t = ode::tableaus;
  expect_as_reference(ode::Tsit5(), t::tsit5(), {.rtol = 1e-7, .atol = 1e-7}, 1e-7);
  expect_as_reference(ode::Dopri5(), t::dopri5(), {.rtol = 1e-6, .atol = 1e-6}, 1e-6);
  expect_as_reference(ode::Bosh3(), t::bosh3(), {.rtol = 1e-4, .atol = 1e-4}, 1e-4);
  expect_as_reference(ode::Tsit5(), t::tsit5(),
                      {.rtol = 1e-7, .atol = 1e-7, .pcoeff = 0.4, .icoeff = 0.3}, 1e-7);
  expect_as_reference(ode::Tsit5(), t::tsit5(),
                      {.rtol = 1e-7, .atol = 1e-7, .pcoeff = 0.3, .icoeff = 0.3, .dcoeff = 0.1},
                      1e-7);
  expect_as_reference(ode::Dopri8(), t::dopri8(),
                      {.rtol = 1e-9, .atol = 1e-9, .factormin = 0.4, .factormax = 2, .safety = 0.8},
                      1e-9);
}

TEST(OdeController, ErrorsFollowTheTolerance) {
  const double want = std::sqrt(1 + 2 * std::sin(3.5));
  for (const double tolerance : {1e-4, 1e-7, 1e-10}) {
    const double got = test::run(
        [&](const Array& y) {
          return diffeqsolve(
                     wave, ode::Tsit5(), 0.0, 3.5, none, y, none,
                     {.controller = ode::PidController{.rtol = tolerance, .atol = tolerance}})
              .y1;
        },
        f64(1.0))[0];
    EXPECT_NEAR(got, want, 100 * tolerance) << tolerance;
  }
}

TEST(OdeController, NormsTakeAllNumbersOfAState) {
  const auto all = test::run_all(
      [](const Array& a, const Array& b) {
        return std::tuple{ode::rms_norm({a, b}), ode::max_norm({a, b}),
                          ode::rms_norm({zeros_like(a)})};
      },
      f64(Numbers{3, -4}), f64(12.0));
  EXPECT_DOUBLE_EQ(all[0][0], std::sqrt((9.0 + 16 + 144) / 3));
  EXPECT_EQ(all[1][0], 12);
  EXPECT_EQ(all[2][0], 0);
}

TEST(OdeController, TheNormIsTheUsers) {
  const auto steps = [](ode::Norm norm, double tolerance) {
    return test::run_all(
        [&](const Array& y) {
          const auto sol = diffeqsolve(wave, ode::Tsit5(), 0.0, 3.5, none, y, none,
                                       {.controller = ode::PidController{
                                            .rtol = tolerance, .atol = tolerance, .norm = norm}});
          return std::tuple{sol.stats.steps, sol.y1};
        },
        f64(1.0));
  };
  // Twice the size asks for half the error.
  const auto twice = [](const std::vector<Array>& a) { return 2 * ode::max_norm(a); };
  EXPECT_EQ(steps(twice, 1e-6), steps(ode::max_norm, 5e-7));
  EXPECT_NE(steps(twice, 1e-6), steps(ode::max_norm, 1e-6));
}

TEST(OdeController, StepsStayWithinTheirBounds) {
  const auto lengths = [](const ode::PidController& o) {
    const auto all = test::run_all(
        [&](const Array& y) {
          const auto sol =
              diffeqsolve(wave, ode::Tsit5(), 0.0, 3.5, 0.1, y, none,
                          {.saveat = {.t0 = true, .steps = 1}, .controller = o, .max_steps = 64});
          return std::tuple{sol.ts, sol.count, sol.stats.rejected};
        },
        f64(1.0));
    Numbers h;
    for (std::size_t i = 1; i < static_cast<std::size_t>(all[1][0]); ++i)
      h.push_back(all[0][i] - all[0][i - 1]);
    return std::pair{h, all[2][0]};
  };
  const auto [small, some] = lengths({.rtol = 1e-3, .atol = 1e-3, .dtmax = 0.25});
  for (double h : small) EXPECT_LE(h, 0.25 + 1e-14);
  EXPECT_GE(small.size(), 14u);
  const auto [large, rejected] = lengths({.rtol = 1e-12, .atol = 1e-12, .dtmin = 0.25});
  // dt0 is lifted to dtmin, and a step of dtmin is kept: the last one only is shorter.
  for (std::size_t i = 0; i + 1 < large.size(); ++i) EXPECT_GE(large[i], 0.25 - 1e-14);
  EXPECT_EQ(rejected, 0);
}

TEST(OdeController, StepsEndWhereTheyAreToldTo) {
  const auto all = test::run_all(
      [&](const Array& y) {
        const ode::ClipStepSize controller{ode::PidController{.rtol = 1e-3, .atol = 1e-3},
                                           {0.5, 0.75, 2.0}};
        const auto sol =
            diffeqsolve(decay, ode::Tsit5(), 0.0, 3.0, 0.4, y, none,
                        {.saveat = {.steps = 1}, .controller = controller, .max_steps = 64});
        return std::tuple{sol.ts, sol.count, sol.y1};
      },
      f64(1.0));
  const Numbers ts(all[0].begin(), all[0].begin() + static_cast<int>(all[1][0]));
  for (const double t : {0.5, 0.75, 2.0, 3.0})
    EXPECT_EQ(std::count(ts.begin(), ts.end(), t), 1) << t;
  EXPECT_NEAR(all[2][0], std::exp(-3.0), 1e-3);
}

TEST(OdeController, AFieldThatJumpsIsBegunAgainBehindTheJump) {
  // y' = 1 before t = 1 and -2 behind it; each part is solved exactly.
  const ode::OdeTerm kink{[](const Array& t, const Array& y, const None&) {
    return where(t < 1.0, 1.0, -2.0) + 0.0 * y;
  }};
  const auto all = test::run_all(
      [&](const Array& y) {
        const ode::ClipStepSize controller{
            ode::PidController{.rtol = 1e-6, .atol = 1e-6}, {}, {1.0}};
        const auto sol =
            diffeqsolve(kink, ode::Tsit5(), 0.0, 2.0, 0.3, y, none, {.controller = controller});
        return std::tuple{sol.y1, sol.stats.rejected};
      },
      f64(0.0));
  EXPECT_NEAR(all[0][0], -1, 1e-13);
  EXPECT_EQ(all[1][0], 0);
}

// ---- ends

ode::Result result_of(const ode::OdeTerm<Array (*)(const Array&, const Array&, const None&)>& term,
                      const ode::SolveOptions& options, double dt0 = 0.1) {
  return static_cast<ode::Result>(test::run(
      [&](const Array& y) {
        return diffeqsolve(term, ode::Tsit5(), 0.0, 2.0, dt0, y, none, options).result;
      },
      f64(1.0))[0]);
}

TEST(OdeResult, SaysHowASolveEnded) {
  using Field = Array (*)(const Array&, const Array&, const None&);
  const ode::OdeTerm<Field> smooth{
      [](const Array&, const Array& y, const None&) { return negative(y); }};
  // y' = y^2 from 1 is infinite at t = 1.
  const ode::OdeTerm<Field> explodes{
      [](const Array&, const Array& y, const None&) { return y * y; }};
  const ode::OdeTerm<Field> never{
      [](const Array&, const Array& y, const None&) { return y * std::nan(""); }};
  const ode::PidController pid{.rtol = 1e-6, .atol = 1e-6};
  EXPECT_EQ(result_of(smooth, {.controller = pid}), okay);
  EXPECT_EQ(result_of(smooth, {.controller = pid, .max_steps = 3}), ode::Result::max_steps_reached);
  EXPECT_EQ(result_of(smooth, {.max_steps = 3}), ode::Result::max_steps_reached);
  EXPECT_EQ(result_of(explodes, {.controller = pid}), ode::Result::step_too_small);
  EXPECT_EQ(result_of(never, {.controller = pid}), ode::Result::step_too_small);
  EXPECT_EQ(result_of(never, {}), ode::Result::nonfinite);
  ode::PidController bounded{.rtol = 1e-12, .atol = 1e-12};
  bounded.dtmin = 0.2;
  bounded.force_dtmin = false;
  EXPECT_EQ(result_of(smooth, {.controller = bounded}, 1.0), ode::Result::dt_min_reached);
}

TEST(OdeResult, ATracedStepInTheWrongDirectionIsSaid) {
  const auto code = test::run(
      [&](const Array& dt0) {
        return diffeqsolve(decay, ode::Tsit5(), 0.0, 2.0, dt0, ones({}, DType::f64), none,
                           {.controller = tight})
            .result;
      },
      f64(-0.1))[0];
  EXPECT_EQ(static_cast<ode::Result>(code), ode::Result::bad_times);
}

// ---- misuse, found while tracing

template <class... A>
std::string complaint(const A&... a) {
  return test::usage_error_of([&](const Array& y) { return diffeqsolve(decay, a..., y).y1; },
                              f64(1.0));
}
std::string complaint_of(const ode::SolveOptions& options) {
  return test::usage_error_of(
      [&](const Array& y) {
        return diffeqsolve(decay, ode::Tsit5(), 0.0, 2.0, 0.1, y, none, options).y1;
      },
      f64(1.0));
}

TEST(OdeErrors, SayWhatIsWrongBeforeAnythingRuns) {
  EXPECT_THAT(complaint(ode::Tsit5(), 0.0, 2.0, -0.1),
              HasSubstr("dt0 is -0.1, and t1 2 is above t0 0; turn the sign of dt0"));
  EXPECT_THAT(complaint(ode::Tsit5(), 2.0, 0.0, 0.1), HasSubstr("t1 0 is below t0 2"));
  EXPECT_THAT(complaint(ode::Tsit5(), 0.0, 2.0, 0.0), HasSubstr("dt0 is 0"));
  EXPECT_THAT(complaint(ode::Tsit5(), 0.0, 2.0, none),
              HasSubstr("ConstantStepSize takes its step"));
  EXPECT_THAT(complaint(ode::Tsit5(), 0.0, std::nan(""), 0.1), HasSubstr("not a number"));
  EXPECT_THAT(complaint_of({.saveat = {.ts = {0.5, 0.25}}}),
              HasSubstr("times 0 and 1 to save at are 0.5 and 0.25; sort them"));
  EXPECT_THAT(complaint_of({.saveat = {.ts = {0.5, 2.5}}}),
              HasSubstr("time 1 to save at is 2.5, and the solve goes from 0 to 2"));
  EXPECT_THAT(complaint_of({.saveat = {.steps = 1}, .max_steps = unbounded}),
              HasSubstr("max_steps is `unbounded`"));
  EXPECT_THAT(complaint_of({.saveat = {.dense = true}, .max_steps = unbounded}),
              HasSubstr("max_steps is `unbounded`"));
  EXPECT_THAT(complaint_of({.controller = ode::PidController{.rtol = INFINITY, .atol = 1e-6}}),
              HasSubstr("rtol of PidController is inf"));
  EXPECT_THAT(complaint_of({.controller = ode::StepTo{{0, 1, 2}}}),
              HasSubstr("dt0 is given as well"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& y) {
                    return diffeqsolve(decay, ode::Euler(), 0.0, 2.0, 0.1, y, none,
                                       {.controller = tight})
                        .y1;
                  },
                  f64(1.0)),
              HasSubstr("Euler has no estimate of its error"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& y) {
                    const ode::OdeTerm wrong{
                        [](const Array&, const Array& x, const None&) { return sum(x); }};
                    return diffeqsolve(wrong, ode::Euler(), 0.0, 2.0, 0.1, y).y1;
                  },
                  f64({1.0, 2.0})),
              HasSubstr("`y` is f64[2] and the vector field gives f64[] for it"));
  EXPECT_THAT(
      test::usage_error_of(
          [](const Array& y) { return diffeqsolve(decay, ode::Euler(), 0.0, 2.0, 0.1, y).y1; },
          test::i32(1)),
      HasSubstr("`y` is i32[]; the arrays of a state are of floats"));
  EXPECT_THAT(complaint(ode::Tsit5(), 0.0, 2.0, -0.1), HasSubstr("ode_solve_test.cpp"));
}

}  // namespace
}  // namespace gnomon::testing
