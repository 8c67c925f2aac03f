// tests/ulp/errors.cpp -- errors in blocks that a compiler vectorises.
#include "errors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define GNOMON_ULP_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define GNOMON_ULP_CLONES
#endif

namespace ulp {
namespace {

inline double error_of(float got, double exact) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto bits = std::bit_cast<std::uint64_t>(exact);
  // The exponent field, not below that of the smallest normal f32.
  const std::uint64_t field = bits >> 52 & 0x7ff, exponent = field < 897 ? 897 : field;
  const auto units_per_one = std::bit_cast<double>((2069 - exponent) << 52);
  const double g = got;
  const auto got_bits = std::bit_cast<std::uint32_t>(got);
  const auto nearest = std::bit_cast<std::uint32_t>(static_cast<float>(exact));
  const bool overflow = (got_bits & 0x7fffffff) == 0x7f800000;
  const double edge = g > 0 ? 0x1p128 : -0x1p128;
  const double distance = std::fabs((overflow ? edge : g) - exact) * units_per_one;
  const bool both_nan = (g != g) & (exact != exact);
  const bool same_infinity = overflow & (nearest == got_bits);
  const bool zero = (g == 0) | (exact == 0);
  const bool other_sign = ((got_bits ^ static_cast<std::uint32_t>(bits >> 32)) >> 31) != 0;
  return (both_nan | same_infinity) ? 0 : (zero & other_sign) ? infinity : distance;
}

}  // namespace

GNOMON_ULP_CLONES void errors(const float* got, const double* exact, double* error,
                              std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) error[i] = error_of(got[i], exact[i]);
}

double error(float got, double exact) { return error_of(got, exact); }

namespace {

struct Summary {
  std::uint64_t largest = 0;  // bits of an error; they are ordered as the errors, NaN above all
  std::uint64_t above_one = 0;
};

GNOMON_ULP_CLONES Summary summary(const double* error, std::size_t count) {
  Summary s;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(error[i]);
    s.largest = bits > s.largest ? bits : s.largest;
    s.above_one += bits > std::bit_cast<std::uint64_t>(1.0);
  }
  return s;
}

}  // namespace

void Tally::merge(const Tally& other) {
  count += other.count;
  above_one += other.above_one;
  if (!better_than(other.worst)) return;
  worst = other.worst;
  x = other.x, y = other.y, got = other.got, exact = other.exact;
}

void add(Tally& tally, const float* x, const float* y, const float* got, const double* exact,
         std::size_t count, double bar, const SecondChance* second_chance) {
  constexpr std::size_t block = 2048;
  double error[block];
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t n = std::min(block, count - first);
    errors(got + first, exact + first, error, n);
    // The sign bit of a NaN would only be in the way.
    for (std::size_t i = 0; i < n; ++i) error[i] = std::fabs(error[i]);
    Summary s = summary(error, n);
    if (second_chance != nullptr && s.largest > std::bit_cast<std::uint64_t>(bar)) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = first + i;
        if (!(error[i] <= bar))
          error[i] =
              second_chance->error(x[at], y == nullptr ? 0 : y[at], got[at], exact[at], error[i]);
      }
      s = summary(error, n);
    }
    tally.count += n;
    tally.above_one += s.above_one;
    const auto largest = std::bit_cast<double>(s.largest);
    if (!tally.better_than(largest)) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (std::bit_cast<std::uint64_t>(error[i]) != s.largest) continue;
      tally.worst = largest;
      tally.x = x[first + i];
      tally.y = y == nullptr ? 0 : y[first + i];
      tally.got = got[first + i];
      tally.exact = exact[first + i];
      break;
    }
  }
}

}  // namespace ulp
