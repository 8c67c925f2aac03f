// tests/engine/operators_systems.h -- linear systems for tests, and textbook solvers of them in
// plain C++ with loops.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace gnomon::testing::systems {

using Numbers = std::vector<double>;

inline std::size_t size_of(const Numbers& matrix) {
  return static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(matrix.size()))));
}
inline double dot(const Numbers& a, const Numbers& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
  return s;
}
inline double norm(const Numbers& a) { return std::sqrt(dot(a, a)); }
/// a [m, n] x [n].
inline Numbers times(const Numbers& a, const Numbers& x) {
  const std::size_t n = x.size(), m = a.size() / n;
  Numbers y(m);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) y[i] += a[i * n + j] * x[j];
  return y;
}
inline Numbers residual(const Numbers& a, const Numbers& x, const Numbers& b) {
  Numbers r = times(a, x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return r;
}
inline Numbers plus(const Numbers& a, double f, const Numbers& b) {
  Numbers r = a;
  for (std::size_t i = 0; i < r.size(); ++i) r[i] += f * b[i];
  return r;
}
inline Numbers transposed(const Numbers& a, std::size_t rows) {
  const std::size_t n = a.size() / rows;
  Numbers t(a.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < n; ++j) t[j * rows + i] = a[i * n + j];
  return t;
}
/// Numbers in [-1, 1], the same ones for each seed.
inline Numbers made(std::size_t n, unsigned seed) {
  Numbers v;
  std::uint64_t state = 0x9e3779b97f4a7c15ull * (seed + 1);
  for (std::size_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    v.push_back(static_cast<double>(state >> 33) / static_cast<double>(1ull << 30) - 1);
  }
  return v;
}
inline Numbers right_side(std::size_t n) { return made(n, 7); }

// ---- matrices

/// -Laplace with a wind that moves along all axes, by central differences on a grid of `sides`.
inline Numbers grid(const std::vector<std::size_t>& sides, double wind) {
  std::size_t n = 1;
  for (std::size_t s : sides) n *= s;
  Numbers a(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t stride = 1;
    for (std::size_t s : sides) {
      const std::size_t here = i / stride % s;
      a[i * n + i] += 2;
      if (here > 0) a[i * n + i - stride] -= 1 + wind;
      if (here + 1 < s) a[i * n + i + stride] -= 1 - wind;
      stride *= s;
    }
  }
  return a;
}
inline Numbers hilbert(std::size_t n) {
  Numbers a(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a[i * n + j] = 1.0 / static_cast<double>(i + j + 1);
  return a;
}
/// The Laplacian of a ring with chords of `jump`, and a ridge.
inline Numbers graph_laplacian(std::size_t n, std::size_t jump, double ridge) {
  Numbers a(n * n);
  const auto edge = [&](std::size_t i, std::size_t j) {
    a[i * n + i] += 1, a[j * n + j] += 1;
    a[i * n + j] -= 1, a[j * n + i] -= 1;
  };
  for (std::size_t i = 0; i < n; ++i) {
    edge(i, (i + 1) % n);
    edge(i, (i * jump + 3) % n == i ? (i + 2) % n : (i * jump + 3) % n);
    a[i * n + i] += ridge;
  }
  return a;
}
inline Numbers plus_diagonal(Numbers a, double shift) {
  const std::size_t n = size_of(a);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] += shift;
  return a;
}

using Named = std::pair<const char*, Numbers>;
inline std::vector<Named> semidefinite_matrices() {
  return {{"poisson 1-d, 40", grid({40}, 0)},
          {"poisson 1-d, 100", grid({100}, 0)},
          {"poisson 2-d, 8 x 8", grid({8, 8}, 0)},
          {"poisson 2-d, 12 x 9", grid({12, 9}, 0)},
          {"poisson 2-d, 15 x 15", grid({15, 15}, 0)},
          {"poisson 3-d, 5 x 5 x 5", grid({5, 5, 5}, 0)},
          {"poisson 3-d, 6 x 5 x 4", grid({6, 5, 4}, 0)},
          {"hilbert 4", hilbert(4)},
          {"hilbert 6 + 1e-3", plus_diagonal(hilbert(6), 1e-3)},
          {"hilbert 30 + 1e-2", plus_diagonal(hilbert(30), 1e-2)},
          {"graph 60", graph_laplacian(60, 7, 0.1)},
          {"graph 150", graph_laplacian(150, 11, 0.01)},
          {"graph 200", graph_laplacian(200, 3, 1)},
          {"poisson 2-d, 30 x 3", grid({30, 3}, 0)},
          {"poisson 3-d, 7 x 4 x 3", grid({7, 4, 3}, 0)},
          {"graph 90", graph_laplacian(90, 13, 0.3)}};
}
inline std::vector<Named> general_matrices() {
  return {{"wind 1-d, 30", grid({30}, 0.3)},
          {"wind 1-d, 60", grid({60}, 0.9)},
          {"wind 2-d, 8 x 8", grid({8, 8}, 0.2)},
          {"wind 2-d, 10 x 10", grid({10, 10}, 0.5)},
          {"wind 2-d, 14 x 9", grid({14, 9}, -0.7)},
          {"wind 3-d, 5 x 5 x 5", grid({5, 5, 5}, 0.4)},
          {"wind 3-d, 4 x 5 x 6", grid({4, 5, 6}, 0.9)},
          {"poisson 2-d, 8 x 8", grid({8, 8}, 0)},
          {"graph 100", graph_laplacian(100, 7, 0.5)},
          {"hilbert 20 + 0.1", plus_diagonal(hilbert(20), 0.1)},
          {"wind 1-d, 24", grid({24}, -0.5)},
          {"wind 2-d, 20 x 4", grid({20, 4}, 0.6)},
          {"wind 3-d, 6 x 3 x 4", grid({6, 3, 4}, -0.2)},
          {"hilbert 12 + 0.01", plus_diagonal(hilbert(12), 0.01)}};
}

// ---- solvers: the steps they take until |r| <= rtol |b|

/// M. Hestenes and E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952).
inline int reference_cg(const Numbers& a, const Numbers& b, double rtol) {
  Numbers x(b.size()), r = b, p = b;
  double rr = dot(r, r);
  int steps = 0;
  while (std::sqrt(rr) > rtol * norm(b) && steps < 10000) {
    const Numbers q = times(a, p);
    const double alpha = rr / dot(p, q);
    x = plus(x, alpha, p), r = plus(r, -alpha, q);
    const double next = dot(r, r);
    p = plus(r, next / rr, p);
    rr = next;
    ++steps;
  }
  return steps;
}

/// The smallest residual of each Krylov space, of an orthogonal basis (modified Gram-Schmidt,
/// twice) and normal equations' QR by Givens: GMRES as Saad writes it, 6.9; `restart` steps a
/// cycle.
inline int reference_gmres(const Numbers& a, const Numbers& b, double rtol, std::size_t restart,
                           int most = 10000, Numbers* solution = nullptr) {
  const std::size_t n = b.size();
  Numbers x(n);
  int steps = 0;
  while (steps < most) {
    Numbers r = residual(a, x, b);
    const double beta = norm(r);
    if (beta <= rtol * norm(b)) break;
    std::vector<Numbers> v{plus(Numbers(n), 1 / beta, r)}, h;
    Numbers g{beta}, cs, sn;
    bool done = false;
    for (std::size_t j = 0; j < restart && !done; ++j) {
      Numbers w = times(a, v[j]), column(j + 2);
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t i = 0; i <= j; ++i) {
          const double c = dot(v[i], w);
          column[i] += c;
          w = plus(w, -c, v[i]);
        }
      column[j + 1] = norm(w);
      v.push_back(plus(Numbers(n), column[j + 1] > 0 ? 1 / column[j + 1] : 0, w));
      for (std::size_t i = 0; i < j; ++i) {
        const double up = cs[i] * column[i] + sn[i] * column[i + 1];
        column[i + 1] = -sn[i] * column[i] + cs[i] * column[i + 1];
        column[i] = up;
      }
      const double length = std::hypot(column[j], column[j + 1]);
      cs.push_back(column[j] / length), sn.push_back(column[j + 1] / length);
      column[j] = length;
      g.push_back(-sn[j] * g[j]);
      g[j] *= cs[j];
      h.push_back(column);
      ++steps;
      done = std::fabs(g[j + 1]) <= rtol * norm(b) || steps == most;
    }
    Numbers y(h.size());
    for (std::size_t i = h.size(); i-- > 0;) {
      y[i] = g[i];
      for (std::size_t k = i + 1; k < h.size(); ++k) y[i] -= h[k][i] * y[k];
      y[i] /= h[i][i];
      x = plus(x, y[i], v[i]);
    }
    if (done) break;
  }
  if (solution) *solution = x;
  return steps;
}

