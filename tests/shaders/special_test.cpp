// tests/shaders/special_test.cpp -- special functions in f32 and f64 against MPFR, through the
// interpreter.
#include "shaders/math/special.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>

#include "tests/shaders/math_testing.h"
#include "tests/support/mpfr_functions.h"

namespace gnomon::math {
namespace {

using testing::exact_lgamma;
using testing::exact_scaled_bessel;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double quiet = std::numeric_limits<double>::quiet_NaN();

/// Sum over 1 / (x + k)^(n + 1) by the Euler-Maclaurin formula, many terms of it.
void exact_polygamma(mpfr_ptr y, int n, double x) {
  mpfr_t w, term, sum, power, rising;
  for (mpfr_ptr v : {&w[0], &term[0], &sum[0], &power[0], &rising[0]}) mpfr_init2(v, 200);
  mpfr_set_ui(sum, 0, MPFR_RNDN);
  const int shift = 60 + n;
  for (int k = 0; k < shift; ++k) {
    mpfr_set_d(w, x, MPFR_RNDN);
    mpfr_add_si(w, w, k, MPFR_RNDN);
    mpfr_pow_si(term, w, -(n + 1), MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  }
  mpfr_set_d(w, x, MPFR_RNDN);
  mpfr_add_si(w, w, shift, MPFR_RNDN);
  mpfr_pow_si(term, w, -n, MPFR_RNDN);
  mpfr_div_si(term, term, n, MPFR_RNDN);
  mpfr_add(sum, sum, term, MPFR_RNDN);
  mpfr_pow_si(power, w, -(n + 1), MPFR_RNDN);
  mpfr_div_ui(term, power, 2, MPFR_RNDN);
  mpfr_add(sum, sum, term, MPFR_RNDN);
  // B_2j / (2j)! = 2 (-1)^(j+1) zeta(2j) / (2 pi)^2j.
  mpfr_set_ui(rising, 1, MPFR_RNDN);
  for (int j = 1; j <= 30; ++j) {
    mpfr_mul_ui(rising, rising, static_cast<unsigned long>(n + 2 * j - 1), MPFR_RNDN);
    if (j > 1) mpfr_mul_ui(rising, rising, static_cast<unsigned long>(n + 2 * j - 2), MPFR_RNDN);
    mpfr_t b;
    mpfr_init2(b, 200);
    mpfr_const_pi(b, MPFR_RNDN);
    mpfr_mul(b, b, w, MPFR_RNDN);
    mpfr_mul_ui(b, b, 2, MPFR_RNDN);
    mpfr_pow_si(b, b, -2 * j, MPFR_RNDN);
    mpfr_zeta_ui(term, static_cast<unsigned long>(2 * j), MPFR_RNDN);
    mpfr_mul(b, b, term, MPFR_RNDN);
    mpfr_mul_si(b, b, j % 2 != 0 ? 2 : -2, MPFR_RNDN);
    mpfr_mul(b, b, rising, MPFR_RNDN);
    mpfr_mul(b, b, w, MPFR_RNDN);
    mpfr_mul(b, b, power, MPFR_RNDN);
    mpfr_add(sum, sum, b, MPFR_RNDN);
    mpfr_clear(b);
  }
  mpfr_fac_ui(term, static_cast<unsigned long>(n), MPFR_RNDN);
  mpfr_mul(y, sum, term, MPFR_RNDN);
  if (n % 2 == 0) mpfr_neg(y, y, MPFR_RNDN);
  for (mpfr_ptr v : {&w[0], &term[0], &sum[0], &power[0], &rising[0]}) mpfr_clear(v);
}

template <int n>
int exact_polygamma(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t) {
  exact_polygamma(y, n, mpfr_get_d(x, MPFR_RNDN));
  return 0;
}
template <int n>
Value kernel_polygamma(Builder& b, Value x) {
  return polygamma(b, n, x);
}

struct Case {
  const char* name;
  Value (*f)(Builder&, Value);
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  double low, high;
  double bound;
  double least = 0;  // errors are in units of results of at least this size
};

constexpr Case cases[] = {
    {"lgamma", lgamma, exact_lgamma, 1e-300, 1e300, 2},
    {"lgamma below 12", lgamma, exact_lgamma, 1e-30, 12, 2},
    {"lgamma near 1", lgamma, exact_lgamma, 0.9, 1.1, 2},
    {"lgamma near 2", lgamma, exact_lgamma, 1.9, 2.1, 2},
    {"lgamma of negative numbers", lgamma, exact_lgamma, -200.3, -1e-30, 2, 1},
    {"digamma", digamma, mpfr_digamma, 1e-300, 1e300, 2},
    {"digamma below 12", digamma, mpfr_digamma, 1e-30, 12, 2},
    {"digamma near its zero", digamma, mpfr_digamma, 1.4, 1.5, 2},
    {"digamma of negative numbers", digamma, mpfr_digamma, -20.3, -1e-30, 2, 1},
    {"digamma of large negative numbers", digamma, mpfr_digamma, -1e5, -20, 2, 1},
    {"polygamma(1)", kernel_polygamma<1>, exact_polygamma<1>, 1e-10, 1e5, 4},
    {"polygamma(2)", kernel_polygamma<2>, exact_polygamma<2>, 1e-5, 1e4, 5},
    {"polygamma(7)", kernel_polygamma<7>, exact_polygamma<7>, 1e-3, 100, 12},
};

void expect_within(const Case& c) {
  for (const bool narrow : {false, true}) {
    double low = c.low, high = c.high;
    if (narrow) low = std::fmax(low, low > 0 ? 1e-30 : low), high = std::fmin(high, 1e30);
    std::vector<double> x = arguments(low, high, 800);
    for (const double border : {0.5, 1.0, 1.5, 2.0, 2.5, 10.0})
      if (border > low && border < high)
        x.push_back(border), x.push_back(std::nextafter(border, 0));
    if (narrow) x = rounded_to_f32(x);
    const std::vector<double> y = narrow ? run_f32(c.f, x) : run(c.f, x);
    double worst = 0, where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double e = units(y[i], c.exact, x[i], c.least, narrow ? 24 : 53);
      if (!(e <= worst)) worst = e, where = x[i];
    }
    const std::string name = std::string(c.name) + (narrow ? ", f32" : ", f64");
    ::testing::Test::RecordProperty(name, std::to_string(worst));
    EXPECT_LE(worst, c.bound) << name << " at " << where;
  }
}

TEST(Special, StaysWithinItsUnits) {
  for (const Case& c : cases) expect_within(c);
}

TEST(Special, PolesAndEndsAreThoseOfScipy) {
  const std::vector<double> x{0.0, -0.0, -1, -2, inf, -inf, quiet, 1, 2};
  const auto expect = [&](Value (*f)(Builder&, Value), const std::vector<double>& want) {
    for (const bool narrow : {false, true}) {
      const std::vector<double> got = narrow ? run_f32(f, x) : run(f, x);
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i]))
          EXPECT_TRUE(std::isnan(got[i])) << "of " << x[i] << ": " << got[i];
        else
          EXPECT_EQ(got[i], want[i]) << "of " << x[i];
      }
    }
  };
  expect(lgamma, {inf, inf, inf, inf, inf, inf, quiet, 0, 0});
  expect(digamma, {-inf, inf, quiet, quiet, inf, quiet, quiet});
  expect(kernel_polygamma<1>, {inf, inf, inf, inf, 0, quiet, quiet});
  expect(kernel_polygamma<2>, {-inf, -inf, -inf, -inf, 0, quiet, quiet});
}

