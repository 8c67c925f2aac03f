// tests/bench/problems_loops.cpp -- inputs, references and checks of the workloads that are loops.
#include <array>
#include <cmath>

#include "checking.h"
#include "problems.h"

namespace bench {
namespace {

/// Uniform in [0, 1), a multiple of 2^-24.
double uniform(uint32_t index, uint32_t seed) {
  uint32_t x = index * 0x9E3779B9u + seed;
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  return std::ldexp(static_cast<double>((x ^ x >> 16) >> 8), -24);
}

double logistic(double x, double rate, uint32_t steps) {
  for (uint32_t k = 0; k < steps; k++) x = rate * x * (1.0 - x);
  return x;
}

/// 1 - A x.
std::vector<double> residual(const std::vector<float>& a, std::span<const double> x) {
  constexpr size_t n = Cg::n;
  std::vector<double> r(n, 1.0);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++) r[i] -= static_cast<double>(a[i * n + k]) * x[k];
  return r;
}

double norm(std::span<const double> v) {
  double squares = 0.0;
  for (const double e : v) squares += e * e;
  return std::sqrt(squares);
}

/// A^-1 1 by Cholesky's factors.
std::vector<double> solved(const std::vector<float>& a) {
  constexpr size_t n = Cg::n;
  std::vector<double> l(n * n), x(n, 1.0);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) x[i] -= l[k * n + i] * x[k];
    x[i] /= l[i * n + i];
  }
  return x;
}

}  // namespace

Check while_scalar_check() {
  const double end = logistic(WhileScalar::start, WhileScalar::rate, WhileScalar::steps);
  return [end](std::span<const float> result) {
    return compare(
        result, 2, [&](size_t i) { return i == 0 ? WhileScalar::steps : end; },
        [](size_t i) { return i == 0 ? 0.0 : 2e-6; });
  };
}

std::vector<float> cg_matrix() {
  constexpr size_t n = Cg::n;
  std::vector<double> m(n * n);
  for (size_t i = 0; i < n * n; i++)
    m[i] = (2.0 * uniform(static_cast<uint32_t>(i), 4) - 1.0) * std::sqrt(3.0);
  std::vector<float> a(n * n);
  for_each_index(n, [&](size_t i) {
    for (size_t j = 0; j < n; j++) {
      double sum = i == j ? 0.01 * n : 0.0;
      for (size_t k = 0; k < n; k++) sum += m[i * n + k] * m[j * n + k];
      a[i * n + j] = static_cast<float>(sum / n);
    }
  });
  return a;
}

Check cg_check() {
  constexpr size_t n = Cg::n;
  auto a = std::make_shared<const std::vector<float>>(cg_matrix());
  auto x = std::make_shared<const std::vector<double>>(solved(*a));
  return [a, x](std::span<const float> result) {
    if (result.size() != n + 1)
      return Verdict{false, text("%zu elements instead of %zu", result.size(), n + 1)};
    // |A^-1| is 100 and the residual 1.3e-5 sqrt(n): two right answers are within 0.03.
    Verdict verdict = compare(
        result.first(n), n, [&](size_t i) { return (*x)[i]; }, [](size_t) { return 0.05; });
    if (!verdict.ok) return verdict;
    const std::vector<double> found(result.begin(), result.end() - 1);
    const double left = norm(residual(*a, found)) / std::sqrt(n);
    if (!(left < 2e-5)) return Verdict{false, text("the residual is %.2g of the first", left)};
    if (!(std::abs(result[n] - Cg::steps) <= 3.0f))
      return Verdict{false,
                     text("%g steps instead of %u", static_cast<double>(result[n]), Cg::steps)};
    verdict.detail += text(", residual %.2g, %g steps", left, static_cast<double>(result[n]));
    return verdict;
  };
}

std::vector<float> lanes_rho() {
  std::vector<float> rho(Lanes::systems);
  for (uint32_t i = 0; i < Lanes::systems; i++)
    rho[i] = Lanes::rho_max * static_cast<float>(i) / static_cast<float>(Lanes::systems - 1);
  return rho;
}

std::vector<float> lanes_uniform_steps() {
  return std::vector<float>(Lanes::systems, static_cast<float>(Lanes::uniform_steps));
}

