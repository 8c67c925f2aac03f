// tests/codegen/linalg_spectral_test.cpp -- qr, eigh, svd and what is made of them: what they are
// expanded to, reconstruction, closed forms, errors.
#include <limits>
#include <numbers>

#include "gnomon/linalg.h"
#include "tests/codegen/graph_host.h"
#include "tests/codegen/matrices.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();
const std::vector<Dim> spectral_sizes{1, 2, 3, 4, 5, 16, 33};

HostArray identity(Dim n) {
  HostArray a(Aval{DType::f64, {n, n}});
  for (Dim i = 0; i < n; ++i) a.set_number(i * n + i, 1);
  return a;
}
HostArray scaled_columns(HostArray a, const HostArray& s) {
  const Dim n = a.aval.shape[1];
  for (Dim i = 0; i < a.size(); ++i) a.set_number(i, a.number(i) * s.number(i % n));
  return a;
}
void expect_orthonormal_columns(const HostArray& q, double tolerance) {
  EXPECT_LE(distance(times(transpose(q), q), identity(q.aval.shape[1])), tolerance);
}

std::vector<HostArray> qr_of(const HostArray& a, bool complete = false) {
  return run_expanded(
      [&](const Array& x) {
        const auto f = linalg::qr(x, {.complete = complete});
        return std::pair{f.q, f.r};
      },
      a);
}

TEST(LinalgQr, ReconstructsWithOrthonormalColumns) {
  for (Dim n : {1, 2, 3, 5, 16, 33, 100})
    for (Dim m : {n, n + 3, std::max<Dim>(1, n - 1)})
      for (bool complete : {false, true}) {
        const HostArray a = random_matrix(m, n, 4);
        const auto f = qr_of(a, complete);
        EXPECT_EQ(f[0].aval.shape, (Shape{m, complete ? m : std::min(m, n)}));
        EXPECT_LE(distance(times(f[0], f[1]), a), bound(n, a)) << m << " x " << n;
        expect_orthonormal_columns(f[0], bound(m, a));
        for (Dim i = 0; i < f[1].aval.shape[0]; ++i)
          for (Dim j = 0; j < std::min(i, n); ++j) EXPECT_EQ(at(f[1], i, j), 0);
      }
}

TEST(LinalgQr, KeepsABasisWhereColumnsDepend) {
  for (Dim n : {3, 20}) {
    HostArray a = random_matrix(n + 2, n, 4);
    for (Dim i = 0; i < n + 2; ++i) {
      a.set_number(i * n, 0);
      a.set_number(i * n + 2, at(a, i, 1));
    }
    const auto f = qr_of(a);
    EXPECT_LE(distance(times(f[0], f[1]), a), bound(n, a));
    expect_orthonormal_columns(f[0], bound(n, a));
  }
}

std::vector<HostArray> eigh_of(const HostArray& a) {
  return run_expanded(
      [](const Array& x) {
        const auto f = linalg::eigh(x);
        return std::pair{f.eigenvalues, f.eigenvectors};
      },
      a);
}
void expect_eigenpairs(const HostArray& a) {
  const Dim n = a.aval.shape[0];
  const auto f = eigh_of(a);
  EXPECT_LE(distance(times(scaled_columns(f[1], f[0]), transpose(f[1])), a), bound(n, a)) << n;
  expect_orthonormal_columns(f[1], bound(n, a));
  for (Dim k = 0; k < n; ++k) {
    EXPECT_LE(f[0].number(std::max<Dim>(0, k - 1)), f[0].number(k));
    Dim top = 0;
    for (Dim i = 1; i < n; ++i)
      if (std::fabs(at(f[1], i, k)) > std::fabs(at(f[1], top, k))) top = i;
    EXPECT_GT(at(f[1], top, k), 0);
  }
}

TEST(LinalgEigh, Reconstructs) {
  for (Dim n : spectral_sizes) {
    expect_eigenpairs(positive(n, 5));
    HostArray a = random_matrix(n, n, 6, DType::f32);
    for (Dim i = 0; i < n; ++i)
      for (Dim j = 0; j < i; ++j) a.set_number(i * n + j, at(a, j, i));
    expect_eigenpairs(a);
  }
}

TEST(LinalgEigh, RepeatedEigenvaluesAndZeros) {
  for (Dim n : {2, 3, 4, 5, 6}) {
    expect_eigenpairs(identity(n));
    expect_eigenpairs(HostArray(Aval{DType::f64, {n, n}}));
    HostArray ones(Aval{DType::f64, {n, n}});
    for (Dim i = 0; i < n * n; ++i) ones.set_number(i, 1);
    expect_eigenpairs(ones);
  }
}

