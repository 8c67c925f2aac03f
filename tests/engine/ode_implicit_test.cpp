// tests/engine/ode_implicit_test.cpp -- implicit methods: their tables, single steps, orders and
// failures.
#include <gtest/gtest.h>

#include "engine/library/ode/dirk.h"
#include "engine/library/ode/rosenbrock.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_orders.h"

namespace gnomon::testing {
namespace {

using ode::detail::DirkTable;
using ode::detail::RosenbrockTable;
using ::testing::HasSubstr;
namespace tables = ode::detail::tables;
using Matrix = std::vector<Numbers>;

const ode::NewtonOptions exact{.rtol = 1e-13, .atol = 1e-13};

// ---- order conditions

Matrix square(const std::vector<Numbers>& rows, const Numbers& diagonal) {
  const std::size_t n = rows.size() + 1;
  Matrix a(n, Numbers(n, 0.0));
  for (std::size_t i = 1; i < n; ++i) {
    for (std::size_t j = 0; j < rows[i - 1].size(); ++j) a[i][j] = rows[i - 1][j];
    if (!diagonal.empty()) a[i][i] = diagonal[i - 1];
  }
  return a;
}

Numbers product(const Matrix& a, const Numbers& x) {
  Numbers y;
  for (const Numbers& row : a) {
    double sum = 0;
    for (std::size_t j = 0; j < row.size(); ++j) sum += row[j] * x[j];
    y.push_back(sum);
  }
  return y;
}

/// Weights of a tree whose vertices have colours, bits of `colours` from its root down: 0 the
/// explicit table, 1 the implicit one. `vertex` counts them.
Numbers weights(const Matrix& explicit_a, const Matrix& a, const Tree& tree, unsigned colours,
                int& vertex) {
  Numbers w(a.size(), 1.0);
  for (const Tree& s : tree.below) {
    const bool implicit = (colours >> vertex++ & 1) != 0;
    const Numbers inner =
        product(implicit ? a : explicit_a, weights(explicit_a, a, s, colours, vertex));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] *= inner[i];
  }
  return w;
}

/// The largest residual of the conditions of one order: of the implicit table alone, or of both
/// together in all mixtures.
double residual(const DirkTable& t, bool mixed, const Numbers& b, const Numbers& explicit_b,
                int n) {
  const Matrix a = square(t.a, t.diagonal);
  const Matrix other = mixed ? square(t.explicit_a, {}) : a;
  double worst = 0;
  for (const Tree& tree : trees(n)) {
    for (unsigned colours = 0; colours < (mixed ? 1u << n : 1u); ++colours) {
      int vertex = 1;
      const Numbers w = weights(other, a, tree, mixed ? colours : ~0u, vertex);
      const Numbers& row = !mixed || (colours & 1) != 0 ? b : explicit_b;
      double sum = 0;
      for (std::size_t i = 0; i < row.size(); ++i) sum += row[i] * w[i];
      worst = std::max(worst, std::fabs(sum - 1 / density(tree)));
    }
  }
  return worst;
}

std::vector<const DirkTable*> all_tables() {
  return {&tables::implicit_euler(), &tables::kvaerno3(), &tables::kvaerno4(), &tables::kvaerno5(),
          &tables::kencarp3(),       &tables::kencarp4(), &tables::kencarp5(), &tables::sil3()};
}

Numbers minus(Numbers a, const Numbers& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

TEST(OdeTables, ImplicitOnesMeetTheConditionsOfTheirOrder) {
  for (const DirkTable* t : all_tables()) {
    const Matrix a = square(t->a, t->diagonal);
    for (bool mixed : {false, true}) {
      if (mixed && t->explicit_a.empty()) continue;
      const Numbers explicit_b = t->explicit_b.empty() ? t->b : t->explicit_b;
      const Numbers explicit_error = t->explicit_error.empty() ? t->error : t->explicit_error;
      for (int n = 1; n <= t->order; ++n)
        EXPECT_LT(residual(*t, mixed, t->b, explicit_b, n), 3e-10) << t->name << ", order " << n;
      EXPECT_GT(residual(*t, mixed, t->b, explicit_b, t->order + 1), 1e-6) << t->name;
      const int embedded = t->order == 1 ? 1 : t->order - 1;
      for (int n = 1; n <= embedded; ++n)
        EXPECT_LT(residual(*t, mixed, minus(t->b, t->error), minus(explicit_b, explicit_error), n),
                  3e-10)
            << t->name << ", embedded, order " << n;
    }
    // Stages at their times, and what an iteration begins with exact for constant slopes.
    for (std::size_t i = 1; i < a.size(); ++i) {
      double c = 0, guess = 0;
      for (double x : a[i]) c += x;
      EXPECT_NEAR(c, t->c[i - 1], 2e-11) << t->name << ", stage " << i;
      if (t->predictor.empty()) continue;
      for (double x : t->predictor[i - 1]) guess += x;
      EXPECT_NEAR(guess, 1, 1e-14) << t->name << ", stage " << i;
    }
    for (std::size_t i = 0; i < t->dense.size(); ++i) {
      double end = 0;
      for (double x : t->dense[i]) end += x;
      EXPECT_NEAR(end, t->b[i], 1e-12) << t->name << ", stage " << i;
    }
  }
}

/// A Rosenbrock method in the form its conditions are written in: slopes k with u = gamma k.
struct Classical {
  Matrix alpha, beta;  // beta = alpha + gamma
  Numbers b, c, d;
};
Classical classical(const RosenbrockTable& t, const Numbers& b) {
  // (I - h g J) u = h s f + r u, and sum_j gamma_ij k_j with k = the slopes f + h J sum gamma k:
  // gamma^-1 = (I - r) / s ... with u = gamma k / (s / g); see below.
  const std::size_t n = t.stages();
  // Of (1 / (h g)) u_i - J u_i = (s / g) f_i + (1 / (h g)) sum r_ij u_j with u = (s / g) v the
  // classical one is v = gamma k, gamma^-1 = (I - r) / g.
  Matrix inverse(n, Numbers(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) {
    inverse[i][i] = 1 / t.gamma;
    for (std::size_t j = 0; j < i; ++j) inverse[i][j] = -t.r[i - 1][j] / t.gamma;
  }
  Matrix gamma(n, Numbers(n, 0.0));
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      double sum = i == j ? 1 : 0;
      for (std::size_t k = j; k < i; ++k) sum -= inverse[i][k] * gamma[k][j];
      gamma[i][j] = sum / inverse[i][i];
    }
  const double scale = t.scale / t.gamma;
  const auto times_gamma = [&](const Numbers& row) {
    Numbers result(n, 0.0);
    for (std::size_t k = 0; k < row.size(); ++k)
      for (std::size_t j = 0; j <= k; ++j) result[j] += scale * row[k] * gamma[k][j];
    return result;
  };
  Classical m{{Numbers(n, 0.0)}, gamma, times_gamma(b), t.c, {}};
  for (const Numbers& row : t.a) m.alpha.push_back(times_gamma(row));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) m.beta[i][j] += m.alpha[i][j];
    m.d.push_back(t.d[i] / t.scale);
  }
  return m;
}

