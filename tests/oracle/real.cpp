// tests/oracle/real.cpp -- see real.h.
#include "real.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/mpfr_functions.h"

namespace oracle {

mpfr_prec_t Real::digits = 320;

namespace {

constexpr mpfr_rnd_t nearest = MPFR_RNDN;
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class F>
Real of(F f, const Real& x) {
  Real y;
  f(y.get(), x.get(), nearest);
  return y;
}
template <class F>
Real of(F f, const Real& a, const Real& b) {
  Real y;
  f(y.get(), a.get(), b.get(), nearest);
  return y;
}
Real not_a_number() { return std::numeric_limits<long double>::quiet_NaN(); }

/// More digits while it lives.
class Digits {
 public:
  explicit Digits(mpfr_prec_t digits) : before_(Real::digits) { Real::digits = digits; }
  ~Digits() { Real::digits = before_; }
  Digits(const Digits&) = delete;
  Digits& operator=(const Digits&) = delete;

 private:
  mpfr_prec_t before_;
};

/// Whether a term still counts in a sum.
bool counts(const Real& term, const Real& sum) {
  return !term.zero() && (sum.zero() || term.exponent() > sum.exponent() - Real::digits);
}

/// B(2k) / (2k)! from zeta(2k), to 400 digits, remembered.
const Real& bernoulli_over_factorial(long k) {
  static std::vector<Real> known;
  const Digits many(400);
  while (static_cast<long>(known.size()) < k) {
    const auto n = static_cast<unsigned long>(known.size()) + 1;
    Real zeta, circle = 1;
    mpfr_zeta_ui(zeta.get(), 2 * n, nearest);
    for (unsigned long i = 0; i < n; ++i) circle *= square(pi() * Real(2));
    known.push_back(Real(n % 2 == 1 ? 2 : -2) * zeta / circle);
  }
  return known[static_cast<std::size_t>(k - 1)];
}

}  // namespace

Real operator+(const Real& a, const Real& b) { return of(mpfr_add, a, b); }
Real operator-(const Real& a, const Real& b) { return of(mpfr_sub, a, b); }
Real operator*(const Real& a, const Real& b) { return of(mpfr_mul, a, b); }
Real operator/(const Real& a, const Real& b) { return of(mpfr_div, a, b); }
Real operator-(const Real& x) { return of(mpfr_neg, x); }
bool operator<(const Real& a, const Real& b) { return mpfr_less_p(a.get(), b.get()) != 0; }
bool operator<=(const Real& a, const Real& b) { return mpfr_lessequal_p(a.get(), b.get()) != 0; }
bool operator==(const Real& a, const Real& b) { return mpfr_equal_p(a.get(), b.get()) != 0; }

#define GNOMON_ORACLE(name, function) \
  Real name(const Real& x) { return of(function, x); }
GNOMON_ORACLE(exp, mpfr_exp)
GNOMON_ORACLE(exp2, mpfr_exp2)
GNOMON_ORACLE(expm1, mpfr_expm1)
GNOMON_ORACLE(log, mpfr_log)
GNOMON_ORACLE(log2, mpfr_log2)
GNOMON_ORACLE(log10, mpfr_log10)
GNOMON_ORACLE(log1p, mpfr_log1p)
GNOMON_ORACLE(sqrt, mpfr_sqrt)
GNOMON_ORACLE(cbrt, mpfr_cbrt)
GNOMON_ORACLE(sin, mpfr_sin)
GNOMON_ORACLE(cos, mpfr_cos)
GNOMON_ORACLE(tan, mpfr_tan)
GNOMON_ORACLE(asin, mpfr_asin)
GNOMON_ORACLE(acos, mpfr_acos)
GNOMON_ORACLE(atan, mpfr_atan)
GNOMON_ORACLE(sinh, mpfr_sinh)
GNOMON_ORACLE(cosh, mpfr_cosh)
GNOMON_ORACLE(tanh, mpfr_tanh)
GNOMON_ORACLE(asinh, mpfr_asinh)
GNOMON_ORACLE(acosh, mpfr_acosh)
GNOMON_ORACLE(atanh, mpfr_atanh)
GNOMON_ORACLE(erf, mpfr_erf)
GNOMON_ORACLE(erfc, mpfr_erfc)
GNOMON_ORACLE(abs, mpfr_abs)
GNOMON_ORACLE(cospi, mpfr_cospi)
GNOMON_ORACLE(sinpi, mpfr_sinpi)
GNOMON_ORACLE(square, mpfr_sqr)
GNOMON_ORACLE(negative, mpfr_neg)
GNOMON_ORACLE(erfinv, gnomon::testing::exact_erf_inv)
GNOMON_ORACLE(lgamma, gnomon::testing::exact_lgamma)
GNOMON_ORACLE(digamma, gnomon::testing::exact_digamma)
GNOMON_ORACLE(i0e, gnomon::testing::exact_scaled_bessel<0>)
GNOMON_ORACLE(i1e, gnomon::testing::exact_scaled_bessel<1>)
#undef GNOMON_ORACLE

Real rsqrt(const Real& x) { return Real(1) / sqrt(x); }
Real reciprocal(const Real& x) { return Real(1) / x; }
Real sigmoid(const Real& x) { return Real(1) / (Real(1) + exp(-x)); }
Real softplus(const Real& x) { return x > Real(0) ? x + log1p(exp(-x)) : log1p(exp(x)); }
Real pow(const Real& a, const Real& b) { return of(mpfr_pow, a, b); }
Real atan2(const Real& y, const Real& x) { return of(mpfr_atan2, y, x); }
Real hypot(const Real& a, const Real& b) { return of(mpfr_hypot, a, b); }
Real logaddexp(const Real& a, const Real& b) {
  if (a.nan() || b.nan()) return a + b;
  const Real& most = a < b ? b : a;
  return most.finite() ? most + log1p(exp(a < b ? a - b : b - a)) : most;
}
Real pi() {
  Real y;
  mpfr_const_pi(y.get(), nearest);
  return y;
}
Real power_of_two(long n) {
  Real y;
  mpfr_set_si_2exp(y.get(), 1, n, nearest);
  return y;
}
Real floor_of_quotient(const Real& a, const Real& b) {
  if (a.zero()) return a;
  // Rounded downwards to a number that has all digits in front of the point, which is not below the
  // integer.
  const Digits whole(std::max(a.exponent() - b.exponent(), 0L) + 64);
  Real q;
  mpfr_div(q.get(), a.get(), b.get(), MPFR_RNDD);
  mpfr_floor(q.get(), q.get());
  return q;
}
Real sinc(const Real& x) { return x.zero() ? Real(1) : sinpi(x) / (pi() * x); }

Real larger(const Real& a, const Real& b) {
  if (a.nan() || b.nan()) return a + b;
  return a < b ? b : a;
}
Real smaller(const Real& a, const Real& b) {
  if (a.nan() || b.nan()) return a + b;
  return b < a ? b : a;
}
Real above_zero(const Real& x, const Real& a, const Real& b) {
  if (x.nan()) return x;
  return x > Real(0) ? a : b;
}

Real i0(const Real& x) { return x.finite() ? i0e(x) * exp(abs(x)) : abs(x); }
Real i1(const Real& x) { return x.finite() ? i1e(x) * exp(abs(x)) : x; }

Real polygamma(int n, const Real& x) {
  if (n == 0) return digamma(x);
  if (x.nan()) return x;
  if (!x.finite()) return x > Real(0) ? Real(n % 2 == 1 ? 0.0 : -0.0) : not_a_number();
  Real whole;
  mpfr_rint(whole.get(), x.get(), MPFR_RNDD);
  // Terms of the sum up to the positive numbers: too many.
  if (x < Real(-300)) return not_a_number();
  if (x <= Real(0) && whole == x) return n % 2 == 1 ? Real(infinity) : not_a_number();
  // zeta(s, x) = sum of (x + k)^-s; the tail by Euler and Maclaurin from where it converges fast.
  const long s = n + 1;
  const auto term = [&](const Real& at) {
    Real y;
    mpfr_pow_si(y.get(), at.get(), -s, nearest);
    return y;
  };
  const auto far = static_cast<double>(Real::digits) / 4 + s;
  Real at = x, sum = 0;
  while (at < Real(far)) {
    sum += term(at);
    at += Real(1);
  }
  Real power = term(at);
  sum += power * at / Real(s - 1) + power / Real(2);
  // B(2k) / (2k)! s (s + 1) ... (s + 2k - 2) at^(-s - 2k + 1).
  Real rising = s;
  power = power / at;
  for (long k = 1; k < 400; ++k) {
    const Real piece = bernoulli_over_factorial(k) * rising * power;
    if (!counts(piece, sum)) break;
    sum += piece;
    rising *= Real(s + 2 * k - 1) * Real(s + 2 * k);
    power = power / square(at);
  }
  Real factorial;
  mpfr_fac_ui(factorial.get(), static_cast<unsigned long>(n), nearest);
  return (n % 2 == 1 ? factorial : -factorial) * sum;
}

namespace {
Real gamma_part(const Real& a, const Real& x, bool lower) {
  if (a.nan() || x.nan() || a < Real(0) || x < Real(0)) return not_a_number();
  if (a.zero() && x.zero()) return not_a_number();
  if (!a.finite() || !x.finite()) {
    if (!a.finite() && !x.finite()) return not_a_number();
    return Real(a.finite() == lower ? 1 : 0);
  }
  if (a.zero()) return Real(lower ? 1 : 0);
  if (x.zero()) return Real(lower ? 0 : 1);
  // Q is a difference from 1: as many digits more as e^-x takes away.
  const auto size = static_cast<mpfr_prec_t>(1.5 * x.number() + 64);
  const Digits more(Real::digits + size);
  Real term = 1, sum = 1, next = a;
  do {
    next += Real(1);
    term *= x / next;
    sum += term;
  } while (counts(term, sum));
  Real gamma;
  mpfr_gamma(gamma.get(), (a + Real(1)).get(), nearest);
  const Real p = pow(x, a) * exp(-x) / gamma * sum;
  return lower ? p : Real(1) - p;
}
}  // namespace

Real gammainc(const Real& a, const Real& x) { return gamma_part(a, x, true); }
Real gammaincc(const Real& a, const Real& x) { return gamma_part(a, x, false); }

Real betaln(const Real& a, const Real& b) {
  if (a.nan() || b.nan()) return a + b;
  const Digits more(Real::digits + 64);
  Real x, y, z;
  int sign = 0;
  mpfr_lgamma(x.get(), &sign, a.get(), nearest);
  mpfr_lgamma(y.get(), &sign, b.get(), nearest);
  mpfr_lgamma(z.get(), &sign, (a + b).get(), nearest);
  return x + y - z;
}

Real betainc(const Real& a, const Real& b, const Real& x) {
  const bool inside = a >= Real(0) && b >= Real(0) && x >= Real(0) && x <= Real(1);
  if (!inside || (a.zero() && b.zero())) return not_a_number();
  if (a.zero() || b.zero()) {
    if (x.zero() || x == Real(1)) return x;
    return Real(a.zero() ? 1 : 0);
  }
  if (x.zero() || x == Real(1)) return x;
  const Digits more(Real::digits + static_cast<mpfr_prec_t>(4 * (a + b).number()) + 64);
  // The series converges like x^n.
  if (x > Real(0.5)) return Real(1) - betainc(b, a, Real(1) - x);
  Real term = 1, sum = 1;
  for (long n = 0; counts(term, sum); ++n) {
    term *= x * (a + b + Real(n)) / (a + Real(n + 1));
    sum += term;
  }
  return pow(x, a) * pow(Real(1) - x, b) * exp(-betaln(a, b)) / a * sum;
}

}  // namespace oracle
