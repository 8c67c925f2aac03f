// tests/ulp/references_ieee.cpp -- references by IEEE arithmetic, and repairs of those that are
// not.
#include <cmath>
#include <limits>

#include "references.h"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void erf_inv_of(Reference inside, const float* x, double* y, std::size_t count) {
  inside(x, y, count);
  for (std::size_t i = 0; i < count; ++i) {
    const float a = std::fabs(x[i]);
    if (!(a < 1)) y[i] = a == 1 ? x[i] * infinity : std::numeric_limits<double>::quiet_NaN();
  }
}

void logaddexp_of(PairReference finite, const float* x, const float* y, double* z,
                  std::size_t count) {
  finite(x, y, z, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(x[i]) && std::isfinite(y[i])) continue;
    const bool no_number = std::isnan(x[i]) || std::isnan(y[i]);
    z[i] = no_number ? std::numeric_limits<double>::quiet_NaN() : std::fmax(x[i], y[i]);
  }
}

}  // namespace

void sqrt(const float* x, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = std::sqrt(double{x[i]});
}
void rsqrt(const float* x, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = 1 / std::sqrt(double{x[i]});
}
void reciprocal(const float* x, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = 1 / double{x[i]};
}
void divide(const float* x, const float* y, double* z, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) z[i] = double{x[i]} / double{y[i]};
}
void hypot(const float* x, const float* y, double* z, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) z[i] = std::hypot(double{x[i]}, double{y[i]});
}

void quick::erfinv(const float* x, double* y, std::size_t count) {
  erf_inv_of(erf_inv_inside, x, y, count);
}
void plain::erfinv(const float* x, double* y, std::size_t count) {
  erf_inv_of(erf_inv_inside, x, y, count);
}
void quick::logaddexp(const float* x, const float* y, double* z, std::size_t count) {
  logaddexp_of(logaddexp_finite, x, y, z, count);
}
void plain::logaddexp(const float* x, const float* y, double* z, std::size_t count) {
  logaddexp_of(logaddexp_finite, x, y, z, count);
}

}  // namespace ulp