/// A vertex with one branch is met by the Jacobian as well.
/// Source: E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, theorem IV.7.4.
Numbers weights(const Classical& m, const Tree& tree) {
  Numbers w(m.b.size(), 1.0);
  for (const Tree& s : tree.below) {
    const Numbers inner = product(tree.below.size() == 1 ? m.beta : m.alpha, weights(m, s));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] *= inner[i];
  }
  return w;
}
double residual(const Classical& m, int n) {
  double worst = 0;
  for (const Tree& tree : trees(n)) {
    const Numbers w = weights(m, tree);
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) sum += m.b[i] * w[i];
    worst = std::max(worst, std::fabs(sum - 1 / density(tree)));
  }
  return worst;
}

TEST(OdeTables, RosenbrockOnesMeetTheConditionsOfTheirOrder) {
  for (const RosenbrockTable* t : {&tables::rosenbrock23(), &tables::rodas5p()}) {
    const Classical m = classical(*t, t->b);
    for (int n = 1; n <= t->order; ++n) EXPECT_LT(residual(m, n), 1e-11) << t->name << ", " << n;
    EXPECT_GT(residual(m, t->order + 1), 1e-6) << t->name;
    // The other method of the pair: of order 3 where the first has 2, of order 4 where it has 5.
    const Classical other = classical(*t, minus(t->b, t->error));
    for (int n = 1; n < t->error_order; ++n)
      EXPECT_LT(residual(other, n), 1e-11) << t->name << ", embedded, " << n;
    for (std::size_t i = 0; i < m.b.size(); ++i) {
      double c = 0, d = 0;
      for (double x : m.alpha[i]) c += x;
      for (double x : m.beta[i]) d += x;
      EXPECT_NEAR(c, m.c[i], 2e-13) << t->name << ", stage " << i;
      EXPECT_NEAR(d - c, m.d[i], 2e-12) << t->name << ", stage " << i;
      double end = 0;
      for (double x : t->dense[i]) end += x;
      EXPECT_NEAR(end, t->b[i], 1e-12) << t->name << ", stage " << i;
    }
  }
}

