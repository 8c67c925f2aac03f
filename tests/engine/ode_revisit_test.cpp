// tests/engine/ode_revisit_test.cpp -- steps that end where rejected ones would have ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

/// y' = -50 y, whose first steps are far too long: each is cut to a fifth.
struct Taken {
  Numbers ts;
  double rejected, result, y1;
};
Taken taken(Dim rejected_ends, double direction = 1) {
  const auto all = test::run_all(
      [&](const Array& y) {
        const ode::ClipStepSize controller{
            .controller = ode::PidController{.rtol = 1e-4, .atol = 1e-6},
            .step_ts = {direction * 0.9},
            .rejected_ends = rejected_ends};
        const auto field = [&](const Array&, const Array& x, const None&) {
          return -50.0 * direction * x;
        };
        const auto sol = diffeqsolve(
            ode::OdeTerm{field}, ode::Tsit5(), 0.0, direction * 1.0, direction * 0.75, y, none,
            {.saveat = {.t1 = true, .steps = 1}, .controller = controller, .max_steps = 256});
        return std::tuple{sol.ts, sol.count, sol.stats.rejected, sol.result, sol.y1};
      },
      f64(1.0));
  return {Numbers(all[0].begin(), all[0].begin() + static_cast<int>(all[1][0])), all[2][0],
          all[3][0], all[4][0]};
}

bool holds(const Numbers& ts, double t) {
  return std::any_of(ts.begin(), ts.end(), [&](double x) { return std::fabs(x - t) < 1e-12; });
}

TEST(OdeRevisiting, EndsOfRejectedStepsAreComeTo) {
  const Taken free = taken(0), bound = taken(8);
  for (const Taken* t : {&free, &bound}) {
    EXPECT_EQ(t->result, 0);
    EXPECT_NEAR(t->y1, std::exp(-50.0), 1e-5);
    EXPECT_TRUE(holds(t->ts, 0.9));
    EXPECT_EQ(t->ts.back(), 1);
  }
  ASSERT_GE(bound.rejected, 2);
  // 0.75 was rejected, and then a fifth of it, and of that.
  for (const double t : {0.75, 0.15, 0.03}) {
    EXPECT_TRUE(holds(bound.ts, t)) << t;
    EXPECT_FALSE(holds(free.ts, t)) << t;
  }
}

TEST(OdeRevisiting, GoesBackwardsAsWell) {
  const Taken back = taken(8, -1);
  EXPECT_EQ(back.result, 0);
  for (const double t : {-0.03, -0.15, -0.75, -0.9, -1.0}) EXPECT_TRUE(holds(back.ts, t)) << t;
}

TEST(OdeRevisiting, SaysWhenThereIsNoRoom) {
  // Three steps are rejected before one is kept.
  for (const Dim room : {1, 2})
    EXPECT_EQ(static_cast<ode::Result>(taken(room).result), ode::Result::too_many_rejected);
  EXPECT_EQ(static_cast<ode::Result>(taken(3).result), ode::Result::successful);
  EXPECT_THAT(test::usage_error_of([&] { return full({}, taken(-1).y1); }),
              ::testing::HasSubstr("rejected_ends of ClipStepSize is -1"));
}

}  // namespace
}  // namespace gnomon::testing
