// tests/codegen/linalg_test.cpp -- factorisations and systems: what they are expanded to,
// reconstruction, closed forms, errors.
#include "gnomon/linalg.h"

#include "codegen/optimize/expand.h"
#include "codegen/program/target.h"
#include "tests/codegen/graph_host.h"
#include "tests/codegen/matrices.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

const std::vector<Dim> sizes{1, 2, 3, 5, 16, 33, 100};

TEST(Linalg, CholeskyReconstructs) {
  for (Dim n : sizes) {
    const HostArray a = positive(n, 7);
    const HostArray l = run_expanded([](const Array& x) { return linalg::cholesky(x); }, a)[0];
    EXPECT_LE(distance(times(l, transpose(l)), a), bound(n, a)) << n;
    for (Dim i = 0; i < n; ++i)
      for (Dim j = i + 1; j < n; ++j) EXPECT_EQ(at(l, i, j), 0);
  }
}

TEST(Linalg, CholeskyInPanelsReconstructs) {
  const HostArray a = positive(300, 3);
  const HostArray l = run_expanded([](const Array& x) { return linalg::cholesky(x); }, a)[0];
  EXPECT_LE(distance(times(l, transpose(l)), a), bound(300, a));
}

TEST(Linalg, CholeskyOfAnIndefiniteMatrixIsNaN) {
  for (Dim n : {2, 5, 16, 33}) {
    HostArray a = positive(n, 7);
    a.set_number((n / 2) * n + n / 2, -1);
    const HostArray l = run_expanded([](const Array& x) { return linalg::cholesky(x); }, a)[0];
    for (Dim i = 0; i < n; ++i)
      for (Dim j = 0; j < n; ++j)
        EXPECT_TRUE(j <= i ? std::isnan(at(l, i, j)) : at(l, i, j) == 0) << i << " " << j;
  }
}

TEST(Linalg, LuReconstructsWithFactorsOfAtMostOne) {
  for (Dim n : sizes)
    for (Dim m : {n, n + 3, std::max<Dim>(1, n - 1)}) {
      const HostArray a = random_matrix(m, n, 11);
      const auto f = run_expanded(
          [](const Array& x) {
            const auto r = linalg::lu(x);
            return std::tuple{r.lu, r.pivots, r.permutation};
          },
          a);
      const Dim k = std::min(m, n);
      HostArray l(Aval{DType::f64, {m, k}}), u(Aval{DType::f64, {k, n}}), pa(a.aval);
      for (Dim i = 0; i < m; ++i)
        for (Dim j = 0; j < n; ++j) {
          const double x = at(f[0], i, j);
          EXPECT_LE(j < i ? std::fabs(x) : 0, 1) << "partial pivoting";
          if (j < k) l.set_number(i * k + j, j < i ? x : i == j ? 1 : 0);
          if (i < k) u.set_number(i * n + j, j >= i ? x : 0);
          pa.set_number(i * n + j, at(a, f[2].integer(i), j));
        }
      EXPECT_LE(distance(times(l, u), pa), bound(n, a)) << m << " x " << n;
      std::vector<Dim> order(static_cast<std::size_t>(m));
      for (Dim i = 0; i < m; ++i) order[static_cast<std::size_t>(i)] = i;
      for (Dim i = 0; i < k; ++i)
        std::swap(order[static_cast<std::size_t>(i)],
                  order[static_cast<std::size_t>(f[1].integer(i))]);
      for (Dim i = 0; i < m; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], f[2].integer(i));
    }
}

TEST(Linalg, SolveLeavesASmallResidual) {
  for (Dim n : sizes) {
    const HostArray a = random_matrix(n, n, 5), b = random_matrix(n, 3, 6);
    const HostArray x =
        run_expanded([](const Array& m, const Array& y) { return linalg::solve(m, y); }, a, b)[0];
    EXPECT_LE(distance(times(a, x), b), bound(n, a) * largest(x)) << n;
  }
}

