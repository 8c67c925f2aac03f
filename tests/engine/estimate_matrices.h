// tests/engine/estimate_matrices.h -- matrices whose traces are estimated, and derivatives of
// what is, on the host reference.
#pragma once
#include <cmath>
#include <utility>
#include <vector>

#include "gnomon/estimate.h"
#include "gnomon/operators.h"
#include "gnomon/ops.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::testing::estimates {

using operators::Dense;
using operators::Operator;
using test::Numbers;
using Arrays = std::vector<Array>;

inline HostArray f64(const Numbers& v, Shape shape) { return test::host(DType::f64, shape, v); }
inline Key at(Dim i) { return random::key(i); }

/// Numbers in [-1, 1), the same every time.
inline Numbers made(std::size_t count, unsigned seed) {
  Numbers v;
  unsigned x = seed * 2654435761u + 12345u;
  for (std::size_t i = 0; i < count; ++i) {
    x = x * 1664525u + 1013904223u;
    v.push_back(double(x >> 8) / double(1 << 23) - 1);
  }
  return v;
}

/// U V^T, and with `semidefinite` U U^T: n x n of rank r.
inline Numbers low_rank(std::size_t n, std::size_t r, bool semidefinite) {
  const Numbers u = made(n * r, 3), v = semidefinite ? u : made(n * r, 4);
  Numbers a(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < r; ++l) a[i * n + j] += u[i * r + l] * v[j * r + l];
  return a;
}

inline Arrays values(const estimate::Trace& t) { return {t.value, t.standard_error}; }

/// The matrix (1 + x) B + x^2 C, B and C symmetric positive definite, of a parameter x.
struct Family {
  std::size_t n;
  Numbers b, c;
  explicit Family(std::size_t size) : n(size), b(low_rank(size, size, true)) {
    c = low_rank(size, 2, true);
    for (std::size_t i = 0; i < n; ++i) b[i * n + i] += 2;
  }
  Operator at(const Array& x, const Array& first, const Array& second) const {
    return Dense{(1 + x) * first + x * x * second, {.positive_semidefinite = true}};
  }
};

/// {value, forward, reverse, second derivative} of f(operator) in x at 0.5.
template <class F>
Numbers derivatives(const Family& m, const F& f) {
  const Shape shape{Dim(m.n), Dim(m.n)};
  return test::run(
      [&](const Array& x, const Array& b, const Array& c) {
        const auto g = [&](const Array& v) { return f(m.at(v, b, c)); };
        const Array one = ones({}, DType::f64);
        const auto forward = [&](const Array& v) { return jvp(g, v, one).second; };
        return stack(Arrays{g(x), forward(x), grad(g)(x), jvp(forward, x, one).second,
                            jvp(grad(g), x, one).second});
      },
      f64({0.5}, {}), f64(m.b, shape), f64(m.c, shape));
}

}  // namespace gnomon::testing::estimates
