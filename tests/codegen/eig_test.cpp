// tests/codegen/eig_test.cpp -- eigenvalues and eigenvectors of general matrices: residuals, closed
// forms, matrices that have no basis of eigenvectors, what is promised of pairs and signs, NaN,
// derivatives.
#include <algorithm>
#include <complex>
#include <limits>
#include <numbers>
#include <random>

#include "gnomon/jacobian.h"
#include "gnomon/linalg.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;
using Number = std::complex<double>;

struct Found {
  Dim n = 0;
  std::vector<Number> values, vectors;  // vectors by rows
  Number v(Dim i, Dim j) const { return vectors[static_cast<std::size_t>(i * n + j)]; }
};

Found eig_of(const HostArray& a) {
  const auto r = run_all([](const Array& x) { return linalg::eig(x); }, a);
  Found f{a.aval.shape[0], {}, {}};
  for (std::size_t i = 0; i < r[0].size(); ++i) f.values.emplace_back(r[0][i], r[1][i]);
  for (std::size_t i = 0; i < r[2].size(); ++i) f.vectors.emplace_back(r[2][i], r[3][i]);
  return f;
}
double norm_of(const HostArray& a) {
  double s = 0;
  for (const double x : numbers(a)) s = std::hypot(s, x);
  return s;
}
/// a v = lambda v up to n eps |a|, in vectors of length 1 whose largest element is positive.
void expect_eigen(const HostArray& a, const Found& f, const std::string& what, double factor = 8) {
  const Dim n = f.n;
  const double eps = a.aval.dtype == DType::f64 ? 0x1p-52 : 0x1p-23;
  const double tolerance = factor * static_cast<double>(n) * eps * norm_of(a);
  for (Dim j = 0; j < n; ++j) {
    const Number lambda = f.values[static_cast<std::size_t>(j)];
    double length = 0, residual = 0, most = 0;
    for (Dim i = 0; i < n; ++i) {
      Number s = -lambda * f.v(i, j);
      for (Dim k = 0; k < n; ++k) s += a.number(i * n + k) * f.v(k, j);
      residual = std::hypot(residual, std::abs(s));
      length = std::hypot(length, std::abs(f.v(i, j)));
      most = std::max(most, std::abs(f.v(i, j)));
    }
    EXPECT_LE(residual, tolerance) << what << ", pair " << j;
    EXPECT_NEAR(length, 1, 8 * eps * static_cast<double>(n)) << what << ", vector " << j;
    // Of elements that are equally large up to rounding, either may be the real one.
    bool positive = false;
    for (Dim i = 0; i < n; ++i)
      positive |= f.v(i, j).imag() == 0 && f.v(i, j).real() > most * (1 - 64 * eps);
    EXPECT_TRUE(positive) << what << ", vector " << j;
    if (lambda.imag() == 0) {
      for (Dim i = 0; i < n; ++i) EXPECT_EQ(f.v(i, j).imag(), 0) << what;
    } else {
      const Dim other = lambda.imag() > 0 ? j + 1 : j - 1;
      ASSERT_TRUE(other >= 0 && other < n) << what;
      EXPECT_EQ(f.values[static_cast<std::size_t>(other)], std::conj(lambda)) << what;
      for (Dim i = 0; i < n; ++i) EXPECT_EQ(f.v(i, other), std::conj(f.v(i, j))) << what;
    }
  }
}
void expect_values(const Found& f, std::vector<Number> want, double tolerance,
                   const std::string& what) {
  ASSERT_EQ(f.values.size(), want.size());
  for (const Number& lambda : f.values) {
    const auto nearest = std::min_element(want.begin(), want.end(), [&](Number a, Number b) {
      return std::abs(a - lambda) < std::abs(b - lambda);
    });
    EXPECT_LE(std::abs(*nearest - lambda), tolerance) << what << ": " << lambda;
    want.erase(nearest);
  }
}

HostArray matrix(DType t, Dim n, const Numbers& v) { return host(t, {n, n}, v); }
HostArray noise(DType t, Dim n, std::uint32_t seed) {
  std::mt19937 g(seed);
  HostArray a(Aval{t, {n, n}});
  for (Dim i = 0; i < a.size(); ++i) a.set_number(i, static_cast<double>(g() >> 8) / 0x1p23 - 1);
  return a;
}
template <class F>
HostArray made(DType t, Dim n, F f) {
  HostArray a(Aval{t, {n, n}});
  for (Dim i = 0; i < n; ++i)
    for (Dim j = 0; j < n; ++j) a.set_number(i * n + j, f(i, j));
  return a;
}