std::vector<float> lanes_heavy_tail_steps() {
  std::vector<float> steps(Lanes::systems);
  for (uint32_t i = 0; i < Lanes::systems; i++)
    steps[i] = static_cast<float>(
        std::floor(std::min<double>(Lanes::max_steps, 20.0 / (uniform(i, 1) + 0x1p-25))));
  return steps;
}

Check lanes_check(std::vector<float> steps) {
  constexpr size_t n = Lanes::systems;
  using Vec3 = std::array<double, 3>;
  const std::vector<float> rho = lanes_rho();
  auto reference = std::make_shared<std::vector<double>>(4 * n);
  for_each_index(n, [&](size_t i) {
    const auto field = [r = static_cast<double>(rho[i])](const Vec3& s) {
      return Vec3{10.0 * (s[1] - s[0]), s[0] * (r - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]};
    };
    const auto at = [](const Vec3& s, double h, const Vec3& slope) {
      return Vec3{s[0] + h * slope[0], s[1] + h * slope[1], s[2] + h * slope[2]};
    };
    Vec3 s{1.0, 0.0, 0.0};
    constexpr double h = static_cast<double>(Lanes::step);
    for (uint32_t k = 0; k < static_cast<uint32_t>(steps[i]); k++) {
      const Vec3 k1 = field(s), k2 = field(at(s, h / 2, k1)), k3 = field(at(s, h / 2, k2)),
                 k4 = field(at(s, h, k3));
      for (size_t c = 0; c < 3; c++) s[c] += h / 6 * (k1[c] + 2 * k2[c] + 2 * k3[c] + k4[c]);
    }
    for (size_t c = 0; c < 3; c++) (*reference)[c * n + i] = s[c];
    (*reference)[3 * n + i] = steps[i];
  });
  // Rounding of up to 10,000 steps, which does not grow; counts are exact.
  return [reference](std::span<const float> result) {
    return compare(
        result, 4 * n, [&](size_t i) { return (*reference)[i]; },
        [](size_t i) { return i < 3 * n ? 1e-4 : 0.0; });
  };
}

std::vector<float> history_offsets() { return {0.0f, 0.25f, 0.5f, 0.75f}; }

Check history_check() {
  const std::vector<float> c = history_offsets();
  std::vector<double> rows(size_t{History::rows} * History::columns);
  std::array<double, History::columns> row{};
  for (size_t k = 0; k < History::rows; k++)
    for (size_t j = 0; j < History::columns; j++)
      rows[k * History::columns + j] = row[j] = 0.5 * row[j] + (static_cast<double>(k) + c[j]);
  return against(std::move(rows), 0.0, 4 * 0x1p-24);
}

std::vector<float> dead_matrix() {
  std::vector<float> a(size_t{Dead::n} * Dead::n);
  for (size_t i = 0; i < a.size(); i++)
    a[i] = static_cast<float>(uniform(static_cast<uint32_t>(i), 5) * 2.0 / Dead::n);
  return a;
}

std::vector<float> dead_start() {
  std::vector<float> b(Dead::n);
  for (size_t i = 0; i < b.size(); i++)
    b[i] = static_cast<float>(uniform(static_cast<uint32_t>(i), 6));
  return b;
}

std::vector<float> dead_lanes() {
  std::vector<float> b(Dead::lanes);
  for (uint32_t i = 0; i < Dead::lanes; i++) b[i] = 1.0f + static_cast<float>(i) / Dead::lanes;
  return b;
}

Check dead_check() {
  constexpr size_t n = Dead::n;
  const std::vector<float> a = dead_matrix(), b = dead_start();
  std::vector<double> v(b.begin(), b.end()), next(n);
  for (uint32_t k = 0; k < Dead::steps; k++) {
    for (size_t i = 0; i < n; i++) {
      double sum = 0.0;
      for (size_t j = 0; j < n; j++) sum += a[i * n + j] * v[j];
      next[i] = Dead::decay * sum + b[i];
    }
    v = next;
  }
  return against(std::move(v), 0.0, 2e-5);
}

Check dead_lanes_check() {
  std::vector<double> v(Dead::lanes);
  const std::vector<float> b = dead_lanes();
  for (uint32_t k = 0; k < Dead::steps; k++)
    for (size_t i = 0; i < v.size(); i++) v[i] = Dead::decay * v[i] + b[i];
  return against(std::move(v), 0.0, 2e-5);
}

}  // namespace bench
