// tests/engine/linalg_test.cpp -- factorisations and transforms on a device: residuals of moderate
// ones, batches of tiny ones against closed forms.
#include "tests/engine/linalg_checks.h"

#include <algorithm>
#include <limits>

namespace gnomon::testing {
namespace {

TEST_F(LinalgDevice, FactorsOf64) {
  expect_cholesky(64);
  expect_lu(64);
  expect_qr(64, 64);
  expect_qr(80, 40);
  expect_solve(64);
}

TEST_F(LinalgDevice, SpectraOfTinyMatrices) {
  for (Dim n : {2, 3, 4}) {
    expect_eigh(n);
    expect_svd(n + 2, n);
  }
}

/// Without validation, which would check every one of thousands of dispatches.
class LinalgSpectra : public LinalgDevice {
 protected:
  LinalgSpectra() : LinalgDevice(RuntimeOptions{}) {}

  struct Spectrum {
    Matrix values, vectors;
  };
  Spectrum eigh(const Matrix& a) {
    auto f = jit(rt, [](const Array& x) { return linalg::eigh(x); });
    const auto r = f(put(a));
    return {get(r.eigenvalues), get(r.eigenvectors)};
  }
  /// u diag(s) vt against a, and both bases against the identity, element by element.
  void expect_decomposed(const Matrix& a) {
    auto f = jit(rt, [](const Array& x) { return linalg::svd(x); });
    const auto r = f(put(a));
    const Matrix u = get(r.u), s = get(r.s), vt = get(r.vt);
    const double tolerance = 4e-6 * std::sqrt(static_cast<double>(a.m + a.n));
    for (Dim j = 0; j < a.n; ++j) {
      Vector unit(static_cast<std::size_t>(a.n), 0.0);
      unit[static_cast<std::size_t>(j)] = 1;
      Vector inner = times(vt, unit);
      for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= static_cast<double>(s.x[i]);
      const Vector column = times(u, inner);
      for (Dim i = 0; i < a.m; ++i)
        EXPECT_NEAR(column[static_cast<std::size_t>(i)], a(i, j), tolerance) << a.m << "x" << a.n;
    }
    expect_orthonormal(u, true);
    expect_orthonormal(vt, false);
    EXPECT_TRUE(std::is_sorted(s.x.rbegin(), s.x.rend()));
    EXPECT_GE(s.x.back(), 0);
  }
};

TEST_F(LinalgSpectra, EigenpairsOfModerateMatrices) {
  for (Dim n : {1, 5, 16, 33, 64}) expect_eigh(n);
}

TEST_F(LinalgSpectra, SingularValuesOfModerateMatrices) {
  for (const auto& [m, n] : {std::pair<Dim, Dim>{5, 5}, {16, 9}, {9, 16}, {33, 33}, {64, 40}})
    expect_decomposed(random_matrix(m, n, 7));
}

TEST_F(LinalgSpectra, SecondDifferencesHaveKnownEigenvalues) {
  for (Dim n : {12, 48}) {
    Matrix a{n, n, std::vector<float>(static_cast<std::size_t>(n * n), 0.f)};
    for (Dim i = 0; i < n; ++i) {
      a.x[static_cast<std::size_t>(i * n + i)] = 2;
      if (i > 0)
        a.x[static_cast<std::size_t>(i * n + i - 1)] =
            a.x[static_cast<std::size_t>((i - 1) * n + i)] = -1;
    }
    const Matrix w = eigh(a).values;
    for (Dim k = 0; k < n; ++k)
      EXPECT_NEAR(w(k, 0),
                  2 - 2 * std::cos(std::numbers::pi * static_cast<double>(k + 1) /
                                   static_cast<double>(n + 1)),
                  2e-6)
          << n;
  }
}

TEST_F(LinalgSpectra, RepeatedEigenvaluesZerosAndNaN) {
  for (Dim n : {6, 40}) {
    Matrix zeros{n, n, std::vector<float>(static_cast<std::size_t>(n * n), 0.f)}, ones = zeros,
                                                                                  unit = zeros;
    for (float& x : ones.x) x = 1;
    for (Dim i = 0; i < n; ++i) unit.x[static_cast<std::size_t>(i * n + i)] = 1;
    for (const Matrix& a : {zeros, ones, unit}) {
      const Spectrum f = eigh(a);
      expect_orthonormal(f.vectors, true);
      // Errors grow with the norm (LAPACK Users' Guide, section 4.7), in whatever order sums are.
      const double norm = a.x[0] == 0 ? 0 : a.x[1] == 0 ? 1 : static_cast<double>(n);
      const double near = std::max(1e-5, 3 * norm * std::numeric_limits<float>::epsilon());
      for (Dim k = 0; k < n; ++k)
        EXPECT_NEAR(f.values(k, 0), a.x[1] != 0 && k < n - 1 ? 0 : norm, near) << n;
      expect_decomposed(a);
    }
    Matrix broken = unit;
    broken.x[1] = NAN;
    EXPECT_TRUE(std::isnan(eigh(broken).values.x[0]));
    broken.x[1] = INFINITY;
    EXPECT_TRUE(std::isnan(eigh(broken).values.x[0]));
    auto s = jit(rt, [](const Array& x) { return linalg::svdvals(x); });
    EXPECT_TRUE(std::isnan(get(s(put(broken))).x[0]));
  }
}

TEST_F(LinalgSpectra, LostRankLeavesAnOrthonormalBasis) {
  for (Dim n : {6, 40}) {
    // Rank 2: a product of n x 2 and 2 x (n + 3).
    const Matrix left = random_matrix(n, 2, 3), right = random_matrix(2, n + 3, 4);
    Matrix a{n, n + 3, {}};
    for (Dim i = 0; i < n; ++i)
      for (Dim j = 0; j < n + 3; ++j)
        a.x.push_back(static_cast<float>(left(i, 0) * right(0, j) + left(i, 1) * right(1, j)));
    expect_decomposed(a);
  }
}

TEST_F(LinalgSpectra, BasesOfMatricesWithAPatternAreCompleted) {
  // Weighted shifts: u and v are unit vectors, and what completes u none of those of v.
  for (const Dim n : {17, 40})
    for (const Dim rank : {Dim{0}, Dim{1}, n / 2, n - 1}) {
      Matrix a{n, n, std::vector<float>(static_cast<std::size_t>(n * n), 0.f)};
      for (Dim i = 0; i < rank; ++i)
        a.x[static_cast<std::size_t>(i * n + i + n - rank)] = static_cast<float>(i + 1);
      expect_decomposed(a);
    }
}

TEST_F(LinalgSpectra, SomeMatricesOfABatchLackRank) {
  const Dim n = 20, count = 3;
  std::vector<float> all(static_cast<std::size_t>(count * n * n), 0.f);
  const Matrix full = random_matrix(n, n, 3);
  for (Dim i = 0; i < n * n; ++i) {
    all[static_cast<std::size_t>(i)] = full.x[static_cast<std::size_t>(i)];
    all[static_cast<std::size_t>(n * n + i)] = 1;
  }
  auto f = jit(rt, [](const Array& x) { return linalg::svd(x); });
  const auto r = f(rt.from_host(all, {count, n, n}));
  const auto u = rt.to_host<float>(r.u), s = rt.to_host<float>(r.s), vt = rt.to_host<float>(r.vt);
  for (Dim b = 0; b < count; ++b) {
    const auto of = [&](const std::vector<float>& x) {
      return Matrix{n, n, {x.begin() + b * n * n, x.begin() + (b + 1) * n * n}};
    };
    const Matrix own_u = of(u), own_vt = of(vt), a = of(all);
    expect_orthonormal(own_u, true);
    expect_orthonormal(own_vt, false);
    for (Dim i = 0; i < n; ++i)
      for (Dim j = 0; j < n; ++j) {
        double sum = 0;
        for (Dim k = 0; k < n; ++k)
          sum += own_u(i, k) * static_cast<double>(s[static_cast<std::size_t>(b * n + k)]) *
                 own_vt(k, j);
        EXPECT_NEAR(sum, a(i, j), 2e-5) << b;
      }
  }
}

TEST_F(LinalgSpectra, MatricesOfABatchEndOnTheirOwn) {
  // Multiples of one matrix, of very different size, and one that is diagonal already.
  const Dim n = 6, count = 20;
  const Matrix a = symmetric(n, 0, 6);
  std::vector<float> all;
  for (Dim b = 0; b < count; ++b)
    for (Dim i = 0; i < n * n; ++i)
      all.push_back(b == 7 ? (i % (n + 1) == 0 ? static_cast<float>(i / n) : 0.f)
                           : std::ldexp(a.x[static_cast<std::size_t>(i)], static_cast<int>(b)));
  auto f = jit(rt, [](const Array& x) { return linalg::eigvalsh(x); });
  const auto w = rt.to_host<float>(f(rt.from_host(all, {count, n, n})));
  const Matrix want = eigh(a).values;
  for (Dim b = 0; b < count; ++b)
    for (Dim k = 0; k < n; ++k) {
      const double value = static_cast<double>(w[static_cast<std::size_t>(b * n + k)]);
      if (b == 7)
        EXPECT_EQ(value, static_cast<double>(k));
      else
        EXPECT_NEAR(std::ldexp(value, -static_cast<int>(b)), want(k, 0), 4e-6);
    }
}

TEST_F(LinalgSpectra, BlocksOfSeveralMatricesTurnTogether) {
  const Dim n = 40;
  const Matrix a = symmetric(n, 0, 6), b = symmetric(n, 1000, 7);
  std::vector<float> both = a.x;
  both.insert(both.end(), b.x.begin(), b.x.end());
  auto f = jit(rt, [](const Array& x) { return linalg::eigvalsh(x); });
  const auto w = rt.to_host<float>(f(rt.from_host(both, {2, n, n})));
  const Matrix first = eigh(a).values, second = eigh(b).values;
  for (Dim k = 0; k < n; ++k) {
    EXPECT_NEAR(w[static_cast<std::size_t>(k)], first(k, 0), 1e-5);
    EXPECT_NEAR(w[static_cast<std::size_t>(n + k)], second(k, 0), 1e-3);
  }
}

TEST_F(LinalgSpectra, AFewLargeMatricesShareTheDevice) {
  const Dim n = 320, count = 2;
  auto f = jit(rt, [](const Array& x, const Array& y) { return linalg::solve(x, y); });
  std::vector<float> a, b;
  for (Dim i = 0; i < count; ++i) {
    const Matrix m = random_matrix(n, n, static_cast<std::uint32_t>(i)), y = random_matrix(n, 1, 9);
    a.insert(a.end(), m.x.begin(), m.x.end());
    b.insert(b.end(), y.x.begin(), y.x.end());
  }
  const auto x =
      rt.to_host<float>(f(rt.from_host(a, {count, n, n}), rt.from_host(b, {count, n, 1})));
  EXPECT_NE(f.text("fusion").find("for each of 2 lanes"), std::string::npos) << f.text("fusion");
  for (Dim i = 0; i < count; ++i) {
    const Matrix m = random_matrix(n, n, static_cast<std::uint32_t>(i)), y = random_matrix(n, 1, 9);
    const Vector mine(x.begin() + i * n, x.begin() + i * n + n), want(y.x.begin(), y.x.end());
    EXPECT_LE(gap(times(m, mine), want, want), 1e-3);
  }
}

TEST_F(LinalgSpectra, ExponentialsTakeTheSquaringsTheyNeed) {
  // Rotations by t: norms on both sides of every number of squarings up to 8.
  auto f = jit(rt, [](const Array& x) { return linalg::expm(x); });
  std::vector<float> all, turns;
  for (float t = 0.25f; t < 1000; t *= 1.5f) {
    turns.push_back(t);
    for (float x : {0.f, -t, t, 0.f}) all.push_back(x);
  }
  const auto count = static_cast<Dim>(turns.size());
  const auto r = rt.to_host<float>(f(rt.from_host(all, {count, 2, 2})));
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const double t = static_cast<double>(turns[i]);
    EXPECT_NEAR(r[4 * i], std::cos(t), 1e-6 * (1 + t)) << t;
    EXPECT_NEAR(r[4 * i + 2], std::sin(t), 1e-6 * (1 + t)) << t;
  }
  // exp a exp -a = 1 for a matrix that takes several kernels.
  const Dim n = 48;
  const Array a = put(random_matrix(n, n, 9));
  auto both = jit(rt, [](const Array& x) { return matmul(linalg::expm(x), linalg::expm(-x)); });
  const Matrix one = get(both(a));
  const Matrix e = get(f(a));
  float largest = 0;
  for (float x : e.x) largest = std::max(largest, std::fabs(x));
  for (Dim i = 0; i < n; ++i)
    for (Dim j = 0; j < n; ++j)
      EXPECT_NEAR(one(i, j), i == j ? 1 : 0, 2e-6 * static_cast<double>(largest * largest));
}

TEST_F(LinalgDevice, Transforms) {
  for (Dim n : {8, 60, 97, 1024, 4096}) expect_fft(n);
}

TEST_F(LinalgDevice, BatchesOfTinySystems) {
  // A tridiagonal system per lane: 2 + i / n on the diagonal, -1 beside it.
  const Dim n = 1000;
  std::vector<float> a, b;
  for (Dim i = 0; i < n; ++i) {
    const float d = 2 + static_cast<float>(i) / static_cast<float>(n);
    for (float x : {d, -1.f, 0.f, -1.f, d, -1.f, 0.f, -1.f, d}) a.push_back(x);
    for (float x : {1.f, 0.f, 0.f}) b.push_back(x);
  }
  auto f = jit(rt, [](const Array& m, const Array& y) { return linalg::solve(m, y); });
  const auto x = rt.to_host<float>(f(rt.from_host(a, {n, 3, 3}), rt.from_host(b, {n, 3, 1})));
  for (Dim i = 0; i < n; ++i) {
    const double d = 2 + static_cast<double>(i) / static_cast<double>(n);
    const double det = d * d * d - 2 * d;
    const std::size_t at = static_cast<std::size_t>(3 * i);
    EXPECT_NEAR(x[at], (d * d - 1) / det, 1e-6);
    EXPECT_NEAR(x[at + 1], d / det, 1e-6);
    EXPECT_NEAR(x[at + 2], 1 / det, 1e-6);
  }
}

TEST_F(LinalgDevice, ASystemInsideALoopIsOneKernel) {
  // Implicit Euler for x' = a x, lane by lane: x <- (1 - h a)^-1 x.
  const auto step = [](const Array& a, const Array& x) {
    return fori_loop(
        0, 100, [&](Array, Array y) { return linalg::solve(eye(3) - 0.01f * a, y); }, x);
  };
  const Dim n = 64;
  std::vector<float> a, x;
  for (Dim i = 0; i < n; ++i) {
    const float w = static_cast<float>(i) / static_cast<float>(n);
    for (float e : {0.f, w, 0.f, -w, 0.f, 0.f, 0.f, 0.f, -1.f}) a.push_back(e);
    for (float e : {1.f, 0.f, 1.f}) x.push_back(e);
  }
  auto f = jit(rt, [&](const Array& m, const Array& y) { return vmap(step)(m, y); });
  const Array am = rt.from_host(a, {n, 3, 3}), xm = rt.from_host(x, {n, 3});
  const auto y = rt.to_host<float>(f(am, xm));
  const std::string kernels = f.text("fusion");
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), '\n'), 1) << kernels;
  for (Dim i = 0; i < n; ++i) {
    const double w = static_cast<double>(i) / static_cast<double>(n);
    // Eigenvalues -i w, i w and -1 of a; the last one decouples.
    const std::complex<double> z = std::pow(1.0 / std::complex<double>(1, 0.01 * w), 100);
    EXPECT_NEAR(y[static_cast<std::size_t>(3 * i)], z.real(), 2e-5);
    EXPECT_NEAR(y[static_cast<std::size_t>(3 * i + 1)], z.imag(), 2e-5);
    EXPECT_NEAR(y[static_cast<std::size_t>(3 * i + 2)], std::pow(1 / 1.01, 100), 2e-5);
  }
}

