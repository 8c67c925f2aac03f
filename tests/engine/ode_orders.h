// tests/engine/ode_orders.h -- what orders of methods are measured with: rooted trees for
// conditions, an orbit for errors.
#pragma once
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {

// ---- order conditions
//
// Of a rooted tree with subtrees t1, t2, ...: weight(t)_i = product of sum_j a_ij weight(t_k)_j,
// and the condition is sum_i b_i weight(t)_i = 1 / gamma(t), gamma(t) = size(t) product of
// gamma(t_k). Source: J. Butcher, Numerical Methods for Ordinary Differential Equations,
// section 31.

struct Tree {
  std::vector<Tree> below;
};
inline int size(const Tree& t) {
  int n = 1;
  for (const Tree& s : t.below) n += size(s);
  return n;
}
inline double density(const Tree& t) {
  double g = size(t);
  for (const Tree& s : t.below) g *= density(s);
  return g;
}
/// All trees with `n` vertices, whose subtrees are in the order of `smaller`.
inline std::vector<Tree> trees(int n);
inline void forests(int n, std::size_t from, const std::vector<Tree>& smaller, Tree& made,
                    std::vector<Tree>& all) {
  if (n == 0) all.push_back(made);
  for (std::size_t i = from; i < smaller.size(); ++i) {
    if (size(smaller[i]) > n) continue;
    made.below.push_back(smaller[i]);
    forests(n - size(smaller[i]), i, smaller, made, all);
    made.below.pop_back();
  }
}
inline std::vector<Tree> trees(int n) {
  std::vector<Tree> smaller, all;
  for (int k = 1; k < n; ++k)
    for (const Tree& t : trees(k)) smaller.push_back(t);
  Tree root;
  forests(n - 1, 0, smaller, root, all);
  return all;
}

// ---- an orbit

/// A body that goes around another one.
struct Orbit {
  Array x, y, u, v;
};
inline const ode::OdeTerm kepler{[](const Array&, const Orbit& o, const None&) {
  const Array r2 = o.x * o.x + o.y * o.y, r3 = r2 * sqrt(r2);
  return Orbit{o.u, o.v, -o.x / r3, -o.y / r3};
}};
struct Ellipse {
  double end, eccentricity;
};
/// Where it is, by Kepler's equation.
inline std::pair<double, double> place(double t, double e) {
  double anomaly = t;
  for (int k = 0; k < 50; ++k)
    anomaly -= (anomaly - e * std::sin(anomaly) - t) / (1 - e * std::cos(anomaly));
  return {std::cos(anomaly) - e, std::sqrt(1 - e * e) * std::sin(anomaly)};
}

/// {h, root of the mean square of the errors at `theta` of every step}: of one place alone the
/// error may change its sign between two h.
template <class Term>
std::vector<std::pair<double, double>> errors(const Term& term, const ode::Solver& solver,
                                              const Ellipse& ellipse, const std::vector<int>& steps,
                                              double theta = 1) {
  std::vector<std::pair<double, double>> points;
  const double e = ellipse.eccentricity;
  for (int n : steps) {
    const double h = ellipse.end / n;
    Numbers ts;
    for (int k = 0; k < n; ++k) ts.push_back(ellipse.end * (k + theta) / n);
    const auto got = test::run_all(
        [&](const Array& x, const Array& v) {
          const Array nothing = zeros_like(x);
          const ode::SaveAt at =
              theta == 1 ? ode::SaveAt{.steps = 1} : ode::SaveAt{.ts = ode::Times(ts)};
          return ode::diffeqsolve(term, solver, 0.0, ellipse.end, h, Orbit{x, nothing, nothing, v},
                                  none, {.saveat = at, .max_steps = n})
              .ys;
        },
        f64(1 - e), f64(std::sqrt((1 + e) / (1 - e))));
    double sum = 0;
    for (std::size_t k = 0; k < ts.size(); ++k) {
      const auto [x, y] = place(ts[k], e);
      sum += std::pow(got[0][k] - x, 2) + std::pow(got[1][k] - y, 2);
    }
    points.emplace_back(h, std::sqrt(sum / n));
  }
  return points;
}

inline std::vector<std::pair<double, double>> errors(const ode::Solver& solver,
                                                     const Ellipse& ellipse,
                                                     const std::vector<int>& steps,
                                                     double theta = 1) {
  return errors(kepler, solver, ellipse, steps, theta);
}

inline constexpr Ellipse short_way{1, 0.2}, longer{4, 0.3}, longest{4, 0.5};

}  // namespace gnomon::testing
