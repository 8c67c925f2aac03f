// tests/engine/estimate_functions_test.cpp -- estimates of traces of functions of matrices, by
// quadrature, against eigenvalues and factorizations; on the host reference.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/arrange.h"
#include "gnomon/estimate.h"
#include "gnomon/linalg.h"
#include "gnomon/operators.h"
#include "gnomon/ops.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/estimate_matrices.h"

namespace gnomon::testing {
namespace {

using estimates::at;
using estimates::derivatives;
using estimates::f64;
using estimates::Family;
using estimates::low_rank;
using estimates::made;
using estimates::values;
using operators::Dense;
using operators::Diagonal;
using operators::Operator;
using test::Numbers;
using Arrays = std::vector<Array>;

/// tr f(A) of a symmetric matrix from its eigenvalues, by Jacobi's rotations.
Numbers eigenvalues(Numbers a, std::size_t n) {
  for (int sweep = 0; sweep < 30; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] == 0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t i = 0; i < n; ++i) {
          const double x = a[i * n + p], y = a[i * n + q];
          a[i * n + p] = c * x - s * y;
          a[i * n + q] = s * x + c * y;
        }
        for (std::size_t i = 0; i < n; ++i) {
          const double x = a[p * n + i], y = a[q * n + i];
          a[p * n + i] = c * x - s * y;
          a[q * n + i] = s * x + c * y;
        }
      }
  Numbers d(n);
  for (std::size_t i = 0; i < n; ++i) d[i] = a[i * n + i];
  return d;
}

TEST(Estimate, QuadratureIsExactWithAllStepsAndOrthogonalProbes) {
  const Family m(6);
  Numbers a(36);
  for (std::size_t i = 0; i < 36; ++i) a[i] = 1.5 * m.b[i] + 0.25 * m.c[i];
  double logs = 0, roots = 0;
  for (double x : eigenvalues(a, 6)) {
    logs += std::log(x);
    roots += std::sqrt(x);
  }
  for (bool again : {true, false}) {
    const auto all = test::run_all(
        [&](const Array& x) {
          const Operator op = Dense{x, {.positive_semidefinite = true}};
          const estimate::QuadratureOptions o{.sampler = estimate::OrthogonalBlocks{6},
                                              .reorthogonalise = again};
          const auto t =
              estimate::trace_of([](const Array& v) { return sqrt(v); }, at(1), op, 6, 6, o);
          EXPECT_EQ(t.products, 36);
          return Arrays{estimate::log_determinant(at(1), op, 6, 6, o).value, t.value};
        },
        f64(a, {6, 6}));
    EXPECT_NEAR(all[0][0], logs, again ? 1e-11 : 1e-8) << again;
    EXPECT_NEAR(all[1][0], roots, again ? 1e-11 : 1e-8) << again;
  }
}

TEST(Estimate, QuadratureStopsWhereTheSpaceOfAProbeEnds) {
  // Two eigenvalues: a probe spans two dimensions, whatever it is.
  const auto all = test::run_all(
      [&](const Array& v) {
        const Operator op = Diagonal{v};
        const auto t = estimate::trace_of([](const Array& x) { return log(x); }, at(1), op, 4, 6);
        return values(t);
      },
      f64({2, 2, 2, 5, 5, 5, 5, 2}, {8}));
  EXPECT_NEAR(all[0][0], 4 * std::log(2) + 4 * std::log(5), 1e-13);
  EXPECT_NEAR(all[1][0], 0, 1e-13);
}

TEST(Estimate, DerivativesOfLogDeterminants) {
  const Family m(6);
  const auto dense = test::run(
      [&](const Array& x, const Array& b, const Array& c) {
        const auto f = [&](const Array& v) {
          return linalg::slogdet((1 + v) * b + v * v * c).logabs;
        };
        const Array one = ones({}, DType::f64);
        const auto forward = [&](const Array& v) { return jvp(f, v, one).second; };
        const Array second = jvp(forward, x, one).second;
        return stack(Arrays{f(x), forward(x), forward(x), second, second});
      },
      f64({0.5}, {}), f64(m.b, {6, 6}), f64(m.c, {6, 6}));
  const estimate::QuadratureOptions o{.sampler = estimate::OrthogonalBlocks{6}};
  test::expect_near(
      derivatives(
          m, [&](const Operator& a) { return estimate::log_determinant(at(2), a, 6, 6, o).value; }),
      dense, 1e-9);
  // A preconditioner of the solves changes none of them.
  test::expect_near(derivatives(m,
                                [&](const Operator& a) {
                                  auto with = o;
                                  with.solve_preconditioner = operators::jacobi(a);
                                  return estimate::log_determinant(at(2), a, 6, 6, with).value;
                                }),
                    dense, 1e-9);
  test::expect_near(derivatives(m,
                                [&](const Operator& a) {
                                  return estimate::trace_of([](const Array& v) { return log(v); },
                                                            at(2), a, 6, 6, o)
                                      .value;
                                }),
                    dense, 1e-8);
}
}  // namespace
}  // namespace gnomon::testing
