// tests/bench/checking.h -- how results are compared with their f64 references.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>

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