// ---- single steps

double one_step(const ode::Solver& solver, double h) {
  return test::run([&](const Array& y) { return ode::diffeqsolve(decay, solver, 0.0, h, h, y).y1; },
                   f64(1.0))[0];
}

TEST(OdeImplicit, SingleStepsAreTheTablesStabilityFunctions) {
  // Golden T28.
  EXPECT_NEAR(one_step(ode::ImplicitEuler(exact), 0.1), 1 / 1.1, 3e-16);
  EXPECT_NEAR(one_step(ode::Kvaerno3(exact), 0.1), 0.9048352044724653, 3e-16);
  EXPECT_NEAR(one_step(ode::Kvaerno4(exact), 0.1), 0.9048372056076501, 3e-16);
  EXPECT_NEAR(one_step(ode::Kvaerno5(exact), 0.1), 0.9048374184600678, 3e-16);
  EXPECT_NEAR(one_step(ode::Kvaerno3(exact), 10), -0.127960951, 1e-9);
  EXPECT_NEAR(one_step(ode::Kvaerno4(exact), 10), -0.100664030, 1e-9);
  EXPECT_NEAR(one_step(ode::Kvaerno5(exact), 10), 0.096791132, 1e-9);
  // Of equations that are as stiff as can be nothing is left.
  for (const ode::Solver& s : {ode::Solver(ode::Kvaerno5(exact)), ode::Solver(ode::KenCarp5(exact)),
                               ode::Solver(ode::Rosenbrock23()), ode::Solver(ode::Rodas5P())})
    EXPECT_LT(std::fabs(one_step(s, 1e9)), 1e-6) << s.name();
}

TEST(OdeImplicit, StepsOfTwoTermsAreTheKnownOnes) {
  // Golden T28: y' = -0.3 y, explicit, - 0.7 y, implicit.
  const ode::MultiTerm terms(
      ode::OdeTerm{[](const Array&, const Array& y, const None&) { return -0.3 * y; }},
      ode::OdeTerm{[](const Array&, const Array& y, const None&) { return -0.7 * y; }});
  const auto step = [&](const ode::Solver& solver) {
    return test::run(
        [&](const Array& y) { return ode::diffeqsolve(terms, solver, 0.0, 0.1, 0.1, y).y1; },
        f64(1.0))[0];
  };
  EXPECT_NEAR(step(ode::Sil3(exact)), 0.9048089379939832, 4e-16);
  EXPECT_NEAR(step(ode::KenCarp3(exact)), 0.9048371672896418, 4e-16);
  EXPECT_NEAR(step(ode::KenCarp4(exact)), 0.9048374168576473, 4e-16);
  // What the quotients of the paper give exactly; golden T28 has 0.9048374182031708, for a table
  // with one digit of a denominator misprinted (a_76 over 7827059040719).
  EXPECT_NEAR(step(ode::KenCarp5(exact)), 0.9048374182031812, 4e-16);
}

TEST(OdeImplicit, ErrorEstimatesAreTheKnownOnes) {
  // Golden T28. The first step after one with error e is 0.9 h (e / tolerance)^(-1 / k).
  const auto estimate = [](const ode::Solver& solver, double order) {
    const double tolerance = 1e-2, h = 0.1;
    const auto got = test::run(
        [&](const Array& y) {
          return ode::diffeqsolve(
                     decay, solver, 0.0, 10.0, h, y, none,
                     {.saveat = {.steps = 1},
                      .controller =
                          ode::PidController{.rtol = 0.0, .atol = tolerance, .factormax = 1e6},
                      .max_steps = 2})
              .ts;
        },
        f64(1.0));
    return tolerance * std::pow((got[1] - got[0]) / (0.9 * h), -order);
  };
  EXPECT_NEAR(estimate(ode::Kvaerno3(exact), 3), 6.9702853e-5, 1e-11);
  EXPECT_NEAR(estimate(ode::Kvaerno4(exact), 4), 4.7603823e-6, 1e-12);
  EXPECT_NEAR(estimate(ode::Kvaerno5(exact), 5), 2.556382e-9, 1e-14);
}

