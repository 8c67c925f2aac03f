// tests/engine/ode_explicit_test.cpp -- explicit Runge-Kutta methods: their tables, single steps
// and orders.
#include <gtest/gtest.h>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_orders.h"

namespace gnomon::testing {
namespace {

using ode::Tableau;

std::vector<const Tableau*> all_tables() {
  namespace t = ode::tableaus;
  return {&t::euler(),  &t::heun(),  &t::midpoint(), &t::ralston(), &t::bosh3(), &t::rk4(),
          &t::dopri5(), &t::tsit5(), &t::dopri8(),   &t::vern7(),   &t::vern9()};
}

// ---- order conditions

Numbers weights(const Tableau& t, const Tree& tree) {
  Numbers w(t.b.size(), 1.0);
  for (const Tree& s : tree.below) {
    const Numbers inner = weights(t, s);
    for (std::size_t i = 0; i < w.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; i > 0 && j < i; ++j) sum += t.a[i - 1][j] * inner[j];
      w[i] *= sum;
    }
  }
  return w;
}

double residual(const Tableau& t, const Numbers& b, const Tree& tree) {
  const Numbers w = weights(t, tree);
  double sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i) sum += b[i] * w[i];
  return sum - 1 / density(tree);
}

TEST(OdeTables, ThereAreAsManyRootedTreesAsThereShouldBe) {
  const std::vector<std::size_t> counts{1, 1, 2, 4, 9, 20, 48};
  for (std::size_t n = 1; n <= counts.size(); ++n)
    EXPECT_EQ(trees(static_cast<int>(n)).size(), counts[n - 1]) << n;
}

TEST(OdeTables, MeetTheConditionsOfTheirOrderAndNotOfTheNext) {
  for (const Tableau* t : all_tables()) {
    const int order = std::min(t->order, 7);
    for (int n = 1; n <= order; ++n)
      for (const Tree& tree : trees(n))
        EXPECT_NEAR(residual(*t, t->b, tree), 0, 2e-14) << t->name << ", order " << n;
    if (t->order >= 7) continue;
    double worst = 0;
    for (const Tree& tree : trees(order + 1))
      worst = std::max(worst, std::fabs(residual(*t, t->b, tree)));
    EXPECT_GT(worst, 1e-5) << t->name;
  }
}

TEST(OdeTables, EmbeddedMethodsHaveTheOrderBelow) {
  for (const Tableau* t : all_tables()) {
    if (t->error.empty()) continue;
    Numbers embedded = t->b;
    for (std::size_t i = 0; i < embedded.size(); ++i) embedded[i] -= t->error[i];
    for (int n = 1; n < std::min(t->order, 7); ++n)
      for (const Tree& tree : trees(n))
        EXPECT_NEAR(residual(*t, embedded, tree), 0, 2e-14) << t->name << ", order " << n;
    if (t->order >= 7) continue;
    double worst = 0;
    for (const Tree& tree : trees(t->order))
      worst = std::max(worst, std::fabs(residual(*t, embedded, tree)));
    EXPECT_GT(worst, 1e-6) << t->name;
  }
}

TEST(OdeTables, DenseOutputEndsWhereTheStepEnds) {
  for (const Tableau* t : all_tables()) {
    for (std::size_t i = 0; i < t->dense.size(); ++i) {
      double end = 0;
      for (double w : t->dense[i]) end += w;
      EXPECT_NEAR(end, t->b[i], 1e-12) << t->name << ", stage " << i;
    }
  }
}

// ---- single steps

double one_step(const ode::Solver& solver, double h) {
  return test::run([&](const Array& y) { return ode::diffeqsolve(decay, solver, 0.0, h, h, y).y1; },
                   f64(1.0))[0];
}

TEST(OdeExplicit, SingleStepsAreTheTablesStabilityFunctions) {
  // Golden T28.
  EXPECT_DOUBLE_EQ(one_step(ode::Euler(), 0.1), 0.9);
  EXPECT_NEAR(one_step(ode::Heun(), 0.1), 0.905, 2e-16);
  EXPECT_NEAR(one_step(ode::Ralston(), 0.1), 0.905, 2e-16);
  EXPECT_NEAR(one_step(ode::Midpoint(), 0.1), 0.905, 2e-16);
  EXPECT_NEAR(one_step(ode::Bosh3(), 0.1), 0.9048333333333334, 3e-16);
  EXPECT_NEAR(one_step(ode::RK4(), 0.1), 0.9048375, 3e-16);
  EXPECT_NEAR(one_step(ode::Dopri5(), 0.1), 0.9048374183333333, 3e-16);
  EXPECT_NEAR(one_step(ode::Tsit5(), 0.1), 0.9048374180988780, 3e-16);
  EXPECT_NEAR(one_step(ode::Dopri8(), 0.1), 0.9048374180359596, 4e-16);
  EXPECT_NEAR(one_step(ode::Vern7(), 0.1), std::exp(-0.1), 1e-12);
  EXPECT_NEAR(one_step(ode::Vern9(), 0.1), std::exp(-0.1), 1e-15);
  EXPECT_NEAR(one_step(ode::Bosh3(), 10), -125.6666667, 1e-6);
  EXPECT_NEAR(one_step(ode::Dopri5(), 10), 1124.3333333, 1e-6);
  EXPECT_NEAR(one_step(ode::Tsit5(), 10), 889.87799147, 1e-6);
  EXPECT_NEAR(one_step(ode::Dopri8(), 10), -1628.77437934, 1e-6);
}