/// Pipelines that the first call of f makes in a Runtime that has none.
template <class F>
std::uint64_t pipelines_of_first_call(const F& f, const Matrix& a) {
  Runtime rt;
  const Array x = rt.from_host(a.x, {a.m, a.n});
  rt.wait();
  const std::uint64_t before = rt.counters().pipelines;
  jit(rt, f)(x);
  rt.wait();
  return rt.counters().pipelines - before;
}

TEST_F(LinalgDevice, FactorisationsAreFewPipelines) {
  if (context()->device.target().team > 0)
    GTEST_SKIP() << rt.device_name() << " is no CPU driver; there, teams have kernels of their own";
  // Drivers take tens of milliseconds for each, which is most of a first call. Where a lone lane is
  // slow, steps that lanes can share are kernels of their own.
  const std::uint64_t most = rt.target().contiguous_per_lane ? 24 : 32;
  const Dim n = 200;
  const Matrix a = random_matrix(n, n, 1), s = symmetric(n, 40, 1);
  EXPECT_LE(pipelines_of_first_call([](const Array& x) { return linalg::cholesky(x); }, s), most);
  EXPECT_LE(pipelines_of_first_call([](const Array& x) { return linalg::lu(x); }, a), most);
  EXPECT_LE(pipelines_of_first_call([](const Array& x) { return linalg::qr(x); }, a), most);
  EXPECT_LE(pipelines_of_first_call([](const Array& x) { return linalg::solve(x, ones({n})); }, a),
            most);
  EXPECT_LE(pipelines_of_first_call([](const Array& x) { return linalg::slogdet(x); }, a), most);
  EXPECT_LE(pipelines_of_first_call([](const Array& x) { return linalg::eigh(x); }, s), most);
  EXPECT_LE(pipelines_of_first_call([](const Array& x) { return linalg::svd(x); }, a), most);
}

}  // namespace
}  // namespace gnomon::testing