TEST(LinalgEigh, SecondDifferencesHaveKnownEigenvalues) {
  const Dim n = 12;
  HostArray a(Aval{DType::f64, {n, n}});
  for (Dim i = 0; i < n; ++i) {
    a.set_number(i * n + i, 2);
    if (i > 0) {
      a.set_number(i * n + i - 1, -1);
      a.set_number((i - 1) * n + i, -1);
    }
  }
  const auto w = run_expanded([](const Array& x) { return linalg::eigvalsh(x); }, a)[0];
  for (Dim k = 0; k < n; ++k)
    EXPECT_NEAR(w.number(k), 2 - 2 * std::cos(std::numbers::pi * static_cast<double>(k + 1) / 13),
                1e-14);
}

TEST(LinalgEigh, EndsOnNaN) {
  for (Dim n : {3, 6}) {
    HostArray a = identity(n);
    a.set_number(1, std::nan(""));
    EXPECT_TRUE(std::isnan(eigh_of(a)[0].number(0)));
  }
}

std::vector<HostArray> svd_of(const HostArray& a) {
  return run_expanded(
      [](const Array& x) {
        const auto f = linalg::svd(x);
        return std::tuple{f.u, f.s, f.vt};
      },
      a);
}
void expect_svd(const HostArray& a) {
  const Dim m = a.aval.shape[0], n = a.aval.shape[1], k = std::min(m, n);
  const auto f = svd_of(a);
  EXPECT_LE(distance(times(scaled_columns(f[0], f[1]), f[2]), a), bound(n + m, a)) << m << "x" << n;
  expect_orthonormal_columns(f[0], bound(m, a));
  expect_orthonormal_columns(transpose(f[2]), bound(n, a));
  for (Dim i = 0; i < k; ++i) {
    EXPECT_GE(f[1].number(i), 0);
    EXPECT_LE(f[1].number(i), f[1].number(std::max<Dim>(0, i - 1)));
  }
}

TEST(LinalgSvd, Reconstructs) {
  for (Dim n : spectral_sizes)
    for (Dim m : {n, n + 4, std::max<Dim>(1, n / 2)}) {
      expect_svd(random_matrix(m, n, 3));
      expect_svd(random_matrix(m, n, 3, DType::f32));
    }
}

TEST(LinalgSvd, LostRankLeavesAnOrthonormalBasis) {
  for (Dim n : {2, 3, 4, 7, 12}) {
    expect_svd(HostArray(Aval{DType::f64, {n, n}}));
    expect_svd(times(random_matrix(n + 1, 1, 3), random_matrix(1, n, 4)));
    expect_svd(times(random_matrix(n, 2, 3), random_matrix(2, n + 3, 4)));
    expect_svd(identity(n));
  }
}

TEST(LinalgSvd, HilbertMatrixKeepsItsSmallSingularValues) {
  // Eigenvalues of the 5 x 5 Hilbert matrix to 12 digits.
  const Numbers want{1.56705069109823, 0.208534218611013, 0.0114074916234197, 0.000305898040151191,
                     3.28792877217187e-06};
  const auto s = run_expanded([](const Array& x) { return linalg::svdvals(x); }, hilbert(5))[0];
  for (Dim i = 0; i < 5; ++i)
    EXPECT_NEAR(s.number(i) / want[static_cast<std::size_t>(i)], 1, 1e-11);
}

TEST(LinalgPinv, MeetsPenroseConditions) {
  for (const HostArray& a : {random_matrix(5, 3, 1), random_matrix(3, 5, 1), random_matrix(4, 4, 1),
                             times(random_matrix(6, 2, 1), random_matrix(2, 5, 2)),
                             HostArray(Aval{DType::f64, {2, 3}})}) {
    const auto p = run_expanded([](const Array& x) { return linalg::pinv(x); }, a)[0];
    const double tolerance = 1e-13 * std::max(1.0, largest(p));
    EXPECT_LE(distance(times(times(a, p), a), a), tolerance);
    EXPECT_LE(distance(times(times(p, a), p), p), tolerance * std::max(1.0, largest(p)));
    EXPECT_LE(distance(times(a, p), transpose(times(a, p))), tolerance);
    EXPECT_LE(distance(times(p, a), transpose(times(p, a))), tolerance);
  }
}

TEST(LinalgRank, CountsWhatIsAboveRounding) {
  const auto rank = [](const Array& x) { return linalg::matrix_rank(x); };
  EXPECT_EQ(run(rank, times(random_matrix(6, 2, 1), random_matrix(2, 5, 2))), Numbers{2});
  EXPECT_EQ(run(rank, identity(3)), Numbers{3});
  EXPECT_EQ(run(rank, HostArray(Aval{DType::f64, {2, 3}})), Numbers{0});
  EXPECT_EQ(run([](const Array& x) { return linalg::matrix_rank(x, {.rtol = 0.1}); },
                host(DType::f32, {2, 2}, {1, 0, 0, 0.01})),
            Numbers{1});
}