TEST(OdeExplicit, ALotkaVolterraStepIsTheKnownOne) {
  struct Animals {
    Array prey, hunters;
  };
  const ode::OdeTerm field{[](const Array&, const Animals& a, const None&) {
    return Animals{a.prey * (1.5 - a.hunters), a.hunters * (a.prey - 3.0)};
  }};
  const auto step = [&](const ode::Solver& solver) {
    const auto all = test::run_all(
        [&](const Array& one) {
          return ode::diffeqsolve(field, solver, 0.0, 0.1, 0.1, Animals{one, one}).y1;
        },
        f64(1.0));
    return std::pair{all[0][0], all[1][0]};
  };
  const auto near = [&](const ode::Solver& solver, double prey, double hunters) {
    const auto got = step(solver);
    EXPECT_NEAR(got.first, prey, 1e-15) << solver.name();
    EXPECT_NEAR(got.second, hunters, 1e-15) << solver.name();
  };
  near(ode::Tsit5(), 1.0610782691328142, 0.8210842300392693);
  near(ode::Dopri5(), 1.061078281639348, 0.8210842278725672);
  near(ode::Dopri8(), 1.061078259507605, 0.8210842408213082);
  near(ode::Bosh3(), 1.0610566239583332, 0.8210433760416667);
  near(ode::Heun(), 1.06175, 0.822);
}

// ---- orders

TEST(OdeExplicit, MeasuredOrdersAreTheStatedOnes) {
  const auto expect_order = [](const ode::Solver& s, const Ellipse& e,
                               const std::vector<int>& steps, double within) {
    EXPECT_NEAR(slope(errors(s, e, steps)), s.order(), within) << s.name();
  };
  expect_order(ode::Euler(), short_way, {64, 128, 256}, 0.1);
  expect_order(ode::Heun(), short_way, {64, 128}, 0.1);
  expect_order(ode::Midpoint(), short_way, {64, 128}, 0.1);
  expect_order(ode::Ralston(), short_way, {64, 128}, 0.1);
  expect_order(ode::Bosh3(), short_way, {64, 128}, 0.1);
  expect_order(ode::RK4(), short_way, {64, 128}, 0.1);
  expect_order(ode::Dopri5(), longer, {192, 256, 384}, 0.1);
  expect_order(ode::Tsit5(), longer, {192, 256, 384}, 0.1);
  expect_order(ode::Vern7(), short_way, {16, 20, 28}, 0.3);
  expect_order(ode::Dopri8(), longer, {24, 32, 40}, 0.3);
  expect_order(ode::Vern9(), longest, {20, 24, 32}, 0.3);
}

TEST(OdeExplicit, DenseOutputHasItsOrder) {
  const auto order = [](const ode::Solver& s, const std::vector<int>& steps) {
    return slope(errors(s, short_way, steps, 0.6));
  };
  EXPECT_GT(order(ode::Euler(), {64, 128}), 0.9);
  EXPECT_GT(order(ode::Heun(), {32, 64}), 1.9);
  EXPECT_GT(order(ode::Midpoint(), {32, 64}), 1.9);
  EXPECT_GT(order(ode::Bosh3(), {32, 64}), 2.9);
  EXPECT_GT(order(ode::RK4(), {32, 64}), 3.7);
  EXPECT_GT(order(ode::Dopri5(), {16, 32}), 4.5);
  EXPECT_GT(order(ode::Tsit5(), {16, 32}), 4.5);
  EXPECT_GT(order(ode::Dopri8(), {6, 9}), 6.0);
}

// ---- tables of users

TEST(OdeExplicit, AUserGivesAMethodByItsTable) {
  // Kutta's method of order 3.
  const ode::RungeKutta kutta({.name = "Kutta3",
                               .order = 3,
                               .c = {0.5, 1},
                               .a = {{0.5}, {-1, 2}},
                               .b = {1.0 / 6, 2.0 / 3, 1.0 / 6}});
  EXPECT_NEAR(slope(errors(kutta, short_way, {64, 128})), 3, 0.1);
  EXPECT_FALSE(kutta.has_error_estimate());
}

std::string complaint(const Tableau& table) {
  try {
    ode::check(table);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(OdeExplicit, TablesThatCannotBeRightAreRefused) {
  using ::testing::HasSubstr;
  Tableau t = ode::tableaus::bosh3();
  EXPECT_EQ(complaint(t), "");
  t.a[1][1] = 0.5;
  EXPECT_THAT(complaint(t), HasSubstr("row 1 of `a` sums up to 0.5"));
  t = ode::tableaus::bosh3();
  t.b[0] += 0.25;
  EXPECT_THAT(complaint(t), HasSubstr("`b` sums up to 1.25"));
  t = ode::tableaus::bosh3();
  t.c.pop_back();
  EXPECT_THAT(complaint(t), HasSubstr("`c` 2 numbers"));
  t = ode::tableaus::bosh3();
  t.error[3] = 0;
  EXPECT_THAT(complaint(t), HasSubstr("`error` sums up to 0.125"));
}

}  // namespace
}  // namespace gnomon::testing
