// tests/engine/operators_eigen_test.cpp -- eigenpairs and singular values of operators against
// closed forms, on the host reference.
#include <algorithm>
#include <numbers>

#include "gnomon/arrange.h"
#include "gnomon/operators.h"
#include "tests/engine/operators_matrices.h"

namespace gnomon::testing {
namespace {

using namespace matrices;
using operators::Dense;
using operators::Diagonal;
using operators::Operator;
using operators::randomized_svd;
using operators::Tags;
using test::Numbers;
using ::testing::HasSubstr;

// Rank 2: 5 u v^T + 2 w z^T of orthonormal pairs, [6, 4].
Numbers rank_two() {
  const double u[] = {0.6, 0.8, 0, 0, 0, 0}, w[] = {0, 0, 0.6, 0, 0.8, 0};
  const double v[] = {0.5, 0.5, 0.5, 0.5}, z[] = {0.5, -0.5, 0.5, -0.5};
  Numbers a;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 4; ++j) a.push_back(5 * u[i] * v[j] + 2 * w[i] * z[j]);
  return a;
}

void is_exact(DType dtype, double tolerance) {
  const Numbers a = rank_two();
  const auto all = test::run_all(
      [](const Array& m) {
        const linalg::Svd f =
            randomized_svd(Dense{m}, 2, random::key(3), {.oversample = 1, .power_iterations = 1});
        return std::vector<Array>{f.s, matmul(f.u * f.s, f.vt), matmul(transpose(f.u), f.u),
                                  matmul(f.vt, transpose(f.vt))};
      },
      test::host(dtype, {6, 4}, a));
  const Numbers eye{1, 0, 0, 1};
  ASSERT_EQ(all[0].size(), 2u);
  ASSERT_EQ(all[1].size(), a.size());
  EXPECT_NEAR(all[0][0], 5, tolerance);
  EXPECT_NEAR(all[0][1], 2, tolerance);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(all[1][i], a[i], tolerance);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(all[2][i], eye[i], tolerance);
    EXPECT_NEAR(all[3][i], eye[i], tolerance);
  }
}

TEST(OperatorsEigen, RandomizedSvdIsExactOnLowRank) {
  is_exact(DType::f64, 1e-13);
  is_exact(DType::f32, 1e-5);
}

TEST(OperatorsEigen, RandomizedSvdRefusesRankZero) {
  try {
    test::run_all(
        [](const Array& m) {
          return std::vector<Array>{randomized_svd(Dense{m}, 0, random::key(0)).s};
        },
        test::host(DType::f64, {6, 4}, rank_two()));
    FAIL() << "nothing was thrown";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("rank is 0; ask for one singular value at least"));
  }
}

// ---- eigenpairs of minus the Laplacian

/// In one dimension, with this much more on the diagonal.
Operator line(Dim n, const Array& more) {
  const Array off = -ones({n - 1}, more.dtype());
  return operators::Tridiagonal{
      off, 2 * ones({n}, more.dtype()) + more, off, {.positive_semidefinite = true}};
}
/// In two, on m x n points: an operator of operators.
Operator plane(Dim m, Dim n, DType t) {
  const Operator a = line(m, zeros({m}, t)), b = line(n, zeros({n}, t));
  return operators::kron(a, operators::identity(zeros({n}, t))) +
         operators::kron(operators::identity(zeros({m}, t)), b);
}
double of_line(Dim n, Dim j) {
  const double s = std::sin(std::numbers::pi * double(j) / (2 * double(n + 1)));
  return 4 * s * s;
}
Numbers of_plane(Dim m, Dim n) {
  Numbers v;
  for (Dim i = 1; i <= m; ++i)
    for (Dim j = 1; j <= n; ++j) v.push_back(of_line(m, i) + of_line(n, j));
  std::sort(v.begin(), v.end());
  return v;
}

/// Values, |A v - value v| and what was said of it, V^T V, steps and result.
std::vector<Array> described(const Operator& a, const operators::Eigenpairs& r) {
  const Array off = a.mm(r.vectors) - r.vectors * r.values;
  return {r.values,    sqrt(sum(off * off, {0})), matmul(transpose(r.vectors), r.vectors),
          r.residuals, cast(r.steps, DType::f64), cast(r.result, DType::f64)};
}
void expect_pairs(const std::vector<Numbers>& all, const Numbers& values, double tolerance,
                  double residual) {
  const std::size_t k = values.size();
  test::expect_near(all[0], values, tolerance);
  for (std::size_t i = 0; i < k; ++i) {
    EXPECT_LT(all[1][i], residual) << i;
    EXPECT_NEAR(all[3][i], all[1][i], 0.02 * residual + 0.1 * all[1][i]) << i;
    for (std::size_t j = 0; j < k; ++j) EXPECT_NEAR(all[2][i * k + j], i == j, tolerance) << i << j;
  }
}

