// tests/bench/problems_gradients.cpp -- references and checks of gradients: forward mode in f64.
#include <array>
#include <cmath>

#include "checking.h"
#include "problems.h"

namespace bench {
namespace {

/// A number and its derivatives in the start (x, y, z) and in rho.
struct Dual {
  double value = 0.0;
  std::array<double, 4> d{};

  static Dual variable(double value, size_t number) {
    Dual x{value};
    x.d[number] = 1.0;
    return x;
  }
};

Dual linear(double value, const Dual& a, double da, const Dual& b, double db) {
  Dual r{value};
  for (size_t i = 0; i < r.d.size(); i++) r.d[i] = da * a.d[i] + db * b.d[i];
  return r;
}
Dual operator+(const Dual& a, const Dual& b) { return linear(a.value + b.value, a, 1, b, 1); }
Dual operator-(const Dual& a, const Dual& b) { return linear(a.value - b.value, a, 1, b, -1); }
Dual operator*(const Dual& a, const Dual& b) {
  return linear(a.value * b.value, a, b.value, b, a.value);
}
Dual operator*(double c, const Dual& a) { return linear(c * a.value, a, c, a, 0); }

using Vec3 = std::array<Dual, 3>;

Vec3 lorenz(const Vec3& s, const Dual& rho) {
  return {10.0 * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]};
}

Vec3 along(const Vec3& s, double h, const Vec3& slope) {
  return {s[0] + h * slope[0], s[1] + h * slope[1], s[2] + h * slope[2]};
}

Vec3 rk4_step(const Vec3& s, const Dual& rho, double h) {
  const Vec3 k1 = lorenz(s, rho), k2 = lorenz(along(s, h / 2, k1), rho),
             k3 = lorenz(along(s, h / 2, k2), rho), k4 = lorenz(along(s, h, k3), rho);
  Vec3 r = s;
  for (size_t c = 0; c < 3; c++) r[c] = r[c] + h / 6 * (k1[c] + 2.0 * k2[c] + 2.0 * k3[c] + k4[c]);
  return r;
}

/// The loss of one system from (1, 0, 0) after `steps` steps.
Dual loss(double rho, uint32_t steps, double h) {
  Vec3 s{Dual::variable(1.0, 0), Dual::variable(0.0, 1), Dual::variable(0.0, 2)};
  const Dual r = Dual::variable(rho, 3);
  for (uint32_t k = 0; k < steps; k++) s = rk4_step(s, r, h);
  return 0.5 * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
}

/// Derivatives of every `apart`-th of `systems` losses.
std::vector<Dual> losses(size_t systems, size_t apart, uint32_t steps, double h) {
  const std::vector<float> rho = lorenz_rho(static_cast<uint32_t>(systems));
  std::vector<Dual> found((systems - 1) / apart + 1);
  for_each_index(found.size(), [&](size_t i) { found[i] = loss(rho[i * apart], steps, h); });
  return found;
}

/// A result is the sum of all losses, alone or with the gradient f32[4, systems] behind it.
bool is_alone(std::span<const float> result) { return result.size() == 1; }

Verdict compare_loss(double found, double wanted, double relative) {
  const double error = std::abs(found / wanted - 1.0);
  if (!(error <= relative)) return {false, text("the loss is %.9g instead of %.9g", found, wanted)};
  return {true, text("loss off by %.1g", error)};
}

}  // namespace

Check lorenz_rk4_grad_check() {
  constexpr size_t n = LorenzRk4::systems, apart = 16;
  const auto found =
      std::make_shared<std::vector<Dual>>(losses(n, apart, LorenzRk4::steps, LorenzRk4::step));
  double largest = 0.0;
  for (const Dual& l : *found)
    for (const double d : l.d) largest = std::max(largest, std::abs(d));
  return [=](std::span<const float> result) {
    // Systems between two of the reference are between their losses and derivatives, which are
    // smooth in rho: 0.007 from one to the next.
    const auto between = [&](size_t i, const auto& what) {
      const size_t left = std::min(i / apart, found->size() - 2);
      const double t = static_cast<double>(i) / apart - static_cast<double>(left);
      return (1 - t) * what((*found)[left]) + t * what((*found)[left + 1]);
    };
    double total = 0.0;
    for (size_t i = 0; i < n; i++) total += between(i, [](const Dual& l) { return l.value; });
    const Verdict alone =
        compare_loss(result.empty() ? 0.0 : static_cast<double>(result[0]), total, 1e-4);
    if (!alone.ok || is_alone(result)) return alone;
    return compare(
        result.subspan(1), 4 * n,
        [&](size_t i) { return between(i % n, [&](const Dual& l) { return l.d[i / n]; }); },
        [&](size_t) { return 2e-4 * largest; });
  };
}