// ---- orders

/// The orbit in two terms: the explicit one moves, the implicit one pulls.
const ode::MultiTerm split_kepler(
    ode::OdeTerm{[](const Array&, const Orbit& o, const None&) {
      return Orbit{o.u, o.v, zeros_like(o.x), zeros_like(o.y)};
    }},
    ode::OdeTerm{[](const Array&, const Orbit& o, const None&) {
      const Array r2 = o.x * o.x + o.y * o.y, r3 = r2 * sqrt(r2);
      return Orbit{zeros_like(o.x), zeros_like(o.y), -o.x / r3, -o.y / r3};
    }});

template <class Term>
void expect_order(const Term& term, const ode::Solver& s, const Ellipse& e,
                  const std::vector<int>& steps) {
  EXPECT_NEAR(slope(errors(term, s, e, steps)), s.order(), 0.1) << s.name();
}

TEST(OdeImplicit, MeasuredOrdersAreTheStatedOnes) {
  expect_order(kepler, ode::ImplicitEuler(exact), short_way, {128, 256});
  expect_order(kepler, ode::Kvaerno3(exact), short_way, {48, 96});
  expect_order(kepler, ode::Kvaerno4(exact), short_way, {32, 64});
  expect_order(kepler, ode::Kvaerno5(exact), longer, {64, 96, 128});
  expect_order(kepler, ode::Rosenbrock23(), short_way, {64, 128});
  expect_order(kepler, ode::Rodas5P(), short_way, {72, 96, 128});
}

TEST(OdeImplicit, MeasuredOrdersOfTwoTermsAreTheStatedOnes) {
  expect_order(split_kepler, ode::Sil3(exact), short_way, {64, 128});
  expect_order(split_kepler, ode::KenCarp3(exact), short_way, {48, 96});
  expect_order(split_kepler, ode::KenCarp4(exact), short_way, {32, 64});
  expect_order(split_kepler, ode::KenCarp5(exact), short_way, {32, 48, 64});
}

TEST(OdeImplicit, DenseOutputHasItsOrder) {
  const auto order = [](const ode::Solver& s, const std::vector<int>& steps) {
    return slope(errors(s, short_way, steps, 0.6));
  };
  EXPECT_GT(order(ode::ImplicitEuler(exact), {32, 64}), 0.9);
  EXPECT_GT(order(ode::Kvaerno3(exact), {16, 32}), 2.9);
  EXPECT_GT(order(ode::Kvaerno5(exact), {8, 16}), 3.7);
  EXPECT_GT(order(ode::KenCarp3(exact), {16, 32}), 1.9);
  EXPECT_GT(order(ode::KenCarp4(exact), {16, 32}), 2.9);
  EXPECT_GT(order(ode::KenCarp5(exact), {16, 32}), 2.9);
  EXPECT_GT(order(ode::Rosenbrock23(), {32, 64}), 1.9);
  EXPECT_GT(order(ode::Rodas5P(), {8, 16}), 4.0);
}

/// y' = -2 t y^2 from 1: 1 / (1 + t^2). Time counts.
const ode::OdeTerm hill{
    [](const Array& t, const Array& y, const None&) { return -2.0 * t * y * y; }};

TEST(OdeImplicit, FieldsThatDependOnTimeKeepTheOrder) {
  const auto order = [](const ode::Solver& s, const std::vector<int>& steps) {
    std::vector<std::pair<double, double>> points;
    for (int n : steps) {
      const double end = test::run(
          [&](const Array& y) { return ode::diffeqsolve(hill, s, 0.0, 1.5, 1.5 / n, y).y1; },
          f64(1.0))[0];
      points.emplace_back(1.5 / n, std::fabs(end - 1 / 3.25));
    }
    return slope(points);
  };
  EXPECT_NEAR(order(ode::Kvaerno3(exact), {64, 128}), 3, 0.1);
  EXPECT_NEAR(order(ode::Kvaerno5(exact), {32, 48}), 5, 0.15);
  EXPECT_NEAR(order(ode::Rosenbrock23(), {128, 256}), 2, 0.1);
  EXPECT_NEAR(order(ode::Rodas5P(), {24, 48}), 5, 0.15);
}

// ---- what goes wrong