TEST(OperatorsEigen, LobpcgFindsTheEndsOfASpectrum) {
  const Dim m = 9, n = 7;
  const Numbers values = of_plane(m, n);
  for (const bool largest : {false, true})
    for (const DType t : {DType::f64, DType::f32}) {
      const double rtol = t == DType::f64 ? 1e-9 : 1e-5;
      const auto all = test::run_all(
          [&](const Array& seed) {
            const Operator a = plane(m, n, t);
            const Array x = random::normal(random::key(seed), {m * n, 3}, t);
            return described(a, operators::lobpcg(a, x, {.largest = largest, .rtol = rtol}));
          },
          test::i32(4.0));
      Numbers want(values.begin(), values.begin() + 3);
      if (largest) want = {values.rbegin(), values.rbegin() + 3};
      expect_pairs(all, want, t == DType::f64 ? 1e-12 : 1e-5, 8 * rtol);
      EXPECT_EQ(all[5][0], double(operators::SolveResult::converged));
      EXPECT_GT(all[4][0], 2);
      EXPECT_LT(all[4][0], 60);
    }
}

TEST(OperatorsEigen, APreconditionerSavesSteps) {
  const Dim m = 12, n = 10;
  const auto steps = [&](bool with) {
    return test::run(
        [&](const Array& seed) {
          const Operator a = plane(m, n, DType::f64);
          operators::LobpcgOptions o{.rtol = 1e-8};
          const Array inverse = linalg::inv(a.as_matrix() + 0.1 * eye(m * n, DType::f64));
          if (with) o.preconditioner = Operator(Dense{inverse, {.positive_semidefinite = true}});
          return operators::lobpcg(a, random::normal(random::key(seed), {m * n, 2}, DType::f64), o)
              .steps;
        },
        test::i32(4.0))[0];
  };
  EXPECT_LT(2 * steps(true), steps(false));
}

TEST(OperatorsEigen, SmallOperatorsAreDecomposed) {
  const auto all = test::run_all(
      [&](const Array& x) {
        const Operator a = line(5, zeros({5}, DType::f64));
        return described(a, operators::lobpcg(a, x));
      },
      on_host(scattered(5, 2, 1)));
  expect_pairs(all, {of_line(5, 1), of_line(5, 2)}, 1e-13, 1e-12);
  EXPECT_EQ(all[4][0], 0);
}

TEST(OperatorsEigen, LanesSearchOnTheirOwnAndHaveGradients) {
  // The derivative of an eigenvalue in the diagonal is the square of its vector.
  const Dim n = 24;
  Numbers more(static_cast<std::size_t>(2 * n));
  for (Dim i = 0; i < n; ++i) more[static_cast<std::size_t>(n + i)] = double(i);
  const auto all = test::run_all(
      [&](const Array& d) {
        const auto smallest = [&](const Array& own) {
          const Array x = random::normal(random::key(1), {n, 1}, DType::f64);
          return operators::lobpcg(line(n, own), x, {.rtol = 1e-10});
        };
        const auto pairs = vmap(smallest)(d);
        const Array slope =
            vmap(grad([&](const Array& own) { return smallest(own).values[0]; }))(d);
        const Array moved = vmap([&](const Array& own) {
          return jvp([&](const Array& at) { return smallest(at).values[0]; }, own, own).second;
        })(d);
        return std::vector<Array>{reshape(pairs.values, {2}), pairs.steps, slope,
                                  square(reshape(pairs.vectors, {2, n})), moved};
      },
      test::host(DType::f64, {2, n}, more));
  EXPECT_NEAR(all[0][0], of_line(n, 1), 1e-12);
  EXPECT_NE(all[1][0], all[1][1]);
  test::expect_near(all[2], all[3], 1e-12);
  double along = 0;
  for (Dim i = 0; i < n; ++i) along += double(i) * all[3][static_cast<std::size_t>(n + i)];
  EXPECT_NEAR(all[4][0], 0, 1e-12);
  EXPECT_NEAR(all[4][1], along, 1e-12);
}