TEST(Linalg, TriangularSolveLeavesASmallResidual) {
  for (Dim n : {3, 20, 33, 100, 290})
    for (int form = 0; form < 16; ++form) {
      if (n > 100 && form % 5 != 0) continue;
      const linalg::TriangularOptions o{(form & 1) != 0, (form & 2) != 0, (form & 4) != 0,
                                        (form & 8) != 0};
      HostArray a = random_matrix(n, n, 5);
      HostArray t(a.aval);
      for (Dim i = 0; i < n; ++i)
        for (Dim j = 0; j < n; ++j) {
          a.set_number(i * n + j, i == j ? 3.0 : at(a, i, j) / static_cast<double>(n));
          const bool inside = o.lower ? j < i : j > i;
          t.set_number(i * n + j, i == j ? (o.unit_diagonal ? 1 : 3) : inside ? at(a, i, j) : 0);
        }
      if (o.transposed) t = transpose(t);
      const HostArray b = o.left ? random_matrix(n, 2, 6) : random_matrix(2, n, 6);
      const HostArray x = run_expanded(
          [&](const Array& m, const Array& y) { return linalg::triangular_solve(m, y, o); }, a,
          b)[0];
      EXPECT_LE(distance(o.left ? times(t, x) : times(x, t), b), 10 * bound(n, a)) << n << form;
    }
}

TEST(Linalg, HilbertMatricesHaveKnownDeterminantsAndInverses) {
  // det H5 = 1 / 266716800000; the inverse has integer elements, its corner is 25.
  const HostArray h = hilbert(5);
  const Numbers d = run([](const Array& x) { return linalg::det(x); }, h);
  EXPECT_NEAR(d[0] * 266716800000.0, 1, 1e-9);
  const HostArray i = run_expanded([](const Array& x) { return linalg::inv(x); }, h)[0];
  EXPECT_NEAR(at(i, 0, 0), 25, 1e-8);
  EXPECT_NEAR(at(i, 4, 4), 44100, 1e-5);
}

TEST(Linalg, DeterminantsOfSmallMatrices) {
  const auto det = [](const Array& x) { return linalg::det(x); };
  EXPECT_EQ(run(det, host(DType::f64, {0, 0}, {})), Numbers{1});
  EXPECT_EQ(run(det, host(DType::f64, {1, 1}, {-3})), Numbers{-3});
  EXPECT_EQ(run(det, host(DType::f64, {2, 2}, {1, 2, 3, 4})), Numbers{-2});
  EXPECT_EQ(run(det, host(DType::f64, {3, 3}, {0, 1, 0, 1, 0, 0, 0, 0, 2})), Numbers{-2});
  EXPECT_EQ(run(det, host(DType::f64, {4, 4}, {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 3, 0})),
            Numbers{3});
  const auto s = run_all(
      [](const Array& x) {
        const auto r = linalg::slogdet(x);
        return std::pair{r.sign, r.logabs};
      },
      host(DType::f64, {2, 2, 2}, {1, 2, 3, 4, 1, 1, 1, 1}));
  EXPECT_EQ(s[0], (Numbers{-1, 0}));
  EXPECT_NEAR(s[1][0], std::log(2), 1e-15);
  EXPECT_EQ(s[1][1], -INFINITY);
}

TEST(Linalg, SingularSystemsGiveNoNumbers) {
  for (Dim n : {2, 3, 16}) {
    const HostArray a(Aval{DType::f64, {n, n}});
    const HostArray b = random_matrix(n, 1, 2);
    const HostArray x =
        run_expanded([](const Array& m, const Array& y) { return linalg::solve(m, y); }, a, b)[0];
    for (Dim i = 0; i < n; ++i) EXPECT_FALSE(std::isfinite(x.number(i)));
  }
}

TEST(Linalg, VectorsAndBatchesBroadcast) {
  const auto solve = [](const Array& a, const Array& b) { return linalg::solve(a, b); };
  const HostArray a = host(DType::f64, {2, 1, 2, 2}, {2, 0, 0, 4, 1, 0, 0, 1});
  EXPECT_EQ(run(solve, a, host(DType::f64, {2}, {2, 4})), (Numbers{1, 1, 2, 4}));
  const auto x = run_arrays(solve, a, host(DType::f64, {3, 2, 1}, {2, 4, 4, 8, 6, 12}))[0];
  EXPECT_EQ(x.aval.shape, (Shape{2, 3, 2, 1}));
  EXPECT_EQ(numbers(x), (Numbers{1, 1, 2, 2, 3, 3, 2, 4, 4, 8, 6, 12}));
}

