// tests/bench/problems_linalg.cpp -- matrices of the factorisations, and their residuals in f64.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "checking.h"
#include "problems.h"

namespace bench {
namespace {

constexpr size_t n = Linalg::n;

/// A square matrix in f64; `at(i, j)` of what a result holds from `offset` on.
struct Square {
  std::vector<double> x = std::vector<double>(n * n, 0.0);
  double& operator()(size_t i, size_t j) { return x[i * n + j]; }
  double operator()(size_t i, size_t j) const { return x[i * n + j]; }

  static Square of(std::span<const float> values, size_t offset) {
    Square s;
    for (size_t i = 0; i < n * n; i++) s.x[i] = static_cast<double>(values[offset + i]);
    return s;
  }
  Square transposed() const {
    Square r;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) r(j, i) = (*this)(i, j);
    return r;
  }
};

Square operator*(const Square& a, const Square& b) {
  Square r;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++)
      for (size_t j = 0; j < n; j++) r(i, j) += a(i, k) * b(k, j);
  return r;
}

Square identity() {
  Square r;
  for (size_t i = 0; i < n; i++) r(i, i) = 1.0;
  return r;
}

/// Columns of a times a number each.
Square scaled(Square a, std::span<const float> by) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) a(i, j) *= static_cast<double>(by[j]);
  return a;
}

/// Every element within `bound`; NaN is not.
Verdict near(const char* what, const Square& got, const Square& want, double bound) {
  double worst = 0.0;
  for (size_t i = 0; i < n * n; i++) {
    const double error = std::abs(got.x[i] - want.x[i]);
    if (!(error <= bound))
      return {false, text("%s: off by %.3g at (%zu, %zu), allowed %.2g", what, error, i / n, i % n,
                          bound)};
    worst = std::max(worst, error);
  }
  return {true, text("%s within %.2g", what, worst)};
}

Verdict both(const Verdict& a, const Verdict& b) {
  return a.ok ? Verdict{b.ok, b.ok ? a.detail + ", " + b.detail : b.detail} : a;
}

/// The logarithm of the magnitude of the determinant, and its sign, by elimination in f64.
std::array<double, 2> log_determinant(Square a) {
  double sign = 1.0, log = 0.0;
  for (size_t k = 0; k < n; k++) {
    size_t p = k;
    for (size_t i = k + 1; i < n; i++)
      if (std::abs(a(i, k)) > std::abs(a(p, k))) p = i;
    if (p != k) {
      for (size_t j = 0; j < n; j++) std::swap(a(k, j), a(p, j));
      sign = -sign;
    }
    if (a(k, k) < 0.0) sign = -sign;
    log += std::log(std::abs(a(k, k)));
    for (size_t i = k + 1; i < n; i++) {
      const double factor = a(i, k) / a(k, k);
      for (size_t j = k; j < n; j++) a(i, j) -= factor * a(k, j);
    }
  }
  return {sign, log};
}

// Errors of sums of n products of numbers of size 1, some of which have been through more of them.
constexpr double residual_bound = 2e-4, basis = 5e-5;

Verdict check_lu(const Square& a, std::span<const float> r) {
  const Square packed = Square::of(r, 0);
  Square l = identity(), u, rows;
  for (size_t i = 0; i < n; i++) {
    const auto from = static_cast<size_t>(r[n * n + i]);
    if (from >= n) return {false, text("row %zu comes from row %zu", i, from)};
    for (size_t j = 0; j < n; j++) {
      (j < i ? l : u)(i, j) = packed(i, j);
      rows(i, j) = a(from, j);
    }
  }
  return near("L U", l * u, rows, residual_bound);
}

Verdict check_solve(const Square& a, std::span<const float> x) {
  double worst = 0.0;
  for (size_t i = 0; i < n; i++) {
    double sum = -1.0;
    for (size_t j = 0; j < n; j++) sum += a(i, j) * static_cast<double>(x[j]);
    worst = std::max(worst, std::isfinite(sum) ? std::abs(sum) : 1e9);
  }
  return {worst <= residual_bound, text("residual %.2g", worst)};
}

}  // namespace

const std::vector<std::string>& linalg_names() {
  static const std::vector<std::string> names{"cholesky", "lu",   "qr", "solve",
                                              "slogdet",  "eigh", "svd"};
  return names;
}

std::vector<float> linalg_matrix(const std::string& name) {
  std::vector<float> a(n * n);
  uint32_t bits = 1;
  for (float& x : a) {
    bits = bits * 1664525u + 1013904223u;
    x = static_cast<float>(bits >> 8) * 0x1p-23f - 1.0f;
  }
  if (name != "cholesky" && name != "eigh") return a;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) a[j * n + i] = a[i * n + j];
  if (name == "cholesky")
    for (size_t i = 0; i < n; i++) a[i * n + i] += 2.0f * std::sqrt(static_cast<float>(n));
  return a;
}

Check linalg_check(const std::string& name) {
  const Square a = Square::of(linalg_matrix(name), 0);
  const auto of_size = [](size_t size, auto check) -> Check {
    return [=](std::span<const float> r) -> Verdict {
      if (r.size() != size) return {false, text("%zu elements instead of %zu", r.size(), size)};
      return check(r);
    };
  };
  if (name == "cholesky")
    return of_size(n * n, [=](std::span<const float> r) {
      const Square l = Square::of(r, 0);
      return near("L L^T", l * l.transposed(), a, residual_bound);
    });
  if (name == "lu")
    return of_size(n * n + n, [=](std::span<const float> r) { return check_lu(a, r); });
  if (name == "qr")
    return of_size(2 * n * n, [=](std::span<const float> r) {
      const Square q = Square::of(r, 0);
      return both(near("Q R", q * Square::of(r, n * n), a, residual_bound),
                  near("Q^T Q", q.transposed() * q, identity(), basis));
    });
  if (name == "solve")
    return of_size(n, [=](std::span<const float> r) { return check_solve(a, r); });
  if (name == "slogdet") {
    const auto want = log_determinant(a);
    return of_size(2, [=](std::span<const float> r) {
      const double error = std::abs(static_cast<double>(r[1]) - want[1]);
      const bool ok = static_cast<double>(r[0]) == want[0] && error <= 1e-2;
      return Verdict{ok, text("sign %g, logarithm off by %.2g", static_cast<double>(r[0]), error)};
    });
  }
  if (name == "eigh")
    return of_size(n * n + n, [=](std::span<const float> r) {
      const Square v = Square::of(r, n);
      return both(near("A V", a * v, scaled(v, r.first(n)), residual_bound),
                  near("V^T V", v.transposed() * v, identity(), basis));
    });
  return of_size(2 * n * n + n, [=](std::span<const float> r) {
    const Square u = Square::of(r, 0), vt = Square::of(r, n * n + n);
    return both(near("U S V^T", scaled(u, r.subspan(n * n, n)) * vt, a, residual_bound),
                near("U^T U", u.transposed() * u, identity(), basis));
  });
}

}  // namespace bench