TEST(Eig, PairsOfRandomMatrices) {
  for (const DType t : {DType::f32, DType::f64})
    for (const Dim n : {1, 2, 3, 4, 5, 8, 13, 24})
      for (std::uint32_t seed = 0; seed < (n < 6 ? 8u : 1u); ++seed) {
        const HostArray a = noise(t, n, seed);
        const std::string what = std::to_string(n) + ", seed " + std::to_string(seed);
        expect_eigen(a, eig_of(a), what);
      }
}

TEST(Eig, ClosedForms) {
  for (const DType t : {DType::f32, DType::f64}) {
    const double eps = t == DType::f64 ? 0x1p-52 : 0x1p-23;
    const auto expect = [&](const HostArray& a, const std::vector<Number>& want, double tolerance,
                            const std::string& what) {
      const Found f = eig_of(a);
      expect_eigen(a, f, what);
      expect_values(f, want, tolerance, what);
    };
    expect(matrix(t, 2, {0, -1, 1, 0}), {{0, 1}, {0, -1}}, 4 * eps, "a quarter turn");
    expect(matrix(t, 3, {1, 2, 3, 0, 4, 5, 0, 0, 6}), {1, 4, 6}, 32 * eps, "triangular");
    expect(matrix(t, 3, {2, 0, 0, 0, 2, 0, 0, 0, 2}), {2, 2, 2}, 0, "a multiple of the identity");
    expect(matrix(t, 2, {1, 1e-3, 1e3, 1}), {0, 2}, 64 * eps, "badly scaled");
    // Shifts its elements around: the roots of unity, at which shifts stall.
    for (const Dim n : {4, 5, 8}) {
      std::vector<Number> roots;
      for (Dim k = 0; k < n; ++k)
        roots.push_back(std::polar(
            1.0, 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
      expect(made(t, n, [&](Dim i, Dim j) { return j == (i + 1) % n ? 1.0 : 0.0; }), roots,
             64 * eps, "a circular shift of " + std::to_string(n));
    }
    // The companion of (x - 1) (x - 2) (x - 3) (x - 4).
    expect(matrix(t, 4, {10, -35, 50, -24, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}), {1, 2, 3, 4},
           20000 * eps, "a companion");
  }
}

TEST(Eig, MatricesWithoutABasisOfEigenvectors) {
  for (const DType t : {DType::f32, DType::f64}) {
    const double eps = t == DType::f64 ? 0x1p-52 : 0x1p-23;
    for (const Dim n : {2, 3, 6}) {
      const HostArray zero = made(t, n, [](Dim, Dim) { return 0.0; });
      const Found z = eig_of(zero);
      expect_eigen(zero, z, "zeros");
      expect_values(z, std::vector<Number>(static_cast<std::size_t>(n), 0), 0, "zeros");
      const HostArray block = made(t, n, [](Dim i, Dim j) {
        return i == j ? 3.0 : j == i + 1 ? 1.0 : 0.0;
      });
      const Found b = eig_of(block);
      expect_eigen(block, b, "Jordan's block");
      expect_values(b, std::vector<Number>(static_cast<std::size_t>(n), 3), 0, "Jordan's block");
      // The same from below: eigenvalues move by the n-th root of what is rounded.
      const HostArray turned = made(t, n, [](Dim i, Dim j) {
        return i == j ? 3.0 : i == j + 1 ? 1.0 : 0.0;
      });
      const Found d = eig_of(turned);
      expect_eigen(turned, d, "its transpose");
      expect_values(d, std::vector<Number>(static_cast<std::size_t>(n), 3),
                    4 * std::pow(16 * eps, 1 / static_cast<double>(n)), "its transpose");
      const HostArray nilpotent =
          made(t, n, [&](Dim i, Dim j) { return j > i ? 1.0 + double(i) : 0; });
      expect_eigen(nilpotent, eig_of(nilpotent), "nilpotent");
    }
    // A whole long chain: columns of back substitution grow beyond the range unless scaled.
    const HostArray chain = made(t, 20, [](Dim i, Dim j) {
      return i == j ? 1.0 : j == i + 1 ? 1.0 : 0.0;
    });
    expect_eigen(chain, eig_of(chain), "a chain of 20");
  }
}

TEST(Eig, RangesOfElements) {
  for (const double size : {1e-30, 1e30}) {
    HostArray a = noise(DType::f32, 5, 3);
    for (Dim i = 0; i < a.size(); ++i) a.set_number(i, a.number(i) * size);
    expect_eigen(a, eig_of(a), std::to_string(size));
  }
}

TEST(Eig, WhatIsNotFiniteIsNaNThroughout) {
  for (const double bad : {nan, HUGE_VAL})
    for (const Dim n : {1, 3}) {
      HostArray a = noise(DType::f32, n, 1);
      a.set_number(n - 1, bad);
      const Found f = eig_of(a);
      for (const auto& list : {f.values, f.vectors})
        for (const Number z : list) EXPECT_TRUE(std::isnan(z.real()) && std::isnan(z.imag()));
    }
}

TEST(Eig, BatchesAndMapsGiveWhatSingleMatricesDo) {
  HostArray all(Aval{DType::f64, {2, 2, 4, 4}});
  for (std::uint32_t k = 0; k < 4; ++k) {
    const HostArray one = noise(DType::f64, 4, 20 + k);
    for (Dim i = 0; i < 16; ++i) all.set_number(16 * static_cast<Dim>(k) + i, one.number(i));
  }
  const auto eig = [](const Array& x) { return linalg::eig(x); };
  const auto batch = run_arrays(eig, all);
  EXPECT_EQ(batch[0].aval.shape, (Shape{2, 2, 4}));
  EXPECT_EQ(batch[2].aval.shape, (Shape{2, 2, 4, 4}));
  EXPECT_EQ(batch, run_arrays([&](const Array& x) { return vmap(vmap(eig))(x); }, all));
  for (std::uint32_t k = 0; k < 4; ++k) {
    const auto one = run_all(eig, noise(DType::f64, 4, 20 + k));
    for (Dim i = 0; i < 4; ++i)
      EXPECT_EQ(batch[0].number(4 * static_cast<Dim>(k) + i), one[0][static_cast<std::size_t>(i)]);
  }
  const auto none = run_arrays(eig, HostArray(Aval{DType::f32, {3, 0, 0}}));
  EXPECT_EQ(none[0].aval.shape, (Shape{3, 0}));
}

TEST(Eigvals, AreThoseOfEig) {
  const HostArray a = noise(DType::f64, 9, 4);
  const auto values = run_all([](const Array& x) { return linalg::eigvals(x); }, a);
  Found f = eig_of(a);
  std::vector<Number> got;
  for (std::size_t i = 0; i < 9; ++i) got.emplace_back(values[0][i], values[1][i]);
  f.values.swap(got);
  expect_values(f, got, 1e-13, "eigvals");
}

/// d f(a + t e) / dt at t = 0 against central differences.
template <class F>
void expect_derivative(F f, const HostArray& a, const HostArray& e, double tolerance) {
  const auto moved =
      run_all([&](const Array& x, const Array& d) { return jvp(f, x, d).second; }, a, e);
  constexpr double h = 0x1p-17;
  HostArray up = a, down = a;
  for (Dim i = 0; i < a.size(); ++i) {
    up.set_number(i, a.number(i) + h * e.number(i));
    down.set_number(i, a.number(i) - h * e.number(i));
  }
  const auto above = run_all(f, up), below = run_all(f, down);
  ASSERT_EQ(moved.size(), above.size());
  for (std::size_t k = 0; k < moved.size(); ++k)
    for (std::size_t i = 0; i < moved[k].size(); ++i)
      EXPECT_NEAR(moved[k][i], (above[k][i] - below[k][i]) / (2 * h), tolerance)
          << "result " << k << ", element " << i;
}

TEST(Eig, DerivativesAreThoseOfDifferences) {
  for (const std::uint32_t seed : {2u, 7u}) {
    const HostArray a = noise(DType::f64, 4, seed), e = noise(DType::f64, 4, 50 + seed);
    expect_derivative([](const Array& x) { return linalg::eig(x); }, a, e, 1e-7);
    expect_derivative([](const Array& x) { return linalg::eigvals(x); }, a, e, 1e-7);
  }
}

TEST(Eig, GradientsOfInvariantsHaveClosedForms) {
  // The sum of lambda^3 is the trace of a^3, whose gradient is 3 (a^2)^T.
  const HostArray a = noise(DType::f64, 5, 9);
  const auto f = [](const Array& x) {
    const Complex l = linalg::eigvals(x);
    return sum((l * l * l).re);
  };
  const auto want = [](const Array& x) { return 3 * transpose(matmul(x, x)); };
  expect_near(run([&](const Array& x) { return grad(f)(x); }, a), run(want, a), 1e-11);
  // Second derivatives through the rule: those of the trace.
  const auto second = [&](const Array& x) {
    return jvp([&](const Array& y) { return grad(f)(y); }, x, ones_like(x)).second;
  };
  const auto want_second = [&](const Array& x) { return jvp(want, x, ones_like(x)).second; };
  expect_near(run(second, a), run(want_second, a), 1e-9);
}

TEST(Eig, WantsSquareMatrices) {
  EXPECT_THAT(
      usage_error_of([](const Array& x) { return linalg::eig(x); }, f32({2, 3}, Numbers(6))),
      ::testing::AllOf(HasSubstr("gnomon::linalg::eig:"), HasSubstr("eig_test.cpp:")));
}

}  // namespace
}  // namespace gnomon::test