TEST(OdeImplicit, AnEquationWithoutASolutionEndsEqualSteps) {
  // y1 = 1 + h y1^2 has no real solution for h > 1 / 4.
  const ode::OdeTerm square_of{[](const Array&, const Array& y, const None&) { return y * y; }};
  const auto run = [&](const ode::SolveOptions& options) {
    const auto all = test::run_all(
        [&](const Array& y) {
          const auto sol = ode::diffeqsolve(square_of, ode::ImplicitEuler(exact), 0.0, 0.9, 0.9, y,
                                            none, options);
          return std::pair{sol.result, sol.stats.rejected};
        },
        f64(1.0));
    return std::pair{static_cast<ode::Result>(static_cast<int>(all[0][0])), all[1][0]};
  };
  EXPECT_EQ(run({}).first, ode::Result::nonlinear_divergence);
  const auto adaptive = run({.controller = ode::PidController{.rtol = 1e-2, .atol = 1e-2}});
  EXPECT_EQ(adaptive.first, ode::Result::successful);
  EXPECT_GE(adaptive.second, 1);
}

TEST(OdeImplicit, SolvesGoBackwardsAndBeginOnTheirOwn) {
  const auto end = [](const ode::Solver& s) {
    return test::run(
        [&](const Array& y) {
          return ode::diffeqsolve(hill, s, 1.5, 0.0, none, y, none,
                                  {.controller = ode::PidController{.rtol = 1e-8, .atol = 1e-8}})
              .y1;
        },
        f64(1 / 3.25))[0];
  };
  EXPECT_NEAR(end(ode::Kvaerno5()), 1, 1e-6);
  EXPECT_NEAR(end(ode::Rodas5P()), 1, 1e-6);
}

TEST(OdeImplicit, EvaluationsAreCounted) {
  // Of a linear equation guesses are exact but for rounding, and the first iteration of each of six
  // stages sees it, or the second. 1 Jacobian of 1 column a step, 1 evaluation to begin with.
  const auto count = [](const ode::Solver& s) {
    return test::run(
        [&](const Array& y) {
          return ode::diffeqsolve(decay, s, 0.0, 1.0, 0.25, y).stats.evaluations;
        },
        f64(1.0))[0];
  };
  const double counted = count(ode::Kvaerno5(exact));
  EXPECT_GE(counted, 1 + 4 * (1 + 6));
  EXPECT_LE(counted, 1 + 4 * (1 + 12));
  EXPECT_EQ(count(ode::Rodas5P()), 4 * (8 + 2));
  EXPECT_EQ(count(ode::Rosenbrock23()), 1 + 4 * (2 + 2));
}

// The square of a step, which only the derivative by time is multiplied by, is beyond any double.
TEST(OdeImplicit, RosenbrockMethodsTakeNoDerivativeByTimeOfAutonomousSystems) {
  const ode::OdeTerm slow{[](const Array&, const Array& y, const None&) { return y * -1e-200; }};
  for (const ode::Solver& s : {ode::Solver(ode::Rodas5P()), ode::Solver(ode::Rosenbrock23())}) {
    const auto end = [&](const Array& y) {
      return ode::diffeqsolve(slow, s, 0.0, 1e200, 1e198, y).y1;
    };
    EXPECT_NEAR(test::run(end, f64(1.0))[0], std::exp(-1), 1e-5) << s.name();
  }
}

std::string complaint(const ode::Solver& solver, const ode::SolveOptions& options) {
  return test::usage_error_of(
      [&](const Array& y) {
        return ode::diffeqsolve(decay, solver, 0.0, 1.0, 0.1, y, none, options).y1;
      },
      f64(1.0));
}

TEST(OdeImplicit, SaysWhatIsMissingBeforeAnythingRuns) {
  EXPECT_THAT(complaint(ode::Kvaerno5(), {}),
              HasSubstr("Kvaerno5 solves an equation in each step and nobody says how exactly: its "
                        "rtol is not given"));
  EXPECT_THAT(complaint(ode::Kvaerno5({.rtol = 1e-3, .atol = -1.0}), {}),
              HasSubstr("atol of Kvaerno5 is -1"));
  EXPECT_THAT(complaint(ode::Kvaerno5({.rtol = 1e-3, .atol = 1e-3, .kappa = 0}), {}),
              HasSubstr("kappa of Kvaerno5 is 0"));
  EXPECT_EQ(complaint(ode::Kvaerno5({.rtol = 1e-3, .atol = 1e-3}), {}), "");
  EXPECT_EQ(
      complaint(ode::Kvaerno5(), {.controller = ode::PidController{.rtol = 1e-3, .atol = 1e-3}}),
      "");
}

}  // namespace
}  // namespace gnomon::testing