TEST(OperatorsEigen, LanczosKnowsHowNearItIs) {
  const Dim n = 80;
  for (const bool largest : {true, false})
    for (const Dim steps : {30, 80}) {
      const auto all = test::run_all(
          [&](const Array& d) {
            const Operator a = line(n, d);
            return described(
                a, operators::eigsh(a, 3, random::key(2), {.largest = largest, .steps = steps}));
          },
          test::host(DType::f64, {n}, Numbers(80)));
      if (steps == n) {
        Numbers want{of_line(n, 1), of_line(n, 2), of_line(n, 3)};
        if (largest) want = {of_line(n, n), of_line(n, n - 1), of_line(n, n - 2)};
        expect_pairs(all, want, 1e-12, 1e-11);
        EXPECT_EQ(all[5][0], double(operators::SolveResult::converged));
      } else {
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_NEAR(all[3][i], all[1][i], 1e-12);  // the bound is the residual
          EXPECT_GT(all[1][i], 1e-6);
        }
      }
    }
}

TEST(OperatorsEigen, AnInvariantSpaceIsGoneOutOf) {
  // Two different eigenvalues: a Krylov space of two dimensions.
  const auto all = test::run_all(
      [&](const Array& d) {
        const Operator a = Operator(Diagonal{d}).tagged({.symmetric = true});
        return described(a, operators::eigsh(a, 4, random::key(2), {.steps = 6}));
      },
      listed({1, 3, 1, 3, 1, 3, 1, 1}));
  expect_pairs(all, {3, 3, 3, 1}, 1e-12, 1e-11);
}

TEST(OperatorsEigen, ArnoldiFindsComplexPairs) {
  // Turns by different angles, stretched by 3, 2, 1 and 0.5.
  const Numbers size{3, 2, 1, 0.5}, angle{0.3, 1.2, 2.5, 0.9};
  const Matrix a = made(8, 8, [&](Dim i, Dim j) {
    if (i / 2 != j / 2) return i < j ? 0.1 : 0.0;  // triangular by blocks
    const auto b = static_cast<std::size_t>(i / 2);
    if (i == j) return size[b] * std::cos(angle[b]);
    return (i < j ? -1 : 1) * size[b] * std::sin(angle[b]);
  });
  const auto all = test::run_all(
      [&](const Array& m) {
        const auto r = operators::eigs(Dense{m}, 4, random::key(5));
        const Array re =
            matmul(m, r.vectors.re) - (r.vectors.re * r.values.re - r.vectors.im * r.values.im);
        const Array im =
            matmul(m, r.vectors.im) - (r.vectors.re * r.values.im + r.vectors.im * r.values.re);
        return std::vector<Array>{r.values.re, abs(r.values.im), sqrt(sum(re * re + im * im, {0})),
                                  sum(square(r.vectors.re) + square(r.vectors.im), {0})};
      },
      on_host(a));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(all[0][i], size[i / 2] * std::cos(angle[i / 2]), 1e-11);
    EXPECT_NEAR(all[1][i], size[i / 2] * std::sin(angle[i / 2]), 1e-11);
    EXPECT_LT(all[2][i], 1e-11);
    EXPECT_NEAR(all[3][i], 1, 1e-12);
  }
}

TEST(OperatorsEigen, WhatHasNoSuchPairsIsRefused) {
  const auto refused = [](auto f) {
    return refusal([&](auto m) { return Dense{f(m)}; }, on_host(scattered(3, 3, 1)));
  };
  const Tags symmetric{.symmetric = true};
  EXPECT_THAT(refused([](auto m) { return operators::lobpcg(Dense{m}, m).vectors; }),
              HasSubstr("a symmetric operator is needed, and the tags of Dense are: none"));
  EXPECT_THAT(refused([&](auto m) {
                return operators::lobpcg(Dense{m, symmetric}, ones({4, 1}, DType::f64)).vectors;
              }),
              HasSubstr("the first guesses are f64[4,1], and the operator Dense has 3 rows"));
  EXPECT_THAT(refused([&](auto m) {
                return operators::eigsh(Dense{m, symmetric}, 4, random::key(1)).vectors;
              }),
              HasSubstr("k is 4, and the operator Dense has 3 rows"));
  EXPECT_THAT(
      refused([&](auto m) { return operators::eigs(Dense{m}, 0, random::key(1)).vectors.re; }),
      HasSubstr("k is 0"));
}

}  // namespace
}  // namespace gnomon::testing
