// tests/codegen/matrices.h -- matrices on the host for tests of linear algebra: samples, products,
// residuals.
#pragma once
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "codegen/optimize/expand.h"
#include "codegen/program/target.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {

inline double at(const HostArray& a, Dim i, Dim j) { return a.number(i * a.aval.shape[1] + j); }

inline HostArray random_matrix(Dim m, Dim n, std::uint32_t seed, DType t = DType::f64) {
  HostArray a(Aval{t, {m, n}});
  std::mt19937 g(seed);
  for (Dim i = 0; i < a.size(); ++i) a.set_number(i, static_cast<double>(g() >> 8) / 0x1p23 - 1);
  return a;
}

inline HostArray transpose(const HostArray& a) {
  const Dim m = a.aval.shape[0], n = a.aval.shape[1];
  HostArray t(Aval{a.aval.dtype, {n, m}});
  for (Dim i = 0; i < m; ++i)
    for (Dim j = 0; j < n; ++j) t.set_number(j * m + i, at(a, i, j));
  return t;
}

/// The product in f64.
inline HostArray times(const HostArray& a, const HostArray& b) {
  const Dim m = a.aval.shape[0], k = a.aval.shape[1], n = b.aval.shape[1];
  HostArray c(Aval{DType::f64, {m, n}});
  const std::vector<double> x = numbers(a), y = numbers(b);
  std::vector<double> row(static_cast<std::size_t>(n));
  for (Dim i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (Dim l = 0; l < k; ++l)
      for (Dim j = 0; j < n; ++j)
        row[static_cast<std::size_t>(j)] +=
            x[static_cast<std::size_t>(i * k + l)] * y[static_cast<std::size_t>(l * n + j)];
    for (Dim j = 0; j < n; ++j) c.set_number(i * n + j, row[static_cast<std::size_t>(j)]);
  }
  return c;
}

/// Symmetric positive definite, with a condition number near `n`.
inline HostArray positive(Dim n, std::uint32_t seed, DType t = DType::f64) {
  const HostArray g = random_matrix(n, n, seed);
  HostArray a = times(g, transpose(g));
  HostArray r(Aval{t, {n, n}});
  for (Dim i = 0; i < n; ++i)
    for (Dim j = 0; j < n; ++j) r.set_number(i * n + j, at(a, i, j) + (i == j ? 1 : 0));
  return r;
}

inline HostArray hilbert(Dim n) {
  HostArray a(Aval{DType::f64, {n, n}});
  for (Dim i = 0; i < n; ++i)
    for (Dim j = 0; j < n; ++j) a.set_number(i * n + j, 1.0 / static_cast<double>(i + j + 1));
  return a;
}

inline double largest(const HostArray& a) {
  double r = 0;
  for (Dim i = 0; i < a.size(); ++i) r = std::max(r, std::fabs(a.number(i)));
  return r;
}
/// Largest difference of two elements; infinite where one is NaN.
inline double distance(const HostArray& a, const HostArray& b) {
  EXPECT_EQ(a.aval.shape, b.aval.shape);
  double r = 0;
  for (Dim i = 0; i < a.size(); ++i) {
    const double d = std::fabs(a.number(i) - b.number(i));
    r = std::isnan(d) ? INFINITY : std::max(r, d);
  }
  return r;
}
/// How far a backward stable result on an n x n matrix may be off: a small multiple of n eps |a|.
inline double bound(Dim n, const HostArray& a) {
  const double eps = a.aval.dtype == DType::f64 ? 0x1p-52 : 0x1p-23;
  return 8 * static_cast<double>(n) * eps * std::max(1.0, largest(a));
}

/// What `f` gives with every factorisation replaced by what kernels compute.
template <class F, class... H>
std::vector<HostArray> run_expanded(F&& f, const H&... inputs) {
  const Graph g = expand(graph_of(f, inputs...), Target::lavapipe());
  verify(g);
  return evaluate(g, {inputs...});
}

}  // namespace gnomon::test