/// As C. Paige and M. Saunders wrote it (their program of 1975, names of its variables), until
/// phibar, the norm of the residual, is small.
inline int reference_minres(const Numbers& a, const Numbers& b, double rtol) {
  const std::size_t n = b.size();
  const double beta1 = norm(b);
  Numbers x(n), r1 = b, r2 = b, y = b, w(n), w2(n);
  double oldb = 0, beta = beta1, dbar = 0, epsln = 0, phibar = beta1, cs = -1, sn = 0;
  int steps = 0;
  while (phibar > rtol * beta1 && steps < 10000) {
    const Numbers v = plus(Numbers(n), 1 / beta, y);
    y = times(a, v);
    if (steps > 0) y = plus(y, -beta / oldb, r1);
    const double alfa = dot(v, y);
    y = plus(y, -alfa / beta, r2);
    r1 = r2, r2 = y;
    oldb = beta, beta = norm(r2);
    const double oldeps = epsln, delta = cs * dbar + sn * alfa, gbar = sn * dbar - cs * alfa;
    epsln = sn * beta, dbar = -cs * beta;
    const double gamma = std::hypot(gbar, beta);
    cs = gbar / gamma, sn = beta / gamma;
    const double phi = cs * phibar;
    phibar = sn * phibar;
    const Numbers w1 = w2;
    w2 = w;
    w = plus(Numbers(n), 1 / gamma, plus(plus(v, -oldeps, w1), -delta, w2));
    x = plus(x, phi, w);
    ++steps;
  }
  return steps;
}

