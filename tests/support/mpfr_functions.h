// tests/support/mpfr_functions.h -- functions that MPFR itself does not have, to its precision.
#pragma once
#include <mpfr.h>

#include <cmath>
#include <initializer_list>

#include "tests/support/long_functions.h"

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
  const double at = mpfr_get_d(x, MPFR_RNDN), a = std::fabs(at);
  if (!(a < 1)) {
    mpfr_set_d(y, at / (1 - a) * (a == 1 ? 1 : NAN), r);
    return 0;
  }
  if (a == 0) return mpfr_set(y, x, r);
  mpfr_t target, guess, e, slope;
  for (mpfr_ptr v : {&target[0], &guess[0], &e[0], &slope[0]}) mpfr_init2(v, mpfr_get_prec(y) + 64);
  const bool central = a < 0.5;
  mpfr_abs(target, x, r);
  if (!central) mpfr_ui_sub(target, 1, target, r);
  mpfr_set_ld(guess, long_erf_inv(a), r);
  for (int step = 0; step < 10; ++step) {
    if (central) {
      mpfr_erf(e, guess, r);
      mpfr_sub(e, target, e, r);
    } else {
      mpfr_erfc(e, guess, r);
      mpfr_sub(e, e, target, r);
    }
    // Over the derivative, 2 / sqrt(pi) e^-guess^2.
    mpfr_sqr(slope, guess, r);
    mpfr_exp(slope, slope, r);
    mpfr_mul(e, e, slope, r);
    mpfr_const_pi(slope, r);
    mpfr_sqrt(slope, slope, r);
    mpfr_div_ui(slope, slope, 2, r);
    mpfr_mul(e, e, slope, r);
    mpfr_add(guess, guess, e, r);
    if (mpfr_zero_p(e) || mpfr_get_exp(e) < mpfr_get_exp(guess) - 90) break;
  }
  mpfr_setsign(y, guess, std::signbit(at), r);
  for (mpfr_ptr v : {&target[0], &guess[0], &e[0], &slope[0]}) mpfr_clear(v);
  return 0;
}

/// e^-|x| I(x) of order 0 or 1. Source: NIST Digital Library of Mathematical Functions, 10.25.2,
/// and 10.40.1 where the smallest term of that is below all digits.
template <int order>
int exact_scaled_bessel(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  const mpfr_prec_t digits = mpfr_get_prec(y) + 40;
  const double size = std::fabs(mpfr_get_d(x, r));
  if (size == 0 || !(size < INFINITY)) {
    if (size != size)
      mpfr_set_nan(y);
    else if (size == 0 && order == 0)
      mpfr_set_ui(y, 1, r);
    else
      mpfr_set_zero(y, order == 1 && mpfr_signbit(x) != 0 ? -1 : 1);
    return 0;
  }
  mpfr_t a, z, term, sum, scale;
  for (mpfr_ptr v : {&a[0], &z[0], &term[0], &sum[0], &scale[0]}) mpfr_init2(v, digits);
  mpfr_abs(a, x, r);
  const auto adds = [&] {
    return mpfr_zero_p(term) == 0 && mpfr_get_exp(term) > mpfr_get_exp(sum) - digits;
  };
  if (size < 100) {
    mpfr_sqr(z, a, r);
    mpfr_div_ui(z, z, 4, r);
    mpfr_set_ui(term, 1, r);
    if (order == 1) mpfr_div_ui(term, a, 2, r);
    mpfr_set(sum, term, r);
    for (unsigned long k = 1; adds(); ++k) {
      mpfr_mul(term, term, z, r);
      mpfr_div_ui(term, term, k, r);
      mpfr_div_ui(term, term, k + order, r);
      mpfr_add(sum, sum, term, r);
    }
    mpfr_neg(scale, a, r);
    mpfr_exp(scale, scale, r);
  } else {
    mpfr_set_ui(term, 1, r);
    mpfr_set(sum, term, r);
    for (long k = 1; adds(); ++k) {
      mpfr_mul_si(term, term, (2 * k - 1) * (2 * k - 1) - 4 * order, r);
      mpfr_div(term, term, a, r);
      mpfr_div_si(term, term, 8 * k, r);
      mpfr_add(sum, sum, term, r);
    }
    mpfr_const_pi(scale, r);
    mpfr_mul(scale, scale, a, r);
    mpfr_mul_ui(scale, scale, 2, r);
    mpfr_rec_sqrt(scale, scale, r);
  }
  mpfr_mul(y, sum, scale, r);
  if (order == 1) mpfr_copysign(y, y, x, r);
  for (mpfr_ptr v : {&a[0], &z[0], &term[0], &sum[0], &scale[0]}) mpfr_clear(v);
  return 0;
}

}  // namespace gnomon::testing
