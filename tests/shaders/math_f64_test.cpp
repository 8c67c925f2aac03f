// tests/shaders/math_f64_test.cpp -- f64 elementary functions against MPFR, through the
// interpreter.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "shaders/interpret/interpret.h"
#include "shaders/math/elementary.h"
#include "tests/shaders/math_testing.h"
#include "tests/support/mpfr_functions.h"

namespace gnomon::math {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double quiet = std::numeric_limits<double>::quiet_NaN();

using testing::exact_erf_inv;
using testing::exact_logistic;
using testing::exact_rsqrt;

struct Case {
  const char* name;
  Value (*f)(Builder&, Value);
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  double low, high;
  double bound;  // units of the last place
};

constexpr Case cases[] = {
    {"exp", exp, mpfr_exp, -746, 710, 1},
    {"exp2", exp2, mpfr_exp2, -1076, 1025, 1},
    {"expm1", expm1, mpfr_expm1, -50, 710, 1},
    {"expm1 near 0", expm1, mpfr_expm1, -1, 1, 1},
    {"log", log, mpfr_log, 0, 1.7e308, 1},
    {"log near 1", log, mpfr_log, 0.5, 2, 1},
    {"log2", log2, mpfr_log2, 0, 1.7e308, 1},
    {"log2 near 1", log2, mpfr_log2, 0.5, 2, 1},
    {"log10", log10, mpfr_log10, 0, 1.7e308, 1},
    {"log10 near 1", log10, mpfr_log10, 0.5, 2, 1},
    {"log1p", log1p, mpfr_log1p, -1, 1.7e308, 1},
    {"log1p near 0", log1p, mpfr_log1p, -0.7, 0.7, 1},
    {"rsqrt", rsqrt, exact_rsqrt, 0, 1.7e308, 1.5},
    {"cbrt", cbrt, mpfr_cbrt, -1.7e308, 1.7e308, 1},
    {"sin", sin, mpfr_sin, -10, 10, 1},
    {"sin of large arguments", sin, mpfr_sin, -1.7e308, 1.7e308, 1},
    {"cos", cos, mpfr_cos, -10, 10, 1},
    {"cos of large arguments", cos, mpfr_cos, -1.7e308, 1.7e308, 1},
    {"tan", tan, mpfr_tan, -10, 10, 1.5},
    {"tan of large arguments", tan, mpfr_tan, -1.7e308, 1.7e308, 1.5},
    {"asin", asin, mpfr_asin, -1, 1, 1},
    {"acos", acos, mpfr_acos, -1, 1, 1},
    {"atan", atan, mpfr_atan, -1.7e308, 1.7e308, 1},
    {"atan near 1", atan, mpfr_atan, -3, 3, 1},
    {"sinh", sinh, mpfr_sinh, -711, 711, 1},
    {"sinh near 1", sinh, mpfr_sinh, -2, 2, 1},
    {"cosh", cosh, mpfr_cosh, -711, 711, 1.25},
    {"cosh near 1", cosh, mpfr_cosh, -2, 2, 1.25},
    {"tanh", tanh, mpfr_tanh, -23, 23, 1},
    {"asinh", asinh, mpfr_asinh, -1.7e308, 1.7e308, 1.5},
    {"asinh near 1", asinh, mpfr_asinh, -4, 4, 1.5},
    {"acosh", acosh, mpfr_acosh, 1, 1.7e308, 1.5},
    {"acosh near 1", acosh, mpfr_acosh, 1, 3, 1.5},
    {"atanh", atanh, mpfr_atanh, -1, 1, 1},
    {"logistic", logistic, exact_logistic, -746, 746, 1.5},
    {"erf", erf, mpfr_erf, -6, 6, 1.25},
    {"erfc", erfc, mpfr_erfc, -6, 28, 1.25},
    {"erfc near 1", erfc, mpfr_erfc, 0, 2, 1.25},
    {"erf_inv", erf_inv, exact_erf_inv, -1, 1, 1.5},
    {"erf_inv near 0", erf_inv, exact_erf_inv, -0.6, 0.6, 1.5},
};

TEST(MathF64, StaysWithinTwoUnits) {
  for (const Case& c : cases) {
    const std::vector<double> x = arguments(c.low, c.high, 2500);
    const std::vector<double> y = run(c.f, x);
    double worst = 0, where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double e = units(y[i], c.exact, x[i]);
      if (!(e <= worst)) worst = e, where = x[i];
    }
    RecordProperty(c.name, std::to_string(worst));
    EXPECT_LE(worst, c.bound) << c.name << " at " << where;
  }
}