/// Steps until |r| <= rtol |b| or |A^T r| <= rtol |A| |r| of the x that make |A^T r| smallest in
/// each Krylov space of A^T A, which LSMR's are in exact arithmetic.
inline int reference_lsmr(const Numbers& a, const Numbers& b, double rtol) {
  const Numbers at = transposed(a, b.size());
  const std::size_t n = a.size() / b.size();
  Numbers normal(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < b.size(); ++k)
        normal[i * n + j] += at[i * b.size() + k] * a[k * n + j];
  for (int steps = 1;; ++steps) {
    Numbers x;
    reference_gmres(normal, times(at, b), 0, 10 * n, steps, &x);
    const Numbers r = residual(a, x, b);
    if (norm(r) <= rtol * norm(b) || norm(times(at, r)) <= rtol * norm(a) * norm(r)) return steps;
  }
}

/// H. van der Vorst (1992), as he wrote it.
inline int reference_bicgstab(const Numbers& a, const Numbers& b, double rtol) {
  const std::size_t n = b.size();
  Numbers x(n), r = b, shadow = b, p(n), v(n);
  double rho = 1, alpha = 1, omega = 1;
  int steps = 0;
  while (norm(r) > rtol * norm(b) && steps < 10000) {
    const double next = dot(shadow, r), beta = next / rho * (alpha / omega);
    rho = next;
    p = plus(r, beta, plus(p, -omega, v));
    v = times(a, p);
    alpha = rho / dot(shadow, v);
    const Numbers s = plus(r, -alpha, v), t = times(a, s);
    omega = dot(t, s) / dot(t, t);
    x = plus(plus(x, alpha, p), omega, s);
    r = plus(s, -omega, t);
    ++steps;
  }
  return steps;
}

/// a x = b [n, k] by Gauss with partial pivoting.
inline Numbers dense_solution(Numbers a, Numbers b) {
  const std::size_t n = size_of(a), k = b.size() / n;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t best = c;
    for (std::size_t i = c; i < n; ++i)
      if (std::fabs(a[i * n + c]) > std::fabs(a[best * n + c])) best = i;
    for (std::size_t j = 0; j < n; ++j) std::swap(a[c * n + j], a[best * n + j]);
    for (std::size_t j = 0; j < k; ++j) std::swap(b[c * k + j], b[best * k + j]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == c) continue;
      const double f = a[i * n + c] / a[c * n + c];
      for (std::size_t j = 0; j < n; ++j) a[i * n + j] -= f * a[c * n + j];
      for (std::size_t j = 0; j < k; ++j) b[i * k + j] -= f * b[c * k + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j) b[i * k + j] /= a[i * n + i];
  return b;
}

}  // namespace gnomon::testing::systems