TEST(Special, BesselFunctionsStayWithinTheirUnits) {
  expect_within({"i0e", i0e, exact_scaled_bessel<0>, -200, 200, 2});
  expect_within({"i0e near 0", i0e, exact_scaled_bessel<0>, -12, 12, 2});
  expect_within({"i1e", i1e, exact_scaled_bessel<1>, -200, 200, 2});
  expect_within({"i1e near 0", i1e, exact_scaled_bessel<1>, -12, 12, 2});
  using Runner = std::vector<double> (*)(Value(*)(Builder&, Value), const std::vector<double>&);
  for (const bool narrow : {false, true}) {
    const Runner run_in = narrow ? Runner(run_f32) : Runner(run);
    const double largest =
        narrow ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    EXPECT_EQ(run_in(i0e, {0, 1e-30, inf, -inf}), (std::vector<double>{1, 1, 0, 0}));
    EXPECT_EQ(run_in(i1e, {0, inf}), (std::vector<double>{0, 0}));
    EXPECT_NEAR(run_in(i0e, {largest})[0] * std::sqrt(largest), 0.3989422804014327, 1e-7);
  }
}

TEST(Special, PolygammaIsReflected) {
  // mpmath 1.3: psi(n, x) with 20 digits.
  const std::vector<double> x{-0.5, -2.25, -7.75};
  const double want[3][3] = {
      {8.9348022005446793094, 19.379410511869137363, 19.618144334352289465},
      {-0.8287966442343199956, 123.89694977406016558, -124.03974558822776382},
      {15371.113548602435496, 492231.13550447009079, 492231.26649384757753}};
  Value (*const f[])(Builder&, Value) = {kernel_polygamma<1>, kernel_polygamma<2>,
                                         kernel_polygamma<5>};
  for (std::size_t n = 0; n < 3; ++n) {
    const std::vector<double> got = run(f[n], x), narrow = run_f32(f[n], x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(got[i] / want[n][i], 1, 2e-14) << "order " << n << " at " << x[i];
      EXPECT_NEAR(narrow[i] / want[n][i], 1, 1e-5) << "order " << n << " at " << x[i];
    }
  }
}

}  // namespace
}  // namespace gnomon::math
