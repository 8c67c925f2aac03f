// tests/shaders/betainc_test.cpp -- the incomplete beta function against power series of MPFR,
// through the interpreter.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>
#include <random>

#include "shaders/math/special.h"
#include "tests/shaders/math_testing.h"

namespace gnomon::math {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double quiet = std::numeric_limits<double>::quiet_NaN();

struct Exact {
  double betaln, betainc;
};

/// I = x^a (1 - x)^b / (a B(a, b)) (1 + (a + b) / (a + 1) x + ...), whose terms are positive.
Exact exact(double a, double b, double x) {
  mpfr_t term, sum, weight, t, u;
  for (mpfr_ptr v : {&term[0], &sum[0], &weight[0], &t[0], &u[0]}) mpfr_init2(v, 500);
  mpfr_set_ui(term, 1, MPFR_RNDN);
  mpfr_set_ui(sum, 1, MPFR_RNDN);
  for (int k = 0; mpfr_get_exp(term) > mpfr_get_exp(sum) - 400; ++k) {
    mpfr_set_d(t, a, MPFR_RNDN);
    mpfr_add_si(t, t, k + 1, MPFR_RNDN);
    mpfr_set_d(u, a, MPFR_RNDN);
    mpfr_add_d(u, u, b, MPFR_RNDN);
    mpfr_add_si(u, u, k, MPFR_RNDN);
    mpfr_div(u, u, t, MPFR_RNDN);
    mpfr_mul_d(u, u, x, MPFR_RNDN);
    mpfr_mul(term, term, u, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  }
  mpfr_set_d(t, a, MPFR_RNDN);
  mpfr_set_d(u, b, MPFR_RNDN);
  mpfr_beta(weight, t, u, MPFR_RNDN);
  mpfr_log(u, weight, MPFR_RNDN);
  const double betaln = mpfr_get_d(u, MPFR_RNDN);
  mpfr_div(sum, sum, weight, MPFR_RNDN);
  mpfr_div(sum, sum, t, MPFR_RNDN);
  mpfr_set_d(u, x, MPFR_RNDN);
  mpfr_pow(u, u, t, MPFR_RNDN);
  mpfr_mul(sum, sum, u, MPFR_RNDN);
  mpfr_set_d(u, x, MPFR_RNDN);
  mpfr_ui_sub(u, 1, u, MPFR_RNDN);
  mpfr_set_d(t, b, MPFR_RNDN);
  mpfr_pow(u, u, t, MPFR_RNDN);
  mpfr_mul(sum, sum, u, MPFR_RNDN);
  const double betainc = mpfr_get_d(sum, MPFR_RNDN);
  for (mpfr_ptr v : {&term[0], &sum[0], &weight[0], &t[0], &u[0]}) mpfr_clear(v);
  return {betaln, betainc};
}

TEST(Betainc, IsAccurate) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double> a, b, x;
  std::vector<Exact> want;
  for (int i = 0; i < 400; ++i) {
    const double p = std::exp(unit(random) * 13 - 6), q = std::exp(unit(random) * 13 - 6);
    const double mean = p / (p + q), width = std::sqrt(mean * (1 - mean) / (p + q + 1));
    const double at = i % 3 == 0 ? 0.9 * unit(random) : mean + 8 * (unit(random) - 0.5) * width;
    if (!(at > 0 && at < 0.9)) continue;
    a.push_back(static_cast<float>(p)), b.push_back(static_cast<float>(q));
    x.push_back(static_cast<float>(at));
    want.push_back(exact(a.back(), b.back(), x.back()));
  }
  ASSERT_GT(x.size(), 200u);
  for (const bool narrow : {false, true}) {
    const std::vector<double> beta = narrow ? run_f32(betaln, a, b) : run(betaln, a, b);
    const std::vector<double> ratio = narrow ? run_f32(betainc, a, b, x) : run(betainc, a, b, x);
    const double unit_of_one = narrow ? 0x1p-23 : 0x1p-52;
    double worst = 0, worst_beta = 0;
    std::size_t where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst_beta = std::fmax(worst_beta, std::fabs(beta[i] - want[i].betaln) /
                                             std::fmax(1, std::fabs(want[i].betaln)));
      if (want[i].betainc < (narrow ? 1e-36 : 1e-290)) continue;
      const double e = std::fabs(ratio[i] / want[i].betainc - 1);
      if (e > worst) worst = e, where = i;
    }
    RecordProperty(narrow ? "f32" : "f64", std::to_string(worst / unit_of_one));
    EXPECT_LE(worst_beta, 2 * unit_of_one);
    EXPECT_LE(worst, narrow ? 1e-5 : 1e-12)
        << a[where] << ", " << b[where] << ", " << x[where] << (narrow ? ", f32" : ", f64");
  }
}

TEST(Betainc, EndsAreThoseOfTheDistribution) {
  const std::vector<double> a{1, 1, 0, 2, 0, -1, 2, 2, inf, 2, 2},
      b{2, 2, 2, 0, 0, 2, 2, 2, 3, inf, 3}, x{0, 1, 0.5, 0.5, 0.5, 0.5, -0.1, 1.1, 0.5, 0.5, quiet},
      want{0, 1, 1, 0, quiet, quiet, quiet, quiet, 0, 1, quiet};
  for (const bool narrow : {false, true}) {
    const std::vector<double> got = narrow ? run_f32(betainc, a, b, x) : run(betainc, a, b, x);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(want[i]))
        EXPECT_TRUE(std::isnan(got[i])) << i;
      else
        EXPECT_EQ(got[i], want[i]) << i;
    }
  }
}

}  // namespace
}  // namespace gnomon::math
