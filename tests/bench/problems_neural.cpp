// tests/bench/problems_neural.cpp -- input, reference and check of neural_ode_step.
#include <array>
#include <cmath>

#include "checking.h"
#include "inputs.h"
#include "problems.h"

namespace bench {
namespace {

using P = NeuralOde;
constexpr size_t hidden = P::hidden;

using Pair = std::array<double, 2>;

/// One evaluation of the field, and what its pullback looks at.
struct Evaluation {
  Pair at{};
  std::array<double, hidden> first{}, second{};
};

Pair field(const std::vector<double>& p, const Pair& y, Evaluation& e) {
  e.at = y;
  for (size_t j = 0; j < hidden; j++)
    e.first[j] = std::tanh(y[0] * p[P::w1 + j] + y[1] * p[P::w1 + hidden + j] + p[P::b1 + j]);
  std::array<double, hidden> sums{};
  for (size_t i = 0; i < hidden; i++)
    for (size_t j = 0; j < hidden; j++) sums[j] += e.first[i] * p[P::w2 + i * hidden + j];
  Pair k{p[P::b3], p[P::b3 + 1]};
  for (size_t j = 0; j < hidden; j++) {
    e.second[j] = std::tanh(sums[j] + p[P::b2 + j]);
    for (size_t c = 0; c < 2; c++) k[c] += e.second[j] * p[P::w3 + 2 * j + c];
  }
  return k;
}

/// Adds to the gradient of all parameters; gives the cotangent of where the field was taken.
Pair pull_back(const std::vector<double>& p, const Evaluation& e, const Pair& k,
               std::vector<double>& g) {
  std::array<double, hidden> second{}, first{};
  for (size_t j = 0; j < hidden; j++) {
    for (size_t c = 0; c < 2; c++) {
      g[P::w3 + 2 * j + c] += e.second[j] * k[c];
      second[j] += p[P::w3 + 2 * j + c] * k[c];
    }
    second[j] *= 1 - e.second[j] * e.second[j];
    g[P::b2 + j] += second[j];
  }
  for (size_t c = 0; c < 2; c++) g[P::b3 + c] += k[c];
  Pair y{};
  for (size_t i = 0; i < hidden; i++) {
    for (size_t j = 0; j < hidden; j++) {
      g[P::w2 + i * hidden + j] += e.first[i] * second[j];
      first[i] += p[P::w2 + i * hidden + j] * second[j];
    }
    first[i] *= 1 - e.first[i] * e.first[i];
    g[P::b1 + i] += first[i];
    for (size_t c = 0; c < 2; c++) {
      g[P::w1 + c * hidden + i] += e.at[c] * first[i];
      y[c] += p[P::w1 + c * hidden + i] * first[i];
    }
  }
  return y;
}

constexpr double share[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
constexpr double ahead[4] = {0.0, 0.5, 0.5, 1.0};

/// The loss of sample `b`, whose gradient is added to `g`.
double sample(const std::vector<double>& p, const std::vector<float>& data, size_t b,
              std::vector<double>& g) {
  constexpr double h = static_cast<double>(P::step);
  const float* start = data.data() + P::parameters;
  const float* targets = start + 2 * P::batch;
  std::vector<std::array<Evaluation, 4>> steps(P::steps);
  std::vector<Pair> states;
  Pair y{start[2 * b], start[2 * b + 1]};
  double loss = 0.0;
  std::vector<Pair> of_states;
  for (size_t n = 0; n < P::steps; n++) {
    Pair next = y, k{};
    for (size_t q = 0; q < 4; q++) {
      k = field(p, {y[0] + h * ahead[q] * k[0], y[1] + h * ahead[q] * k[1]}, steps[n][q]);
      for (size_t c = 0; c < 2; c++) next[c] += h * share[q] * k[c];
    }
    y = next;
    Pair off{};
    for (size_t c = 0; c < 2; c++) {
      off[c] = y[c] - targets[2 * (n * P::batch + b) + c];
      loss += off[c] * off[c] / P::terms;
    }
    of_states.push_back({2 * off[0] / P::terms, 2 * off[1] / P::terms});
  }
  Pair s{};
  for (size_t n = P::steps; n-- > 0;) {
    for (size_t c = 0; c < 2; c++) s[c] += of_states[n][c];
    Pair total = s, of_stage{};
    for (size_t q = 4; q-- > 0;) {
      const double next = q < 3 ? h * ahead[q + 1] : 0.0;
      of_stage = pull_back(
          p, steps[n][q],
          {h * share[q] * s[0] + next * of_stage[0], h * share[q] * s[1] + next * of_stage[1]}, g);
      for (size_t c = 0; c < 2; c++) total[c] += of_stage[c];
    }
    s = total;
  }
  return loss;
}

}  // namespace

std::vector<float> neural_ode_input() {
  std::vector<float> all;
  const auto weights = [&](size_t count, size_t fan_in) {
    for (size_t i = 0; i < count; i++)
      all.push_back(signed_uniform(static_cast<uint32_t>(all.size()), 7) /
                    std::sqrt(static_cast<float>(fan_in)));
  };
  weights(2 * hidden + hidden, 2);
  weights(hidden * hidden + hidden, hidden);
  weights(2 * hidden + 2, hidden);
  for (uint32_t i = 0; i < 2 * P::batch; i++) all.push_back(2.0f * signed_uniform(i, 8));
  const std::vector<float> start(all.end() - 2 * P::batch, all.end());
  for (uint32_t n = 1; n <= P::steps; n++) {
    const float t = P::step * static_cast<float>(n), r = std::exp(-0.1f * t);
    for (size_t b = 0; b < P::batch; b++) {
      const float x = start[2 * b], y = start[2 * b + 1];
      all.push_back(r * (std::cos(2 * t) * x + std::sin(2 * t) * y));
      all.push_back(r * (std::cos(2 * t) * y - std::sin(2 * t) * x));
    }
  }
  return all;
}

Check neural_ode_check() {
  constexpr size_t n = P::parameters, part = 16;
  const std::vector<float> data = neural_ode_input();
  const std::vector<double> p(data.begin(), data.begin() + n);
  std::vector<std::vector<double>> parts(P::batch / part, std::vector<double>(n + 1));
  for_each_index(parts.size(), [&](size_t i) {
    for (size_t b = i * part; b < (i + 1) * part; b++) parts[i][n] += sample(p, data, b, parts[i]);
  });
  auto g = std::make_shared<std::vector<double>>(n + 1);
  for (size_t i = 0; i <= n; i++)
    for (const auto& each : parts) (*g)[i] += each[i];
  return adam_check<P>(data, std::move(g));
}

}  // namespace bench
