// tests/bench/problems.cpp -- inputs, f64 references and checks of the workloads.
#include "problems.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "checking.h"

namespace bench {
namespace {

using Vec3 = std::array<double, 3>;

Vec3 lorenz(const Vec3& s, double rho) {
  return {10.0 * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]};
}

/// s + h * sum of weight * stage.
template <size_t N>
Vec3 combine(const Vec3& s, double h, const std::array<double, N>& weights,
             const std::array<Vec3, 7>& stages) {
  Vec3 result = s;
  for (size_t c = 0; c < 3; c++) {
    double sum = 0.0;
    for (size_t k = 0; k < N; k++) sum += weights[k] * stages[k][c];
    result[c] += h * sum;
  }
  return result;
}

Vec3 rk4(Vec3 s, double rho, uint32_t steps, double dt) {
  const auto at = [](const Vec3& from, double h, const Vec3& slope) {
    return Vec3{from[0] + h * slope[0], from[1] + h * slope[1], from[2] + h * slope[2]};
  };
  for (uint32_t k = 0; k < steps; k++) {
    const Vec3 k1 = lorenz(s, rho), k2 = lorenz(at(s, dt / 2, k1), rho),
               k3 = lorenz(at(s, dt / 2, k2), rho), k4 = lorenz(at(s, dt, k3), rho);
    for (size_t c = 0; c < 3; c++) s[c] += dt / 6 * (k1[c] + 2 * k2[c] + 2 * k3[c] + k4[c]);
  }
  return s;
}

struct Solved {
  Vec3 state;
  uint32_t tried = 0;
};

/// Dormand and Prince (1980), table 2, with the controller stated in problems.h. A tighter `tol`
/// than the workload's gives what the workload approximates.
Solved dopri5(double rho, double tol, uint32_t max_steps) {
  constexpr std::array<double, 1> a2{1.0 / 5};
  constexpr std::array<double, 2> a3{3.0 / 40, 9.0 / 40};
  constexpr std::array<double, 3> a4{44.0 / 45, -56.0 / 15, 32.0 / 9};
  constexpr std::array<double, 4> a5{19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729};
  constexpr std::array<double, 5> a6{9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176,
                                     -5103.0 / 18656};
  constexpr std::array<double, 6> b{35.0 / 384,     0.0,      500.0 / 1113, 125.0 / 192,
                                    -2187.0 / 6784, 11.0 / 84};
  constexpr std::array<double, 7> e{71.0 / 57600,      0.0,        -71.0 / 16695, 71.0 / 1920,
                                    -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
  const double end = LorenzAdaptive::end;
  Solved result{{1.0, 0.0, 0.0}};
  Vec3& s = result.state;
  std::array<Vec3, 7> k{};
  k[0] = lorenz(s, rho);
  double t = 0.0, h = LorenzAdaptive::first_step;
  for (; t < end && result.tried < max_steps; result.tried++) {
    h = std::min(h, end - t);
    k[1] = lorenz(combine(s, h, a2, k), rho);
    k[2] = lorenz(combine(s, h, a3, k), rho);
    k[3] = lorenz(combine(s, h, a4, k), rho);
    k[4] = lorenz(combine(s, h, a5, k), rho);
    k[5] = lorenz(combine(s, h, a6, k), rho);
    const Vec3 next = combine(s, h, b, k);
    k[6] = lorenz(next, rho);
    const Vec3 error = combine({}, h, e, k);
    double squares = 0.0;
    for (size_t c = 0; c < 3; c++) {
      const double scaled = error[c] / (tol + tol * std::max(std::abs(s[c]), std::abs(next[c])));
      squares += scaled * scaled;
    }
    const double err = std::sqrt(squares / 3.0);
    if (err <= 1.0) {
      t += h;
      s = next;
      k[0] = k[6];
    }
    h *= std::clamp(0.9 * std::pow(std::max(err, 1e-8), -0.2), 0.2, 10.0);
  }
  return result;
}

}  // namespace

std::vector<float> lorenz_rho(uint32_t systems) {
  std::vector<float> rho(systems);
  for (uint32_t i = 0; i < systems; i++)
    rho[i] = lorenz_rho_max * static_cast<float>(i) / static_cast<float>(systems - 1);
  return rho;
}

std::vector<float> stream_input() {
  std::vector<float> x(Stream::elements);
  for (uint32_t i = 0; i < Stream::elements; i++)
    x[i] = Stream::low + (Stream::high - Stream::low) * static_cast<float>(i) / Stream::elements;
  return x;
}

Check lorenz_rk4_check(size_t n) {
  const std::vector<float> rho = lorenz_rho(n);
  std::vector<double> reference(3 * n);
  for_each_index(n, [&](size_t i) {
    const Vec3 s = rk4({1.0, 0.0, 0.0}, rho[i], LorenzRk4::steps, LorenzRk4::step);
    for (size_t c = 0; c < 3; c++) reference[c * n + i] = s[c];
  });
  // 1,000 steps of f32 rounding, amplified by the flow up to t = 1: 2e-4 is several times what
  // any order of the operations gives; a step too few changes the state by up to 0.1.
  return against(std::move(reference), 2e-4, 2e-4);
}

Check lorenz_adaptive_check() {
  constexpr size_t n = LorenzAdaptive::systems;
  const std::vector<float> rho = lorenz_rho(n);
  struct Reference {
    std::vector<double> state = std::vector<double>(3 * n), bound = state, tried = state;
    double mean_tried = 0.0;
  };
  auto reference = std::make_shared<Reference>();
  std::vector<double> error(n);
  for_each_index(n, [&](size_t i) {
    const Solved exact = dopri5(rho[i], 1e-9, 1u << 20);
    const Solved same = dopri5(rho[i], LorenzAdaptive::tolerance, LorenzAdaptive::max_steps);
    for (size_t c = 0; c < 3; c++) {
      reference->state[c * n + i] = exact.state[c];
      error[i] = std::max(error[i], std::abs(same.state[c] - exact.state[c]));
    }
    reference->tried[i] = same.tried;
  });
  // Neighbours of a sensitive system are about as sensitive; the f64 error at the same tolerance
  // says how far apart two right answers may be there.
  constexpr size_t reach = 16;
  for (size_t i = 0; i < n; i++) {
    const auto first = error.begin() + static_cast<std::ptrdiff_t>(i < reach ? 0 : i - reach);
    const auto last = error.begin() + static_cast<std::ptrdiff_t>(std::min(n, i + reach + 1));
    for (size_t c = 0; c < 3; c++)
      reference->bound[c * n + i] = 2e-3 + 8.0 * *std::max_element(first, last);
    reference->mean_tried += reference->tried[i] / n;
  }
  return [reference](std::span<const float> result) {
    Verdict verdict = compare(
        result.first(std::min(result.size(), 3 * n)), 3 * n,
        [&](size_t i) { return reference->state[i]; },
        [&](size_t i) { return reference->bound[i]; });
    if (!verdict.ok || result.size() == 3 * n) return verdict;
    if (result.size() != 4 * n)
      return Verdict{false, text("%zu elements instead of %zu", result.size(), 4 * n)};
    double mean = 0.0;
    for (size_t i = 0; i < n; i++) {
      const double tried = result[3 * n + i];
      if (!(std::abs(tried - reference->tried[i]) <= 4.0 + 0.1 * reference->tried[i]))
        return Verdict{
            false, text("system %zu tried %g steps instead of %g", i, tried, reference->tried[i])};
      mean += tried / n;
    }
    // Steps that errors of the right size allow may grow a little sooner.
    if (!(mean >= 0.95 * reference->mean_tried && mean <= 1.01 * reference->mean_tried))
      return Verdict{false,
                     text("%.1f steps in the mean instead of %.1f", mean, reference->mean_tried)};
    verdict.detail += text(", %.1f steps in the mean", mean);
    return verdict;
  };
}

Check chain_check() {
  auto x = std::make_shared<const std::vector<float>>(stream_input());
  auto reference = std::make_shared<std::vector<double>>(x->size());
  for_each_index(x->size(), [&](size_t i) {
    const double v = (*x)[i];
    (*reference)[i] = std::sin(v) * std::exp(-v * v) + v / 2;
  });
  // All that Vulkan promises of sin is an absolute error of 2^-11, and of exp 3 + 2 |x| ULP.
  // Drivers are as loose as that.
  return [x, reference](std::span<const float> result) {
    return compare(
        result, reference->size(), [&](size_t i) { return (*reference)[i]; },
        [&](size_t i) {
          const double v = (*x)[i];
          return std::exp(-v * v) * 0x1p-11 + 4e-6;
        });
  };
}

Check copy_check() {
  const std::vector<float> x = stream_input();
  std::vector<double> reference(x.size());
  for (size_t i = 0; i < x.size(); i++) reference[i] = 2.0 * x[i];
  return against(std::move(reference), 0.0, 0.0);
}

Check mixed_check() {
  constexpr size_t n = Mixed::lanes, side = Mixed::side;
  const std::vector<float> rho = lorenz_rho(n);
  std::vector<Vec3> s(n);
  for_each_index(n, [&](size_t i) {
    s[i] = rk4({1.0, 0.0, 0.0}, rho[i], Mixed::steps, Mixed::step);
  });
  Vec3 mean{};
  for (const Vec3& state : s)
    for (size_t c = 0; c < 3; c++) mean[c] += state[c] / n;
  std::vector<double> a(side * side), product(side * side);
  for_each_index(n, [&](size_t i) {
    for (uint32_t k = 0; k < Mixed::pulled_steps; k++) {
      const Vec3 slope = lorenz(s[i], rho[i]);
      for (size_t c = 0; c < 3; c++) s[i][c] += Mixed::pulled_step * (slope[c] + mean[c] - s[i][c]);
    }
    for (size_t j = 0; j < Mixed::features; j++)
      a[i * Mixed::features + j] = s[i][0] + s[i][1] * static_cast<double>(j) / Mixed::features;
  });
  for_each_index(side, [&](size_t row) {
    for (size_t k = 0; k < side; k++)
      for (size_t column = 0; column < side; column++)
        product[row * side + column] += a[row * side + k] * a[k * side + column];
  });
  double largest = 0.0;
  for (double value : product) largest = std::max(largest, std::abs(value));
  return against(std::move(product), 2e-5 * largest, 2e-5);
}

Check call_check() {
  std::vector<double> reference(Call::elements);
  for (size_t i = 0; i < reference.size(); i++) reference[i] = static_cast<double>(i) + 1.0;
  return against(std::move(reference), 0.0, 0.0);
}

}  // namespace bench