Check lorenz_adaptive_grad_check() {
  constexpr size_t n = LorenzAdaptive::systems, apart = 64;
  // 10,000 steps of RK4 are as good as exact here. Beyond rho of 13.9 systems are sensitive first
  // and chaotic at last: what a solver with a tolerance finds of their derivatives says nothing
  // about the right ones.
  constexpr double calm = 13.0;
  constexpr uint32_t steps = 10000;
  const auto found = std::make_shared<std::vector<Dual>>(
      losses(n, apart, steps, static_cast<double>(LorenzAdaptive::end) / steps));
  const std::vector<float> rho = lorenz_rho(n);
  return [=](std::span<const float> result) {
    for (const float x : result)
      if (!std::isfinite(x)) return Verdict{false, "not finite"};
    if (is_alone(result))
      return Verdict{result[0] > 0.0f, text("loss %.6g", static_cast<double>(result[0]))};
    std::vector<float> seen;
    std::vector<double> wanted;
    if (result.size() != 1 + 4 * n)
      return Verdict{false, text("%zu elements instead of %zu", result.size(), 1 + 4 * n)};
    for (size_t c = 0; c < 4; c++)
      for (size_t i = 0; i < n && rho[i] < calm; i += apart) {
        seen.push_back(result[1 + c * n + i]);
        wanted.push_back((*found)[i / apart].d[c]);
      }
    return against(std::move(wanted), 2e-2, 1e-2)(seen);
  };
}

Check chain_grad_check() {
  auto x = std::make_shared<const std::vector<float>>(stream_input());
  double total = 0.0;
  for (const float v : *x) {
    const double e = v;
    total += std::sin(e) * std::exp(-e * e) + e / 2;
  }
  return [x, total](std::span<const float> result) {
    // 2^24 terms of both signs.
    const double off = result.empty() ? 1e9 : std::abs(static_cast<double>(result[0]) - total);
    if (!(off < 2.0)) return Verdict{false, text("the loss is off by %.3g", off)};
    if (is_alone(result)) return Verdict{true, text("loss off by %.2g", off)};
    return compare(
        result.subspan(1), x->size(),
        [&](size_t i) {
          const double v = (*x)[i];
          return (std::cos(v) - 2 * v * std::sin(v)) * std::exp(-v * v) + 0.5;
        },
        [](size_t) { return 2e-6; });
  };
}

Check hutchinson_grad_check() {
  constexpr size_t n = Hutchinson::n, probes = Hutchinson::probes;
  auto a = std::make_shared<const std::vector<float>>(hutchinson_matrix());
  return [a](std::span<const float> result) {
    // Linear in A: the loss is the inner product of A and the gradient, which is a sum of squares
    // z z^T of signs.
    const double loss = result.empty() ? 0.0 : static_cast<double>(result[0]);
    if (is_alone(result))
      return Verdict{std::abs(loss / (8.0 * n * probes) - 1.0) < 0.1, text("loss %.6g", loss)};
    if (result.size() != 1 + n * n)
      return Verdict{false, text("%zu elements instead of %zu", result.size(), 1 + n * n)};
    const std::span<const float> g = result.subspan(1);
    double product = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) {
        const double e = g[i * n + j];
        const bool possible = i == j ? e == probes
                                     : std::abs(e) <= probes && std::fmod(e, 2.0) == 0.0 &&
                                           g[i * n + j] == g[j * n + i];
        if (!possible) return Verdict{false, text("element (%zu, %zu) is %g", i, j, e)};
        product += e * (*a)[i * n + j];
        if (i != j) squares += e * e;
      }
    const double mean = squares / (n * (n - 1.0)) / probes;
    return Verdict{
        std::abs(product / loss - 1.0) < 1e-5 && std::abs(mean - 1.0) < 0.05,
        text("loss %.6g, <A, gradient> %.6g, normalised square %.3f", loss, product, mean)};
  };
}

Check matmul_grad_check(const Matmul& m) {
  const std::vector<float> a = matmul_left(m), b = matmul_right(m);
  std::vector<double> c(m.result()), wanted(size_t{1} + m.left() + m.right());
  for_each_index(m.rows, [&](size_t i) {
    for (size_t k = 0; k < m.depth; k++)
      for (size_t j = 0; j < m.columns; j++)
        c[i * m.columns + j] += static_cast<double>(a[i * m.depth + k]) * b[k * m.columns + j];
  });
  for (const double e : c) wanted[0] += 0.5 * e * e;
  double* left = wanted.data() + 1;
  double* right = left + m.left();
  for_each_index(m.rows, [&](size_t i) {
    for (size_t k = 0; k < m.depth; k++) {
      double sum = 0.0;
      for (size_t j = 0; j < m.columns; j++) sum += c[i * m.columns + j] * b[k * m.columns + j];
      left[i * m.depth + k] = sum;
    }
  });
  for_each_index(m.depth, [&](size_t k) {
    for (size_t i = 0; i < m.rows; i++)
      for (size_t j = 0; j < m.columns; j++)
        right[k * m.columns + j] += static_cast<double>(a[i * m.depth + k]) * c[i * m.columns + j];
  });
  auto reference = std::make_shared<const std::vector<double>>(std::move(wanted));
  // Products of eighths: all sums are exact but that of the squares.
  return [reference](std::span<const float> result) {
    const Verdict alone =
        compare_loss(result.empty() ? 0.0 : static_cast<double>(result[0]), (*reference)[0], 1e-5);
    if (!alone.ok || is_alone(result)) return alone;
    return compare(
        result, reference->size(), [&](size_t i) { return (*reference)[i]; },
        [&](size_t i) { return i == 0 ? 1e-5 * (*reference)[0] : 0.0; });
  };
}

}  // namespace bench
