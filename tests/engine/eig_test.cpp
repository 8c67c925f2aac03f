// tests/engine/eig_test.cpp -- eigenvalues of general matrices and tridiagonal systems on a device:
// residuals, batches, how many kernels they are.
#include <limits>

#include "tests/engine/linalg_checks.h"

namespace gnomon::testing {
namespace {

/// Without validation, which would check every one of thousands of dispatches.
class EigDevice : public LinalgDevice {
 protected:
  EigDevice() : LinalgDevice(RuntimeOptions{}) {}

  using Z = std::complex<double>;

  /// a v = lambda v for all pairs, in units of n eps |a|; parts are [.., n] and [.., n, n] of the
  /// matrix at `k`.
  static void expect_pairs(const Matrix& a, const std::vector<std::vector<float>>& parts,
                           std::size_t k) {
    const auto n = static_cast<std::size_t>(a.n);
    double size = 0;
    for (const float x : a.x) size = std::hypot(size, static_cast<double>(x));
    for (std::size_t j = 0; j < n; ++j) {
      const Z lambda{parts[0][k * n + j], parts[1][k * n + j]};
      const auto v = [&](std::size_t i) {
        const std::size_t at = (k * n + i) * n + j;
        return Z{parts[2][at], parts[3][at]};
      };
      double residual = 0, length = 0;
      for (std::size_t i = 0; i < n; ++i) {
        Z s = -lambda * v(i);
        for (std::size_t c = 0; c < n; ++c) s += a(static_cast<Dim>(i), static_cast<Dim>(c)) * v(c);
        residual = std::hypot(residual, std::abs(s));
        length = std::hypot(length, std::abs(v(i)));
      }
      EXPECT_LE(residual, 4 * 0x1p-23 * static_cast<double>(n) * size) << n << ", pair " << j;
      EXPECT_NEAR(length, 1, 1e-6 * static_cast<double>(n)) << n << ", vector " << j;
    }
  }
  std::vector<std::vector<float>> parts_of(const linalg::Eig& e) {
    return {rt.to_host<float>(e.eigenvalues.re), rt.to_host<float>(e.eigenvalues.im),
            rt.to_host<float>(e.eigenvectors.re), rt.to_host<float>(e.eigenvectors.im)};
  }
};

TEST_F(EigDevice, PairsOfModerateMatrices) {
  for (const Dim n : {1, 7, 33}) {
    const Matrix a = random_matrix(n, n, 5);
    const auto e = timed(
        "eig", n, [](const Array& x) { return linalg::eig(x); }, put(a));
    expect_pairs(a, parts_of(e), 0);
  }
}

TEST_F(EigDevice, TakesFewKernels) {
  const Matrix a = random_matrix(20, 20, 6);
  const std::uint64_t before = rt.counters().pipelines;
  auto f = jit(rt, [](const Array& x) { return linalg::eig(x); });
  expect_pairs(a, parts_of(f(put(a))), 0);
  // Where a lone lane is slow, steps that lanes can share are kernels of their own.
  EXPECT_LE(rt.counters().pipelines - before, rt.target().contiguous_per_lane ? 24u : 48u);
}

TEST_F(EigDevice, ABatchOfSmallMatrices) {
  constexpr Dim count = 100, n = 2;
  const Matrix all = random_matrix(count * n, n, 8);
  auto f = jit(rt, [](const Array& x) { return linalg::eig(reshape(x, {count, n, n})); });
  const auto parts = parts_of(f(put(all)));
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
    const auto first = all.x.begin() + static_cast<std::ptrdiff_t>(k * n * n);
    expect_pairs({n, n, {first, first + n * n}}, parts, k);
  }
}

TEST_F(EigDevice, DefectiveMatricesAndNaNEnd) {
  const auto chain = [](Dim n, float diagonal) {
    Matrix a{n, n, std::vector<float>(static_cast<std::size_t>(n * n), 0.0f)};
    for (Dim i = 0; i < n; ++i) {
      a.x[static_cast<std::size_t>(i * n + i)] = diagonal;
      if (i + 1 < n) a.x[static_cast<std::size_t>(i * n + i + 1)] = 1;
    }
    return a;
  };
  auto f = jit(rt, [](const Array& x) { return linalg::eig(x); });
  expect_pairs(chain(8, 2), parts_of(f(put(chain(8, 2)))), 0);
  Matrix zero = chain(8, 0);
  zero.x.assign(64, 0.0f);
  expect_pairs(zero, parts_of(f(put(zero))), 0);
  const auto parts = parts_of(f(put(chain(8, std::numeric_limits<float>::quiet_NaN()))));
  for (const auto& p : parts)
    for (const float x : p) EXPECT_TRUE(std::isnan(x));
}

TEST_F(EigDevice, ManyTridiagonalSystems) {
  // -x'' = 1 between zeros, in every column of every system.
  constexpr Dim batch = 50, n = 64, k = 3;
  auto f = jit(rt, [](const Array& rhs) {
    const Array off = full({n}, -1, DType::f32);
    return linalg::tridiagonal_solve(off, full({n}, 2, DType::f32), off, rhs);
  });
  const Array ones = rt.from_host(std::vector<float>(batch * n * k, 1.0f), {batch, n, k});
  const std::vector<float> x = rt.to_host<float>(f(ones));
  for (std::size_t at = 0; at < x.size(); ++at) {
    const double i = static_cast<double>(at / k % n + 1);
    const double want = i * (n + 1 - i) / 2;
    ASSERT_NEAR(x[at], want, 2e-4 * want);
  }
}

}  // namespace
}  // namespace gnomon::testing
