// tests/support/mpfr_functions.h -- functions that MPFR itself does not have, to its precision.
#pragma once
#include <mpfr.h>

#include <cmath>
#include <initializer_list>

namespace gnomon::testing {

inline int exact_rsqrt(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_sqrt(y, x, r);
  return mpfr_ui_div(y, 1, y, r);
}

inline int exact_logistic(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_neg(y, x, r);
  mpfr_exp(y, y, r);
  mpfr_add_ui(y, y, 1, r);
  return mpfr_ui_div(y, 1, y, r);
}

inline int exact_lgamma(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  int sign = 0;
  return mpfr_lgamma(y, &sign, x, r);
}

/// Poles as SciPy has them.
inline int exact_digamma(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  if (mpfr_zero_p(x) == 0) return mpfr_digamma(y, x, r);
  mpfr_set_inf(y, mpfr_signbit(x) != 0 ? 1 : -1);
  return 0;
}

/// Newton's method on erf, or on erfc where erf has no digits left.
inline int exact_erf_inv(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  const double a = std::fabs(mpfr_get_d(x, MPFR_RNDN));
  if (!(a < 1)) {
    mpfr_set_d(y, mpfr_get_d(x, MPFR_RNDN) / (1 - a) * (a == 1 ? 1 : NAN), r);
    return 0;
  }
  if (a == 0) return mpfr_set(y, x, r);
  mpfr_t rest, e, guess;
  for (mpfr_ptr v : {&rest[0], &e[0], &guess[0]}) mpfr_init2(v, mpfr_get_prec(y) + 64);
  mpfr_d_sub(rest, 1, x, r);
  mpfr_set_d(guess, a, r);
  mpfr_ui_sub(rest, 1, guess, r);  // 1 - a
  double start = a * 0.886;
  if (a > 0.7) start = std::sqrt(-std::log((1 - a) * (1 + a)));
  mpfr_set_d(guess, start, r);
  for (int step = 0; step < 60; ++step) {
    mpfr_erfc(e, guess, r);
    if (a < 0.5) {
      mpfr_erf(e, guess, r);
      mpfr_t target;
      mpfr_init2(target, mpfr_get_prec(y) + 64);
      mpfr_abs(target, x, r);
      mpfr_sub(e, target, e, r);
      mpfr_clear(target);
    } else {
      mpfr_sub(e, e, rest, r);
    }
    mpfr_t slope;
    mpfr_init2(slope, mpfr_get_prec(y));
    mpfr_sqr(slope, guess, r);
    mpfr_exp(slope, slope, r);
    mpfr_mul(e, e, slope, r);
    mpfr_const_pi(slope, r);
    mpfr_sqrt(slope, slope, r);
    mpfr_div_ui(slope, slope, 2, r);
    mpfr_mul(e, e, slope, r);
    mpfr_clear(slope);
    mpfr_add(guess, guess, e, r);
    if (mpfr_zero_p(e) || mpfr_get_exp(e) < mpfr_get_exp(guess) - 90) break;
  }
  mpfr_setsign(y, guess, std::signbit(mpfr_get_d(x, MPFR_RNDN)), r);
  for (mpfr_ptr v : {&rest[0], &e[0], &guess[0]}) mpfr_clear(v);
  return 0;
}

}  // namespace gnomon::testing
