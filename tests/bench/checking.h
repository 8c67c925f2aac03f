// tests/bench/checking.h -- how results are compared with their f64 references.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "problems.h"

namespace bench {

using Words = std::array<uint32_t, 2>;

/// Threefry-2x32 with 20 rounds. Source: J. Salmon et al., Parallel Random Numbers: As Easy as 1,
/// 2, 3, SC 2011.
inline Words threefry(const Words& key, Words x) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  x[0] += k[0];
  x[1] += k[1];
  for (uint32_t i = 0; i < 5; i++) {
    for (const int r : rotations[i % 2]) {
      x[0] += x[1];
      x[1] = std::rotl(x[1], r) ^ x[0];
    }
    x[0] += k[(i + 1) % 3];
    x[1] += k[(i + 2) % 3] + i + 1;
  }
  return x;
}

/// Calls work(i) for i < n on all processors. Unchecked: calls of different i are independent.
template <class Work>
void for_each_index(size_t n, const Work& work) {
  const size_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (size_t t = 0; t < threads; t++)
    pool.emplace_back([&, t] {
      for (size_t i = n * t / threads; i < n * (t + 1) / threads; i++) work(i);
    });
  for (std::thread& thread : pool) thread.join();
}

inline std::string text(const char* format, auto... values) {
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

/// Compares every element; `bound(i)` is the absolute error allowed there.
template <class Reference, class Bound>
Verdict compare(std::span<const float> result, size_t n, const Reference& reference,
                const Bound& bound) {
  if (result.size() != n) return {false, text("%zu elements instead of %zu", result.size(), n)};
  double worst = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double error = std::abs(static_cast<double>(result[i]) - reference(i));
    if (!(error <= bound(i)))
      return {false, text("element %zu is %.9g instead of %.9g (allowed error %.2g)", i,
                          static_cast<double>(result[i]), static_cast<double>(reference(i)),
                          static_cast<double>(bound(i)))};
    worst = std::max(worst, error / bound(i));
  }
  return {true, text("%zu elements, worst error %.0f %% of what is allowed", n, 100.0 * worst)};
}

/// Check against a stored reference: |error| <= absolute + relative * |reference|.
inline Check against(std::vector<double> values, double absolute, double relative) {
  auto reference = std::make_shared<const std::vector<double>>(std::move(values));
  return [=](std::span<const float> result) {
    return compare(
        result, reference->size(), [&](size_t i) { return (*reference)[i]; },
        [&](size_t i) { return absolute + relative * std::abs((*reference)[i]); });
  };
}

/// Check of a step of Adam from nothing, with the constants of `Row`: {loss, parameters, their
/// first moments, their second moments, whatever else} against `reference`, which is {gradient,
/// loss, whatever else}. `start` begins with the parameters before the step.
template <class Row>
Check adam_check(std::vector<float> start, std::shared_ptr<const std::vector<double>> reference) {
  constexpr size_t n = Row::parameters;
  const std::span<const double> g(reference->data(), n);
  double largest = 0.0;
  for (const double x : g) largest = std::max(largest, std::abs(x));
  return [=, start = std::move(start)](std::span<const float> result) {
    const std::span<const double> rest(reference->begin() + n + 1, reference->end());
    const size_t size = 1 + 3 * n + rest.size();
    if (result.size() != size)
      return Verdict{false, text("%zu elements instead of %zu", result.size(), size)};
    std::vector<double> wanted{(*reference)[n]}, bounds{2e-5 * (*reference)[n]};
    const auto want = [&](double value, double bound) {
      wanted.push_back(value);
      bounds.push_back(bound);
    };
    // Parameters follow from the moments: where a derivative is next to nothing, its sign decides.
    for (size_t i = 0; i < n; i++) {
      const double m = result[1 + n + i], v = result[1 + 2 * n + i];
      want(start[i] - Row::rate * (m / (1 - Row::beta1)) /
                          (std::sqrt(v / (1 - Row::beta2)) + Row::epsilon),
           1e-6);
    }
    for (const double x : g) want((1 - Row::beta1) * x, (1 - Row::beta1) * 1e-4 * largest);
    for (const double x : g)
      want((1 - Row::beta2) * x * x, (1 - Row::beta2) * 2e-4 * largest * largest);
    for (const double x : rest) want(x, 1e-5);
    return compare(
        result, size, [&](size_t i) { return wanted[i]; }, [&](size_t i) { return bounds[i]; });
  };
}

/// Check of {estimate, its standard error}. A few numbers say little of their own spread: their
/// errors follow Student's distribution, which has long ends.
inline Check estimate_of(double want) {
  return [=](std::span<const float> result) {
    if (result.size() != 2) return Verdict{false, text("%zu elements instead of 2", result.size())};
    const double off = (static_cast<double>(result[0]) - want) / static_cast<double>(result[1]);
    const bool near = std::abs(off) < 8.0 && result[1] > 0 && result[1] < 0.1 * std::abs(want);
    return Verdict{near,
                   text("%.6g, %.1f standard errors off", static_cast<double>(result[0]), off)};
  };
}

}  // namespace bench
