// tests/ulp/references_special.cpp -- special functions in double precision, and by MPFR.
#include <mpfr.h>

#include <cmath>
#include <limits>

#include "codegen/primitives/elementwise/special_host.h"
#include "references.h"
#include "tests/support/mpfr_functions.h"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double pi = 3.14159265358979323846;

template <class F>
void each(F f, const float* x, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = f(double{x[i]});
}

double by_mpfr(int (*f)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t), double x) {
  mpfr_t value;
  mpfr_init2(value, 128);
  mpfr_set_d(value, x, MPFR_RNDN);
  f(value, value, MPFR_RNDN);
  const double y = mpfr_get_d(value, MPFR_RNDN);
  mpfr_clear(value);
  return y;
}

double lgamma_of(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// Source: NIST Digital Library of Mathematical Functions, 5.5.2, 5.5.4 and 5.11.2.
double digamma_of(double x) {
  if (x == 0) return std::copysign(infinity, -x);
  if (!(std::fabs(x) < infinity)) return x > 0 ? x : no_number;
  const double a = x < 0 ? 1 - x : x;
  double w = a, below = 0;
  for (; w < 10; w += 1) below += 1 / w;
  const double z = 1 / (w * w);
  const double tail =
      z *
      (1.0 / 12 -
       z * (1.0 / 120 -
            z * (1.0 / 252 -
                 z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 -
                                                        z * (1.0 / 12 - z * (3617.0 / 8160))))))));
  const double right = ((std::log(w) - 0.5 / w) - tail) - below;
  if (x < 0) {
    const double r = x - std::nearbyint(x);
    return r == 0 ? no_number : right - pi * std::cos(pi * r) / std::sin(pi * r);
  }
  // Next to its zero the difference has too few digits.
  return std::fabs(right) < 1e-3 ? by_mpfr(gnomon::testing::exact_digamma, x) : right;
}

/// Source: NIST Digital Library of Mathematical Functions, 10.25.2 and 10.40.1.
double scaled_bessel(int order, double x) {
  const double a = std::fabs(x);
  if (std::isnan(x)) return x;
  if (a == infinity) return std::copysign(0.0, order == 1 ? x : 1.0);
  double term = 1, sum = 1;
  if (a < 40) {
    term = order == 1 ? x / 2 : 1, sum = term;
    const double square = a / 2 * (a / 2);
    for (int k = 1; std::fabs(term) > 1e-17 * std::fabs(sum); ++k) {
      term *= square / (static_cast<double>(k) * (k + order));
      sum += term;
    }
    return sum * std::exp(-a);
  }
  for (int k = 1; k < 30 && std::fabs(term) > 1e-17; ++k) {
    const int odd = 2 * k - 1;
    term *= -(4.0 * order - odd * odd) / (8 * k * a);
    sum += term;
  }
  const double y = sum / std::sqrt(2 * pi * a);
  return order == 1 ? std::copysign(y, x) : y;
}

double bessel_in_long_double(int order, double x) {
  if (std::isinf(x)) return scaled_bessel(order, x);
  return static_cast<double>(gnomon::host::scaled_bessel(order, x));
}

}  // namespace

#define GNOMON_ULP_EACH(copy, name, value)                        \
  void copy::name(const float* x, double* y, std::size_t count) { \
    each([](double a) -> double { return value; }, x, y, count);  \
  }
GNOMON_ULP_EACH(quick, lgamma, lgamma_of(a))
GNOMON_ULP_EACH(plain, lgamma, by_mpfr(gnomon::testing::exact_lgamma, a))
GNOMON_ULP_EACH(quick, digamma, digamma_of(a))
GNOMON_ULP_EACH(plain, digamma, by_mpfr(gnomon::testing::exact_digamma, a))
GNOMON_ULP_EACH(quick, i0e, scaled_bessel(0, a))
GNOMON_ULP_EACH(plain, i0e, bessel_in_long_double(0, a))
GNOMON_ULP_EACH(quick, i1e, scaled_bessel(1, a))
GNOMON_ULP_EACH(plain, i1e, bessel_in_long_double(1, a))

}  // namespace ulp
