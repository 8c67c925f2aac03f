// tests/engine/operators_incomplete_cholesky_test.cpp -- factors without fill: what they solve, the
// steps they save, what they refuse.
#include <gmock/gmock.h>

#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/operators.h"
#include "tests/engine/fixture.h"
#include "tests/engine/operators_systems.h"

namespace gnomon::testing {
namespace {

using operators::Csr;
using operators::IncompleteCholesky;
using operators::Triplets;
using systems::Numbers;
using ::testing::HasSubstr;

class Incomplete : public DeviceTest {
 protected:
  /// Steps of CG, and |A x - b| / |b|.
  std::pair<int, double> solve(const Triplets& t, const IncompleteCholesky* m, double rtol) {
    const Csr a = operators::to_csr(rt, t, {.tags = {.positive_semidefinite = true}});
    const Numbers right = systems::right_side(static_cast<std::size_t>(t.rows));
    const Array b = rt.from_host(std::vector<float>(right.begin(), right.end()));
    const auto run = [&](const operators::Operator& o, const Array& v, operators::Cg cg) {
      cg.rtol = rtol;
      const auto s = operators::solve(o, v, cg);
      const Array off = o.mv(s.x) - v;
      return stack({cast(s.steps, DType::f32), sqrt(sum(off * off) / sum(v * v))});
    };
    std::vector<float> found;
    if (m != nullptr) {
      auto f = jit(rt, [&](const Csr& c, const IncompleteCholesky& near, const Array& v) {
        return run(c, v, {.preconditioner = operators::Operator(near)});
      });
      found = rt.to_host<float>(f(a, *m, b));
    } else {
      auto f = jit(rt, [&](const Csr& c, const Array& v) { return run(c, v, {}); });
      found = rt.to_host<float>(f(a, b));
    }
    return {static_cast<int>(found[0]), double(found[1])};
  }

  std::string refusal(const Triplets& t) {
    try {
      operators::incomplete_cholesky(rt, t);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "no error";
  }
};

/// Conjugate gradients with the factor of `a` without fill, in plain loops over dense matrices;
/// M. Benzi's survey, J. Comput. Phys. 182 (2002), has both.
int reference_steps(const Numbers& a, const Numbers& b, double rtol) {
  const std::size_t n = b.size();
  Numbers l(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      if (a[i * n + j] == 0) continue;
      double s = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) s -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(s) : s / l[j * n + j];
    }
  const auto nearly = [&](Numbers r) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) r[i] -= l[i * n + k] * r[k];
      r[i] /= l[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) r[i] -= l[k * n + i] * r[k];
      r[i] /= l[i * n + i];
    }
    return r;
  };
  Numbers x(n), r = b, z = nearly(r), p = z;
  double rz = systems::dot(r, z);
  int steps = 0;
  for (; systems::norm(r) > rtol * systems::norm(b) && steps < 1000; ++steps) {
    const Numbers q = systems::times(a, p);
    const double alpha = rz / systems::dot(p, q);
    x = systems::plus(x, alpha, p), r = systems::plus(r, -alpha, q);
    z = nearly(r);
    const double next = systems::dot(r, z);
    p = systems::plus(z, next / rz, p);
    rz = next;
  }
  return steps;
}

TEST_F(Incomplete, FactorsOfTridiagonalMatricesAreWhole) {
  const Triplets t = operators::poisson({40});
  const auto m = operators::incomplete_cholesky(rt, t, {.sweeps = 0});
  EXPECT_EQ(m.levels, 40);
  EXPECT_EQ(m.sweeps, 40);
  EXPECT_EQ(m.shift, 0);
  const auto [steps, off] = solve(t, &m, 1e-4);
  EXPECT_LE(steps, 2);
  EXPECT_LT(off, 1e-4);
}

TEST_F(Incomplete, FactorsSaveTheStepsThatTheyShould) {
  const Triplets t = operators::poisson({20, 20});
  const double rtol = 1e-5;
  const Numbers a = systems::grid({20, 20}, 0), b = systems::right_side(400);
  const int plain = solve(t, nullptr, rtol).first, want = reference_steps(a, b, rtol);
  const auto exact = operators::incomplete_cholesky(rt, t, {.sweeps = 0});
  EXPECT_EQ(exact.levels, 39);  // diagonals of the grid
  const auto [steps, off] = solve(t, &exact, rtol);
  EXPECT_NEAR(steps, want, std::max(1.0, 0.1 * want));
  EXPECT_LT(off, 2 * rtol);
  EXPECT_LT(2 * steps, plain);
  // Few sweeps are nearly as good.
  const auto few = operators::incomplete_cholesky(rt, t);
  EXPECT_EQ(few.sweeps, 8);
  const auto [more, also_off] = solve(t, &few, rtol);
  EXPECT_LT(more, 1.5 * want);
  EXPECT_LT(also_off, 2 * rtol);
}

TEST_F(Incomplete, ABreakdownMovesTheDiagonal) {
  // D. Kershaw, J. Comput. Phys. 26 (1978): positive definite, and its factor without fill is not.
  Triplets t;
  t.rows = t.columns = 4;
  const double a[4][4] = {{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
  for (Dim i = 0; i < 4; ++i)
    for (Dim j = 0; j < 4; ++j)
      if (a[i][j] != 0) t.add(i, j, a[i][j]);
  const auto m = operators::incomplete_cholesky(rt, t);
  EXPECT_GT(m.shift, 0);
  EXPECT_LT(m.shift, 2);
  const auto [steps, off] = solve(t, &m, 1e-5);
  EXPECT_LE(steps, 6);
  EXPECT_LT(off, 1e-4);
}

TEST_F(Incomplete, OtherMatricesAreRefused) {
  Triplets t = operators::poisson({3});
  t.add(0, 2, 1);
  EXPECT_THAT(refusal(t), HasSubstr("entry (0, 2) has no equal one"));
  t.add(2, 0, 2);
  EXPECT_THAT(refusal(t), HasSubstr("has no equal one"));
  Triplets negative = operators::poisson({3});
  negative.add(1, 1, -2);
  EXPECT_THAT(refusal(negative), HasSubstr("element (1, 1) of the diagonal is 0"));
  Triplets wide = operators::poisson({3});
  wide.columns = 4;
  EXPECT_THAT(refusal(wide), HasSubstr("the matrix is 3 x 4"));
  Triplets infinite = operators::poisson({3});
  infinite.add(0, 1, INFINITY);
  infinite.add(1, 0, INFINITY);
  EXPECT_THAT(refusal(infinite), HasSubstr("not finite"));
  infinite.add(7, 0, 1);
  EXPECT_THAT(refusal(infinite), HasSubstr("entry 9 is at (7, 0)"));
}

}  // namespace
}  // namespace gnomon::testing
