// tests/aot/neural_ode.h -- a small neural ODE that tests save: what it computes on the device, and
// the same by the host in f64.
#pragma once
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "gnomon/jit.h"
#include "gnomon/linalg.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"

namespace gnomon::testing {

struct Field {
  Array inner, bias, outer;  // f32[16,2], f32[16], f32[2,16]
};

inline constexpr int hidden = 16;

/// Weights that nobody needs to store: dy/dt = outer tanh(inner y + bias).
inline std::vector<float> weights(int count, float scale, float step) {
  std::vector<float> w;
  for (int i = 0; i < count; ++i)
    w.push_back(scale * std::sin(step * static_cast<float>(i) + 0.3f));
  return w;
}
inline std::vector<float> inner_weights() { return weights(2 * hidden, 1.1f, 1.7f); }
inline std::vector<float> bias_weights() { return weights(hidden, 0.4f, 2.3f); }
inline std::vector<float> outer_weights() { return weights(2 * hidden, 0.7f, 0.9f); }

inline Field field_on(Runtime& rt) {
  return {rt.from_host(inner_weights(), {hidden, 2}), rt.from_host(bias_weights()),
          rt.from_host(outer_weights(), {2, hidden})};
}

/// y at `end`, and the number of steps, which nobody knows beforehand.
inline std::pair<Array, Array> solve_field(const Field& f, const Array& y0, const Array& end) {
  const ode::OdeTerm term{[](const Array&, const Array& y, const Field& w) {
    return dot(w.outer, tanh(dot(w.inner, y) + w.bias));
  }};
  const auto solution =
      ode::diffeqsolve(term, ode::Dopri5(), 0.0f, end, 0.05f, y0, f,
                       {.controller = ode::PidController{.rtol = 1e-5f, .atol = 1e-6f}});
  return {solution.y1, solution.stats.steps};
}

/// By 4,000 steps of the classical method of Runge and Kutta, in f64.
inline std::array<double, 2> host_solution(std::array<double, 2> y, double end) {
  const auto a = inner_weights(), b = bias_weights(), c = outer_weights();
  using Y = std::array<double, 2>;
  const auto slope = [&](const Y& p) {
    Y d{0, 0};
    for (std::size_t i = 0; i < hidden; ++i) {
      const double h = std::tanh(a[2 * i] * p[0] + a[2 * i + 1] * p[1] + b[i]);
      d[0] += c[i] * h;
      d[1] += c[hidden + i] * h;
    }
    return d;
  };
  const auto along = [](const Y& p, double s, const Y& d) {
    return Y{p[0] + s * d[0], p[1] + s * d[1]};
  };
  const int steps = 4000;
  const double s = end / steps;
  for (int i = 0; i < steps; ++i) {
    const Y k1 = slope(y), k2 = slope(along(y, s / 2, k1)), k3 = slope(along(y, s / 2, k2)),
            k4 = slope(along(y, s, k3));
    for (std::size_t j = 0; j < 2; ++j) y[j] += s / 6 * (k1[j] + 2 * k2[j] + 2 * k3[j] + k4[j]);
  }
  return y;
}

}  // namespace gnomon::testing