TEST(LinalgLstsq, FitsALine) {
  // y = 1 + 2 t with errors 0.1, -0.1, -0.1, 0.1, which no line explains.
  const HostArray a = host(DType::f64, {4, 2}, {1, 0, 1, 1, 1, 2, 1, 3});
  const auto r = run_arrays(
      [](const Array& x, const Array& y) {
        const auto f = linalg::lstsq(x, y);
        return std::tuple{f.x, f.residuals, f.rank, f.s};
      },
      a, host(DType::f64, {4}, {1.1, 2.9, 4.9, 7.1}));
  EXPECT_EQ(r[0].aval.shape, Shape{2});
  EXPECT_NEAR(r[0].number(0), 1, 1e-13);
  EXPECT_NEAR(r[0].number(1), 2, 1e-13);
  EXPECT_NEAR(r[1].number(0), 0.04, 1e-13);
  EXPECT_EQ(r[2].integer(0), 2);
}

TEST(LinalgNorm, VectorsAndMatrices) {
  const HostArray x = host(DType::f64, {2, 2}, {3, -4, 0, 12});
  const auto vector = [](double ord) {
    return [ord](const Array& v) { return linalg::vector_norm(v, ord); };
  };
  EXPECT_EQ(run(vector(2), x), Numbers{13});
  EXPECT_EQ(run(vector(1), x), Numbers{19});
  EXPECT_EQ(run(vector(0), x), Numbers{3});
  EXPECT_EQ(run(vector(infinity), x), Numbers{12});
  EXPECT_EQ(run(vector(-infinity), x), Numbers{0});
  EXPECT_NEAR(run(vector(3), x)[0], std::cbrt(27 + 64 + 1728), 1e-12);
  EXPECT_EQ(run([](const Array& v) { return linalg::vector_norm(v, 2, -1); }, x), (Numbers{5, 12}));
  using linalg::MatrixNorm;
  const auto matrix = [](MatrixNorm kind) {
    return [kind](const Array& a) { return linalg::matrix_norm(a, kind); };
  };
  EXPECT_EQ(run(matrix(MatrixNorm::frobenius), x), Numbers{13});
  EXPECT_EQ(run(matrix(MatrixNorm::one), x), Numbers{16});
  EXPECT_EQ(run(matrix(MatrixNorm::infinity), x), Numbers{12});
  // Singular values: s1 s2 = 36, s1^2 + s2^2 = 169.
  const double big = std::sqrt((169 + std::sqrt(169. * 169 - 4 * 36 * 36)) / 2);
  EXPECT_NEAR(run(matrix(MatrixNorm::two), x)[0], big, 1e-13);
  EXPECT_NEAR(run(matrix(MatrixNorm::nuclear), x)[0], big + 36 / big, 1e-13);
  const auto cond = [](MatrixNorm kind) {
    return [kind](const Array& a) { return linalg::condition_number(a, kind); };
  };
  EXPECT_NEAR(run(cond(MatrixNorm::two), x)[0], big * big / 36, 1e-12);
  // The inverse is [1/3, 1/9; 0, 1/12].
  EXPECT_NEAR(run(cond(MatrixNorm::one), x)[0], 16.0 / 3, 1e-13);
}

TEST(LinalgSpectral, DerivativesOfEigenvaluesStayFiniteWhenTheyRepeat) {
  const auto trace_of_square = [](const Array& x) { return sum(square(linalg::eigvalsh(x))); };
  const Numbers g = run([&](const Array& x) { return grad(trace_of_square)(x); }, identity(3));
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(g[i], i % 4 == 0 ? 2 : 0, 1e-14);
}

TEST(LinalgSpectral, ErrorsNameTheRemedy) {
  EXPECT_THAT(
      usage_error_of(
          [](const Array& x) {
            return grad([](const Array& y) { return sum(linalg::qr(y, {.complete = true}).q); })(x);
          },
          random_matrix(3, 2, 1)),
      HasSubstr("take the reduced form"));
  EXPECT_THAT(usage_error_of([](const Array& x) { return linalg::pinv(x, {.rtol = -1}); },
                             random_matrix(3, 2, 1)),
              HasSubstr("rtol is -1"));
  EXPECT_THAT(
      usage_error_of([](const Array& x) { return linalg::eigvalsh(x); }, random_matrix(3, 2, 1)),
      HasSubstr("square matrices"));
}

}  // namespace
}  // namespace gnomon::test