TEST(MathF64, ReducesTheWorstArguments) {
  // The doubles that come nearest to multiples of pi / 2, and others known to be hard.
  const std::vector<double> x = hard_angles();
  for (const Case& c : {Case{"sin", sin, mpfr_sin, 0, 0, 1}, Case{"cos", cos, mpfr_cos, 0, 0, 1},
                        Case{"tan", tan, mpfr_tan, 0, 0, 1.5}}) {
    const std::vector<double> y = run(c.f, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(units(y[i], c.exact, x[i]), c.bound) << c.name << "(" << x[i] << ")";
    }
  }
}

TEST(MathF64, SpecialValuesAreThoseOfC) {
  const std::vector<double> x{0.0,
                              -0.0,
                              inf,
                              -inf,
                              quiet,
                              1.0,
                              -1.0,
                              1e300,
                              -1e300,
                              2.0,
                              -2.0,
                              0.5,
                              -0.5,
                              100.0,
                              -2000.0,
                              5e-324,
                              -5e-324,
                              1e-310,
                              1e-20,
                              -1e-20,
                              3.0,
                              1e22,
                              2.2250738585072014e-308};
  for (const Case& c : cases) {
    const std::vector<double> y = run(c.f, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(units(y[i], c.exact, x[i]), 2) << c.name << "(" << x[i] << ") = " << y[i];
    }
  }
}

TEST(MathF64, PowersOfTwoAndTenAreExact) {
  const std::vector<double> tens = run(log10, {1, 10, 100, 1e3, 1e4, 1e10, 1e15, 1e22});
  EXPECT_EQ(tens, (std::vector<double>{0, 1, 2, 3, 4, 10, 15, 22}));
  EXPECT_EQ(run(log2, {0x1p-1074, 0x1p-3, 1, 0x1p1023}), (std::vector<double>{-1074, -3, 0, 1023}));
  EXPECT_EQ(run(exp2, {-1074, -3, 0, 1023}), (std::vector<double>{0x1p-1074, 0.125, 1, 0x1p1023}));
  EXPECT_EQ(run(cbrt, {27, -8, 1e-300}), (std::vector<double>{3, -2, 1e-100}));
}

using Exact2 = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

void expect_pairs(const char* name, Value (*f)(Builder&, Value, Value), Exact2 exact,
                  const std::vector<double>& x, const std::vector<double>& y, double bound) {
  const std::vector<double> z = run(f, x, y);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double e = units(z[i], exact, x[i], y[i]);
    if (!(e <= worst)) worst = e, at = i;
  }
  ::testing::Test::RecordProperty(name, std::to_string(worst));
  EXPECT_LE(worst, bound) << name << "(" << x[at] << ", " << y[at] << ") = " << z[at];
}

TEST(MathF64, PairsStayWithinTwoUnits) {
  std::vector<double> x, y;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 6000; ++i) {
    // x^y between 2^-1100 and 2^1040, bases near 1 as often as others.
    const double e = i % 2 != 0 ? unit(random) * 2000 - 1000 : std::exp2(-50 * unit(random));
    const double base = std::exp2(e), logarithm = std::log2(base);
    if (logarithm == 0) continue;
    x.push_back(base);
    y.push_back((unit(random) * 2140 - 1100) / logarithm);
    x.push_back(-std::floor(std::exp2(unit(random) * 12)));
    y.push_back(std::floor(unit(random) * 120 - 60));
  }
  expect_pairs("pow", pow, mpfr_pow, x, y, 1.25);
  x.clear(), y.clear();
  for (int i = 0; i < 6000; ++i) {
    const double scale = std::exp2(unit(random) * 2000 - 1000);
    x.push_back(scale * (unit(random) - 0.5));
    y.push_back(scale * (unit(random) - 0.5) * std::exp2(-60 * (i % 3) * unit(random)));
  }
  expect_pairs("atan2", atan2, mpfr_atan2, x, y, 1);
  x.clear(), y.clear();
  const double special[] = {0.0,  -0.0,  1.0,    -1.0, 2.0,      -2.0,
                            0.5,  -0.5,  inf,    -inf, quiet,    3.0,
                            -3.0, 1e300, 5e-324, 2.5,  1e16 + 2, 9007199254740993.0};
  for (const double a : special) {
    for (const double b : special) x.push_back(a), y.push_back(b);
  }
  expect_pairs("pow of special values", pow, mpfr_pow, x, y, 1.25);
  expect_pairs("atan2 of special values", atan2, mpfr_atan2, x, y, 1.25);
}

}  // namespace
}  // namespace gnomon::math
