// tests/engine/linalg_checks.h -- matrices on the host, and residuals of factorisations that a
// device made, by random vectors.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>
#include <random>

#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
using Vector = std::vector<double>;

/// Row-major, as it lies on the device.
struct Matrix {
  Dim m = 0, n = 0;
  std::vector<float> x;
  double operator()(Dim i, Dim j) const { return x[static_cast<std::size_t>(i * n + j)]; }
};

inline Matrix random_matrix(Dim m, Dim n, std::uint32_t seed) {
  std::mt19937 g(seed);
  Matrix a{m, n, {}};
  for (Dim i = 0; i < m * n; ++i) a.x.push_back(static_cast<float>(g() >> 8) / 0x1p23f - 1);
  return a;
}
/// Symmetric; positive definite by its diagonal when that is large.
inline Matrix symmetric(Dim n, double diagonal, std::uint32_t seed) {
  Matrix a = random_matrix(n, n, seed);
  for (Dim i = 0; i < n; ++i)
    for (Dim j = 0; j <= i; ++j) {
      const float x = a.x[static_cast<std::size_t>(i * n + j)];
      a.x[static_cast<std::size_t>(j * n + i)] = x;
      if (i == j) a.x[static_cast<std::size_t>(i * n + i)] = x + static_cast<float>(diagonal);
    }
  return a;
}

inline Vector times(const Matrix& a, const Vector& v, bool transposed = false) {
  Vector r(static_cast<std::size_t>(transposed ? a.n : a.m), 0.0);
  for (Dim i = 0; i < a.m; ++i)
    for (Dim j = 0; j < a.n; ++j)
      r[static_cast<std::size_t>(transposed ? j : i)] +=
          a(i, j) * v[static_cast<std::size_t>(transposed ? i : j)];
  return r;
}
inline Vector probe(Dim n) {
  std::mt19937 g(77);
  Vector v;
  for (Dim i = 0; i < n; ++i) v.push_back(g() % 2 == 0 ? 1.0 : -1.0);
  return v;
}
inline double length(const Vector& v) {
  double s = 0;
  for (double x : v) s += x * x;
  return std::sqrt(s);
}
/// |a - b| / |scale|.
inline double gap(const Vector& a, const Vector& b, const Vector& scale) {
  Vector d = a;
  for (std::size_t i = 0; i < a.size(); ++i) d[i] -= b[i];
  const double r = length(d) / length(scale);
  return std::isnan(r) ? INFINITY : r;
}

class LinalgDevice : public DeviceTest {
 public:
  LinalgDevice() = default;
  explicit LinalgDevice(const RuntimeOptions& options) : DeviceTest(options) {}

