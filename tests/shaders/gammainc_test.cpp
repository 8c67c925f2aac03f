// tests/shaders/gammainc_test.cpp -- the incomplete gamma functions and their derivatives against
// power series of MPFR, through the interpreter.
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

/// Enough digits that 1 - P still has some where Q is 1e-290.
constexpr mpfr_prec_t precision = 1200;

class Number {
 public:
  Number() { mpfr_init2(value_, precision); }
  explicit Number(double x) : Number() { mpfr_set_d(value_, x, MPFR_RNDN); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  operator mpfr_ptr() { return value_; }
  double number() { return mpfr_get_d(value_, MPFR_RNDN); }

 private:
  mpfr_t value_;
};

/// P(a, x) = x^a e^-x / gamma(a + 1) (1 + x / (a + 1) + ...).
void exact_lower(mpfr_ptr y, mpfr_ptr a, mpfr_ptr x) {
  Number term(1), sum(1), k, weight;
  mpfr_set(k, a, MPFR_RNDN);
  do {
    mpfr_add_ui(k, k, 1, MPFR_RNDN);
    mpfr_mul(term, term, x, MPFR_RNDN);
    mpfr_div(term, term, k, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  } while (mpfr_get_exp(term) > mpfr_get_exp(sum) - static_cast<mpfr_exp_t>(precision));
  mpfr_pow(weight, x, a, MPFR_RNDN);
  mpfr_neg(term, x, MPFR_RNDN);
  mpfr_exp(term, term, MPFR_RNDN);
  mpfr_mul(weight, weight, term, MPFR_RNDN);
  mpfr_add_ui(k, a, 1, MPFR_RNDN);
  mpfr_gamma(k, k, MPFR_RNDN);
  mpfr_div(weight, weight, k, MPFR_RNDN);
  mpfr_mul(y, sum, weight, MPFR_RNDN);
}

struct Exact {
  double lower, upper, derivative, density;
};

Exact exact(double a, double x) {
  Number na(a), nx(x), p, q, above, below, h, g;
  exact_lower(p, na, nx);
  mpfr_ui_sub(q, 1, p, MPFR_RNDN);
  // Central differences, exact to half of the digits.
  mpfr_set_ui_2exp(h, 1, -300 + static_cast<mpfr_exp_t>(std::ilogb(a)), MPFR_RNDN);
  mpfr_add(above, na, h, MPFR_RNDN);
  mpfr_sub(below, na, h, MPFR_RNDN);
  exact_lower(g, above, nx);
  exact_lower(above, below, nx);
  mpfr_sub(g, g, above, MPFR_RNDN);
  mpfr_div(g, g, h, MPFR_RNDN);
  mpfr_div_ui(g, g, 2, MPFR_RNDN);
  Number d, e;
  mpfr_sub_ui(d, na, 1, MPFR_RNDN);
  mpfr_pow(d, nx, d, MPFR_RNDN);
  mpfr_neg(e, nx, MPFR_RNDN);
  mpfr_exp(e, e, MPFR_RNDN);
  mpfr_mul(d, d, e, MPFR_RNDN);
  mpfr_gamma(e, na, MPFR_RNDN);
  mpfr_div(d, d, e, MPFR_RNDN);
  return {p.number(), q.number(), g.number(), d.number()};
}

struct Pairs {
  std::vector<double> a, x;
  std::vector<Exact> exact;
};

/// Arguments in every region and at its borders; numbers of f32.
const Pairs& pairs() {
  static const Pairs all = [] {
    Pairs r;
    std::mt19937 random(7);
    std::uniform_real_distribution<double> unit(0, 1);
    const auto add = [&](double a, double x) {
      if (!(a > 0 && x > 0 && x < 3000)) return;
      r.a.push_back(static_cast<float>(a)), r.x.push_back(static_cast<float>(x));
    };
    for (int i = 0; i < 220; ++i) {
      const double a = std::exp(unit(random) * 14 - 6.5);  // 0.0015 ... 1800
      add(a, a * (1 + 4 * (unit(random) - 0.5) / std::sqrt(a)));
      add(a, a * std::exp(3 * (unit(random) - 0.5)));
      add(a, 1.1 * unit(random));
      add(a, std::exp(-20 * unit(random)));
    }
    for (const double a :
         {1e-6, 0.3, 0.5, 1.0, 1.1, 1.21, 2.0, 3.0, 10.0, 19.99, 20.0, 20.01, 100.0, 1000.0})
      for (const double x : {0.1, 0.2, 0.5, 0.51, 1.0, 1.1, 1.11, 0.5 * a, 0.51 * a, 0.999 * a, a,
                             1.001 * a, 1.99 * a, 2 * a, 2.5 * a})
        add(a, x);
    for (std::size_t i = 0; i < r.a.size(); ++i) r.exact.push_back(exact(r.a[i], r.x[i]));
    return r;
  }();
  return all;
}

using Function = Value (*)(Builder&, Value, Value);

/// The worst relative error where the exact value is at least `least`.
double worst_error(Function f, double Exact::*member, bool narrow, double least,
                   std::string& where) {
  const Pairs& p = pairs();
  const std::vector<double> y = narrow ? run_f32(f, p.a, p.x) : run(f, p.a, p.x);
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double want = p.exact[i].*member;
    if (std::fabs(want) < least) continue;
    const double e = std::fabs(y[i] / want - 1);
    if (e <= worst) continue;
    worst = e;
    where = "(" + std::to_string(p.a[i]) + ", " + std::to_string(p.x[i]) +
            ") = " + std::to_string(y[i]) + ", not " + std::to_string(want);
  }
  return worst;
}

TEST(Gammainc, IsAccurateInEveryRegion) {
  const struct {
    const char* name;
    Function f;
    double Exact::*member;
    double wide, narrow;
  } cases[] = {
      {"P", gammainc, &Exact::lower, 1e-12, 1e-5},
      {"Q", gammaincc, &Exact::upper, 1e-12, 1e-5},
      {"dP/da", gammainc_da, &Exact::derivative, 1e-11, 1e-4},
      {"dP/dx", gamma_density, &Exact::density, 1e-12, 1e-5},
  };
  for (const auto& c : cases) {
    for (const bool narrow : {false, true}) {
      std::string where;
      const double e = worst_error(c.f, c.member, narrow, narrow ? 1e-36 : 1e-250, where);
      RecordProperty(std::string(c.name) + (narrow ? " f32" : " f64"),
                     std::to_string(e * (narrow ? 1e7 : 1e16)));
      EXPECT_LE(e, narrow ? c.narrow : c.wide) << c.name << where << (narrow ? ", f32" : ", f64");
    }
  }
}

TEST(Gammainc, EndsAreThoseOfScipy) {
  const std::vector<double> a{0, 0, 1, 1, inf, inf, -1, 1, quiet, 2, 1e30, 1e30},
      x{0, 2, 0, inf, 3, inf, 1, -1, 1, quiet, 2e30, 5e29},
      lower{quiet, 1, 0, 1, 0, quiet, quiet, quiet, quiet, quiet, 1, 0};
  for (const bool narrow : {false, true}) {
    const std::vector<double> p = narrow ? run_f32(gammainc, a, x) : run(gammainc, a, x),
                              q = narrow ? run_f32(gammaincc, a, x) : run(gammaincc, a, x);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(lower[i])) {
        EXPECT_TRUE(std::isnan(p[i]) && std::isnan(q[i])) << a[i] << ", " << x[i];
      } else {
        EXPECT_EQ(p[i], lower[i]) << a[i] << ", " << x[i];
        EXPECT_EQ(q[i], 1 - lower[i]) << a[i] << ", " << x[i];
      }
    }
  }
}

TEST(Gammainc, DensityAtZeroDependsOnTheShape) {
  EXPECT_EQ(run(gamma_density, {0.5, 1, 2}, {0, 0, 0}), (std::vector<double>{inf, 1, 0}));
  EXPECT_EQ(run(gammainc_da, {0.5, 2}, {0, inf}), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace gnomon::math
