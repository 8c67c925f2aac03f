// tests/bench/problems_ode.cpp -- inputs, references and checks of the ensembles of differential
// equations.
#include "problems_ode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "checking.h"

namespace bench {
namespace {

template <class P>
void append_ends(const P& field, std::vector<double>& values, std::vector<double>& bounds) {
  namespace detest = gnomon::testing::detest;
  using State = std::array<double, P::start.size()>;
  const std::vector<double> scale = detest_scale();
  const size_t n = scale.size(), first = values.size();
  values.resize(first + P::start.size() * n);
  bounds.resize(values.size());
  for_each_index(n, [&](size_t i) {
    State y = P::start;
    for (double& x : y) x *= scale[i];
    y = detest::extrapolate<double>(
        [&](double t, const State& s) {
          State d;
          field(t, s, d);
          return d;
        },
        y, detest::end, 1e-11);
    // Of orbits the errors of steps add up.
    const double allowed = (P::start.size() == 4 ? 500 : 100) * Detest::allowed;
    for (size_t c = 0; c < y.size(); c++) {
      values[first + c * n + i] = y[c];
      bounds[first + c * n + i] = allowed * std::max(1.0, std::abs(y[c]));
    }
  });
}

using Vec3 = std::array<double, 3>;

Vec3 robertson(const Vec3& y, double k1) {
  const double a = -k1 * y[0] + Robertson::k3 * y[1] * y[2], c = Robertson::k2 * y[1] * y[1];
  return {a, -a - c, c};
}

/// x with (1 - h J(y)) x = b.
Vec3 solved(const Vec3& y, double k1, double h, const Vec3& b) {
  using R = Robertson;
  const Vec3 r0{k1, -R::k3 * y[2], -R::k3 * y[1]}, r2{0, -2 * R::k2 * y[1], 0};
  std::array<std::array<double, 4>, 3> m{};
  for (size_t c = 0; c < 3; c++) {
    m[0][c] = h * r0[c] + (c == 0);
    m[1][c] = -h * (r0[c] + r2[c]) + (c == 1);
    m[2][c] = h * r2[c] + (c == 2);
  }
  for (size_t i = 0; i < 3; i++) m[i][3] = b[i];
  for (size_t k = 0; k < 3; k++) {
    size_t pivot = k;
    for (size_t i = k; i < 3; i++)
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    std::swap(m[k], m[pivot]);
    for (size_t i = 0; i < 3; i++) {
      if (i == k) continue;
      const double f = m[i][k] / m[k][k];
      for (size_t c = k; c < 4; c++) m[i][c] -= f * m[k][c];
    }
  }
  return {m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]};
}

/// Extrapolated linearly implicit Euler steps. Source: E. Hairer and G. Wanner, Solving Ordinary
/// Differential Equations II, section IV.9.
Vec3 robertson_end(double k1) {
  constexpr size_t rows = 8;
  Vec3 y{1, 0, 0};
  double t = 0, h = 1e-6;
  while (t < Robertson::end) {
    h = std::min(h, Robertson::end - t);
    std::array<Vec3, rows> row{}, before{};
    double worst = 0;
    for (size_t j = 0; j < rows; j++) {
      const double parts = static_cast<double>(j + 1), part = h / parts;
      Vec3 s = y;
      for (size_t i = 0; i <= j; i++) {
        Vec3 f = robertson(s, k1);
        for (double& x : f) x *= part;
        const Vec3 d = solved(y, k1, part, f);
        for (size_t c = 0; c < 3; c++) s[c] += d[c];
      }
      before = row;
      row[0] = s;
      for (size_t k = 1; k <= j; k++) {
        worst = 0;
        for (size_t c = 0; c < 3; c++) {
          const double change =
              (row[k - 1][c] - before[k - 1][c]) / (parts / static_cast<double>(j + 1 - k) - 1);
          row[k][c] = row[k - 1][c] + change;
          worst = std::max(worst, std::abs(change) / (1e-6 + std::abs(row[k][c])));
        }
      }
    }
    if (worst < 1e-9) {
      t = h < Robertson::end - t ? t + h : Robertson::end;
      y = row[rows - 1];
    }
    h *= std::clamp(0.8 * std::pow(1e-9 / (worst + 1e-16), 1.0 / 8), 0.3, 4.0);
  }
  return y;
}

/// Where all the stiff problems end, and the tolerances there.
struct StiffEnds {
  std::vector<double> values, tolerances;
};
StiffEnds stiff_ends() {
  StiffEnds ends;
  Stiff::for_each([&](const auto& problem) {
    for (const double y : problem.want) {
      ends.values.push_back(y);
      ends.tolerances.push_back(Stiff::tolerance * (problem.scale + std::abs(y)));
    }
  });
  return ends;
}

}  // namespace