  Array put(const Matrix& a) { return rt.from_host(a.x, {a.m, a.n}); }
  Matrix get(const Array& a) {
    return {a.dim(0), a.rank() > 1 ? a.dim(1) : 1, rt.to_host<float>(a)};
  }
  /// Runs `f` twice and prints what the second run took.
  template <class F, class... A>
  auto timed(const char* what, Dim n, F f, const A&... args) {
    auto jitted = jit(rt, f, {.name = what});
    const auto seconds = [&](auto&& run) {
      const auto start = std::chrono::steady_clock::now();
      run();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    decltype(jitted(args...)) result;
    const double first = seconds([&] {
      result = jitted(args...);
      rt.wait();
    });
    const double second = seconds([&] {
      result = jitted(args...);
      rt.wait();
    });
    std::printf("  %s n=%d: first %.3f s, then %.4f s\n", what, static_cast<int>(n), first, second);
    std::fflush(stdout);
    return result;
  }

  void expect_cholesky(Dim n) {
    const Matrix a = symmetric(n, 2 * std::sqrt(static_cast<double>(n)), 1);
    const Matrix l = get(timed(
        "cholesky", n, [](const Array& x) { return linalg::cholesky(x); }, put(a)));
    const Vector v = probe(n), want = times(a, v);
    EXPECT_LE(gap(times(l, times(l, v, true)), want, want), 1e-6 * std::sqrt(n)) << n;
  }
  void expect_lu(Dim n) {
    const Matrix a = random_matrix(n, n, 2);
    const auto f = timed(
        "lu", n, [](const Array& x) { return linalg::lu(x); }, put(a));
    const Matrix lu = get(f.lu);
    const std::vector<std::int32_t> order = rt.to_host<std::int32_t>(f.permutation);
    const Vector v = probe(n);
    Vector u(v.size()), got(v.size()), want(v.size());
    const Vector av = times(a, v);
    for (Dim i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (Dim j = i; j < n; ++j) u[at] += lu(i, j) * v[static_cast<std::size_t>(j)];
      got[at] = u[at];
      for (Dim j = 0; j < i; ++j) got[at] += lu(i, j) * u[static_cast<std::size_t>(j)];
      want[at] = av[static_cast<std::size_t>(order[at])];
    }
    EXPECT_LE(gap(got, want, want), 1e-6 * static_cast<double>(n)) << n;
  }
  void expect_orthonormal(const Matrix& q, bool columns) {
    const Vector v = probe(columns ? q.n : q.m);
    EXPECT_LE(gap(times(q, times(q, v, !columns), columns), v, v),
              1e-6 * std::sqrt(static_cast<double>(q.m)));
  }
  void expect_qr(Dim m, Dim n) {
    const Matrix a = random_matrix(m, n, 3);
    const auto f = timed(
        "qr", n, [](const Array& x) { return linalg::qr(x); }, put(a));
    const Matrix q = get(f.q), r = get(f.r);
    const Vector v = probe(n), want = times(a, v);
    EXPECT_LE(gap(times(q, times(r, v)), want, want), 1e-6 * std::sqrt(n)) << n;
    expect_orthonormal(q, true);
  }
  void expect_square_qr(Dim n) { expect_qr(n, n); }
  void expect_tall_qr(Dim n) { expect_qr(n + n / 2, n); }
  void expect_square_svd(Dim n) { expect_svd(n, n); }
  void expect_solve(Dim n) {
    const Matrix a = symmetric(n, 2 * std::sqrt(static_cast<double>(n)), 4);
    const Matrix b = random_matrix(n, 1, 5);
    const Matrix x = get(timed(
        "solve", n, [](const Array& m, const Array& y) { return linalg::solve(m, y); }, put(a),
        put(b)));
    const Vector want(b.x.begin(), b.x.end());
    EXPECT_LE(gap(times(a, Vector(x.x.begin(), x.x.end())), want, want), 2e-5 * std::sqrt(n)) << n;
  }
  void expect_eigh(Dim n) {
    const Matrix a = symmetric(n, 0, 6);
    const auto f = timed(
        "eigh", n, [](const Array& x) { return linalg::eigh(x); }, put(a));
    const Matrix v = get(f.eigenvectors), w = get(f.eigenvalues);
    const Vector p = probe(n), want = times(a, p);
    Vector inner = times(v, p, true);
    for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= static_cast<double>(w.x[i]);
    EXPECT_LE(gap(times(v, inner), want, want), 2e-6 * std::sqrt(n)) << n;
    expect_orthonormal(v, true);
    EXPECT_TRUE(std::is_sorted(w.x.begin(), w.x.end()));
  }
  void expect_svd(Dim m, Dim n) {
    const Matrix a = random_matrix(m, n, 7);
    const auto f = timed(
        "svd", n, [](const Array& x) { return linalg::svd(x); }, put(a));
    const Matrix u = get(f.u), s = get(f.s), vt = get(f.vt);
    const Vector p = probe(n), want = times(a, p);
    Vector inner = times(vt, p);
    for (std::size_t i = 0; i < inner.size(); ++i) inner[i] *= static_cast<double>(s.x[i]);
    EXPECT_LE(gap(times(u, inner), want, want), 2e-6 * std::sqrt(n)) << n;
    expect_orthonormal(u, true);
    expect_orthonormal(vt, false);
    EXPECT_TRUE(std::is_sorted(s.x.rbegin(), s.x.rend()));
  }
  void expect_fft(Dim n) {
    Matrix x = random_matrix(2, n, 8);
    const std::vector<float> re(x.x.begin(), x.x.begin() + n), im(x.x.begin() + n, x.x.end());
    const auto y = timed(
        "fft", n, [](const Complex& z) { return fft::fft(z); },
        Complex{rt.from_host(re), rt.from_host(im)});
    const std::vector<float> out_re = rt.to_host<float>(y.re), out_im = rt.to_host<float>(y.im);
    // A few frequencies by the definition.
    for (Dim k : {Dim{0}, Dim{1}, n / 3, n - 1}) {
      std::complex<double> sum = 0;
      for (Dim j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        const double turn = static_cast<double>(j * k % n) / static_cast<double>(n);
        sum += std::complex<double>(re[at], im[at]) * std::polar(1.0, -2 * std::numbers::pi * turn);
      }
      const std::complex<double> got(out_re[static_cast<std::size_t>(k)],
                                     out_im[static_cast<std::size_t>(k)]);
      EXPECT_LE(std::abs(got - sum), 1e-6 * std::log2(n) * std::sqrt(static_cast<double>(n)))
          << n << " frequency " << k;
    }
  }
};

}  // namespace gnomon::testing