TEST(Linalg, PowersOfMatrices) {
  const HostArray fibonacci = host(DType::f64, {2, 2}, {1, 1, 1, 0});
  const auto power = [](int n) {
    return [n](const Array& x) { return linalg::matrix_power(x, n); };
  };
  EXPECT_EQ(run(power(0), fibonacci), (Numbers{1, 0, 0, 1}));
  EXPECT_EQ(run(power(10), fibonacci), (Numbers{89, 55, 55, 34}));
  EXPECT_EQ(run(power(-1), fibonacci), (Numbers{0, 1, 1, -1}));
  EXPECT_EQ(run(power(-3), fibonacci), (Numbers{-1, 2, 2, -3}));
}

TEST(Linalg, ExponentialsInClosedForm) {
  const auto expm = [](const HostArray& a) {
    return numbers(run_expanded([](const Array& x) { return linalg::expm(x); }, a)[0]);
  };
  for (double t : {0.1, 1.0, 10.0, 300.0}) {
    const Numbers r = expm(host(DType::f64, {2, 2}, {0, -t, t, 0}));
    EXPECT_NEAR(r[0], std::cos(t), 1e-13 * (1 + t)) << t;
    EXPECT_NEAR(r[2], std::sin(t), 1e-13 * (1 + t)) << t;
  }
  const Numbers nilpotent = expm(host(DType::f64, {3, 3}, {0, 2, 0, 0, 0, 4, 0, 0, 0}));
  const Numbers want{1, 2, 4, 0, 1, 4, 0, 0, 1};
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(nilpotent[i], want[i], 1e-14);
  // Every matrix of a batch is scaled by its own norm; beyond the bound there is no answer.
  for (const Shape& shape : {Shape{3, 1, 1}, Shape{1, 3, 1, 1}}) {
    const Numbers batch = expm(host(DType::f32, shape, {1, 80, 1e9}));
    EXPECT_NEAR(batch[0], std::exp(1), 1e-6);
    EXPECT_NEAR(batch[1] / std::exp(80), 1, 1e-4);
    EXPECT_TRUE(std::isnan(batch[2]));
  }
}

TEST(Linalg, DerivativesOfExponentialsInClosedForm) {
  // d/dt exp(t a) = a exp(t a), and once more, by forward and reverse mode.
  const HostArray a = random_matrix(4, 4, 3), one = host(DType::f64, {}, {1});
  const auto at = [](const Array& t, const Array& x) {
    return linalg::expm(broadcast_to(t, {4, 4}) * x);
  };
  const auto r = run_expanded(
      [&](const Array& t, const Array& x) {
        const auto f = [&](const Array& s) { return at(s, x); };
        const auto slope = [&](const Array& s) { return jvp(f, s, s).second; };
        return std::tuple{f(t), slope(t), jvp(slope, t, t).second,
                          grad([&](const Array& s) { return sum(f(s)); })(t)};
      },
      one, a);
  const HostArray first = times(a, r[0]), second = times(a, first);
  EXPECT_LE(distance(r[1], first), 1e-12);
  // slope(s) = s times the derivative: its own derivative along t = 1 is first + second.
  double total = 0;
  for (Dim i = 0; i < 16; ++i) {
    EXPECT_NEAR(r[2].number(i), first.number(i) + second.number(i), 1e-12);
    total += first.number(i);
  }
  EXPECT_NEAR(r[3].number(0), total, 1e-12);
}

TEST(Linalg, ErrorsNameBothSidesAndTheRemedy) {
  const HostArray wide = random_matrix(2, 3, 1), square = random_matrix(3, 3, 1);
  EXPECT_THAT(usage_error_of([](const Array& x) { return linalg::cholesky(x); }, wide),
              ::testing::AllOf(HasSubstr("gnomon::linalg::cholesky: takes square matrices"),
                               HasSubstr("f64[2,3] with 2 rows and 3 columns"), HasSubstr("lstsq"),
                               HasSubstr("linalg_test.cpp:")));
  EXPECT_THAT(usage_error_of([](const Array& x) { return linalg::det(x); }, f32({1, 2})),
              HasSubstr("takes matrices in the last two axes, got f32[2]"));
  EXPECT_THAT(usage_error_of([](const Array& a, const Array& b) { return linalg::solve(a, b); },
                             square, wide),
              ::testing::AllOf(HasSubstr("f64[3,3]"), HasSubstr("f64[2,3], which needs 3 rows")));
  EXPECT_THAT(
      usage_error_of([](const Array& x) { return linalg::expm(x, {.max_squarings = -1}); }, square),
      HasSubstr("max_squarings is -1"));
}

}  // namespace
}  // namespace gnomon::test