std::vector<double> detest_scale() {
  std::vector<double> scale(Detest::systems);
  for (uint32_t i = 0; i < Detest::systems; i++) scale[i] = 0.95 + 0.1 * i / (Detest::systems - 1);
  return scale;
}

Check detest_check() {
  auto values = std::make_shared<std::vector<double>>(),
       bounds = std::make_shared<std::vector<double>>();
  Detest::for_each([&](const auto& field) { append_ends(field, *values, *bounds); });
  return [=](std::span<const float> result) {
    return compare(
        result, values->size(), [&](size_t i) { return (*values)[i]; },
        [&](size_t i) { return (*bounds)[i]; });
  };
}

std::vector<float> bouncing_restitution() {
  std::vector<float> left(Bouncing::balls);
  for (uint32_t i = 0; i < Bouncing::balls; i++)
    left[i] = 0.5f + 0.45f * static_cast<float>(i) / static_cast<float>(Bouncing::balls - 1);
  return left;
}

Check bouncing_check() {
  std::vector<double> times;
  for (float left : bouncing_restitution()) {
    double flights = 1;
    for (int k = 1; k < Bouncing::bounces; k++) flights += 2 * std::pow(double{left}, k);
    times.push_back(flights * std::sqrt(2 / double{Bouncing::gravity}));
  }
  return against(std::move(times), 0, 2e-4);
}

std::vector<double> robertson_rate() {
  std::vector<double> rate(Robertson::systems);
  for (uint32_t i = 0; i < Robertson::systems; i++)
    rate[i] = 0.04 * std::pow(10.0, 6.0 * i / (Robertson::systems - 1) - 3);
  return rate;
}

Check robertson_check() {
  const std::vector<double> rate = robertson_rate();
  const size_t n = rate.size();
  auto values = std::make_shared<std::vector<double>>(3 * n);
  for_each_index(n, [&](size_t i) {
    const Vec3 y = robertson_end(rate[i]);
    for (size_t c = 0; c < 3; c++) (*values)[c * n + i] = y[c];
  });
  // 100 times the tolerance.
  return [=](std::span<const float> result) {
    return compare(
        result, values->size(), [&](size_t i) { return (*values)[i]; },
        [&](size_t i) {
          return 100 * (Robertson::absolute + Robertson::relative * std::abs((*values)[i]));
        });
  };
}

Check stiff_check() {
  return [ends = stiff_ends()](std::span<const float> result) {
    return compare(
        result.first(std::min(result.size(), ends.values.size())), ends.values.size(),
        [&](size_t i) { return ends.values[i]; },
        [&](size_t i) { return Stiff::allowed * ends.tolerances[i]; });
  };
}

std::map<std::string, double> stiff_counts(std::span<const float> result) {
  const StiffEnds ends = stiff_ends();
  std::map<std::string, double> counts;
  size_t i = 0, count = ends.values.size();
  Stiff::for_each([&](const auto& problem) {
    const std::string name = problem.name;
    double worst = 0;
    for (size_t c = 0; c < problem.want.size(); c++, i++)
      worst = std::max(worst, std::abs(double{result[i]} - ends.values[i]) / ends.tolerances[i]);
    counts[name + "_error"] = worst;
    counts[name + "_steps"] = double{result[count++]};
    counts[name + "_evaluations"] = double{result[count++]};
  });
  return counts;
}

}  // namespace bench
