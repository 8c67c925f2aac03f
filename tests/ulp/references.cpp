// tests/ulp/references.cpp -- the references; GNOMON_ULP_NAMESPACE says which of the two copies.
//
// Loops over C's functions, written so that a vectorising compiler may replace the calls by those
// of its vector library. No NaN, infinity or zero passes through anything but these calls, sums and
// products: the quick copy is compiled by rules that promise nothing for other operations on them.
#include "references.h"

#include <cmath>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define GNOMON_ULP_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define GNOMON_ULP_CLONES
#endif

namespace ulp::GNOMON_ULP_NAMESPACE {
namespace {

/// The inverse of erf at |x| < 1: two steps of third order (Halley) on the difference to erf, in
/// which erfc keeps the precision of the tails.
inline double erf_inv_of(float x) {
  constexpr double pi = 3.14159265358979323846;
  constexpr float below_one = 0.99999994f;
  const float size = ::fabsf(x), inside = size < below_one ? size : below_one;
  // In f32, where it is exact from one half on: nothing may reassociate the sums below with it.
  const float to_one = 1.0f - inside;
  const double a = inside;
  // Winitzki, "A handy approximation for the error function and its inverse" (2008), within 2e-3.
  const double l = ::log1p(-a * a), t = 2 / (pi * 0.147) + l / 2;
  double y = ::sqrt(-l / 0.147 / (::sqrt(t * t - l / 0.147) + t));
  for (int step = 0; step < 2; ++step) {
    const double central = ::erf(y) - a, tail = to_one - ::erfc(y);
    const double error = (a < 0.5 ? central : tail) * (::sqrt(pi) / 2) * ::exp(y * y);
    y -= error / (1 + y * error);
  }
  return ::copysign(y, x);
}

inline double sigmoid_of(double x) { return 1 / (1 + ::exp(-x)); }

inline double softplus_of(double x) {
  const double l = ::log1p(::exp(-::fabs(x)));
  return x > 0 ? x + l : l;
}

inline double logaddexp_of(double x, double y) {
  const double larger = x > y ? x : y, difference = ::fabs(x - y);
  return larger + ::log1p(::exp(-difference));
}

}  // namespace

#define GNOMON_ULP_LOOP(name, value)                                               \
  GNOMON_ULP_CLONES void name(const float* __restrict__ x, double* __restrict__ y, \
                              std::size_t count) {                                 \
    for (std::size_t i = 0; i < count; ++i) {                                      \
      [[maybe_unused]] const double a = x[i];                                      \
      y[i] = value;                                                                \
    }                                                                              \
  }
#define GNOMON_ULP_PAIR_LOOP(name, value)                                               \
  GNOMON_ULP_CLONES void name(const float* __restrict__ x, const float* __restrict__ y, \
                              double* __restrict__ z, std::size_t count) {              \
    for (std::size_t i = 0; i < count; ++i) {                                           \
      const double a = x[i], b = y[i];                                                  \
      z[i] = value;                                                                     \
    }                                                                                   \
  }

GNOMON_ULP_LOOP(exp, ::exp(a))
GNOMON_ULP_LOOP(exp_of_minus, ::exp(-::fabs(a)))
GNOMON_ULP_LOOP(exp2, ::exp2(a))
GNOMON_ULP_LOOP(expm1, ::expm1(a))
GNOMON_ULP_LOOP(log, ::log(a))
GNOMON_ULP_LOOP(log2, ::log2(a))
GNOMON_ULP_LOOP(log10, ::log10(a))
GNOMON_ULP_LOOP(log1p, ::log1p(a))
GNOMON_ULP_LOOP(cbrt, ::cbrt(a))
GNOMON_ULP_LOOP(sin, ::sin(a))
GNOMON_ULP_LOOP(cos, ::cos(a))
GNOMON_ULP_LOOP(tan, ::tan(a))
GNOMON_ULP_LOOP(asin, ::asin(a))
GNOMON_ULP_LOOP(acos, ::acos(a))
GNOMON_ULP_LOOP(atan, ::atan(a))
GNOMON_ULP_LOOP(sinh, ::sinh(a))
GNOMON_ULP_LOOP(cosh, ::cosh(a))
GNOMON_ULP_LOOP(tanh, ::tanh(a))
GNOMON_ULP_LOOP(asinh, ::asinh(a))
GNOMON_ULP_LOOP(acosh, ::acosh(a))
GNOMON_ULP_LOOP(atanh, ::atanh(a))
GNOMON_ULP_LOOP(erf, ::erf(a))
GNOMON_ULP_LOOP(erfc, ::erfc(a))
GNOMON_ULP_LOOP(sigmoid, sigmoid_of(a))
GNOMON_ULP_LOOP(softplus, softplus_of(a))
GNOMON_ULP_LOOP(cube_root_power, ::pow(a, double{1.0f / 3.0f}))
GNOMON_ULP_LOOP(inverse_fifth_power, ::pow(a, double{-0.2f}))
GNOMON_ULP_PAIR_LOOP(pow, ::pow(a, b))
GNOMON_ULP_PAIR_LOOP(atan2, ::atan2(a, b))
GNOMON_ULP_LOOP(erf_inv_inside, erf_inv_of(x[i]))
GNOMON_ULP_PAIR_LOOP(logaddexp_finite, logaddexp_of(a, b))

}  // namespace ulp::GNOMON_ULP_NAMESPACE
