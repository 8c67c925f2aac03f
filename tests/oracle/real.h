// tests/oracle/real.h -- Real: MPFR numbers written like any others, so that the exact value of an
// operation is an expression.
#pragma once
#include <mpfr.h>

namespace oracle {

/// A number of `digits` binary digits, correctly rounded after every operation.
class Real {
 public:
  /// What new numbers have.
  static mpfr_prec_t digits;

  Real() : Real(0.0L) {}
  Real(long double x) {  // NOLINT: implicit, as numbers are
    mpfr_init2(v_, digits);
    mpfr_set_ld(v_, x, MPFR_RNDN);
  }
  Real(double x) : Real(static_cast<long double>(x)) {}  // NOLINT
  Real(int x) : Real(static_cast<long double>(x)) {}     // NOLINT
  Real(long x) : Real(static_cast<long double>(x)) {}    // NOLINT
  Real(const Real& o) {
    mpfr_init2(v_, digits);
    mpfr_set(v_, o.v_, MPFR_RNDN);
  }
  Real(Real&& o) noexcept {
    mpfr_init2(v_, MPFR_PREC_MIN);
    mpfr_swap(v_, o.v_);
  }
  Real& operator=(Real o) noexcept {
    mpfr_swap(v_, o.v_);
    return *this;
  }
  ~Real() { mpfr_clear(v_); }

  mpfr_ptr get() { return v_; }
  mpfr_srcptr get() const { return v_; }
  double number() const { return mpfr_get_d(v_, MPFR_RNDN); }
  bool nan() const { return mpfr_nan_p(v_) != 0; }
  bool finite() const { return mpfr_number_p(v_) != 0; }
  bool zero() const { return mpfr_zero_p(v_) != 0; }
  bool negative() const { return mpfr_signbit(v_) != 0; }
  /// e with 2^e <= |x| < 2^(e+1); of finite numbers but 0.
  long exponent() const { return static_cast<long>(mpfr_get_exp(v_)) - 1; }

 private:
  mpfr_t v_;
};

Real operator+(const Real&, const Real&);
Real operator-(const Real&, const Real&);
Real operator*(const Real&, const Real&);
Real operator/(const Real&, const Real&);
Real operator-(const Real&);
bool operator<(const Real&, const Real&);
bool operator<=(const Real&, const Real&);
bool operator==(const Real&, const Real&);
inline bool operator>(const Real& a, const Real& b) { return b < a; }
inline bool operator>=(const Real& a, const Real& b) { return b <= a; }
inline Real& operator+=(Real& a, const Real& b) { return a = a + b; }
inline Real& operator*=(Real& a, const Real& b) { return a = a * b; }

// Under their names in the library, which are not always MPFR's.
Real exp(const Real&);
Real exp2(const Real&);
Real expm1(const Real&);
Real log(const Real&);
Real log2(const Real&);
Real log10(const Real&);
Real log1p(const Real&);
Real sqrt(const Real&);
Real rsqrt(const Real&);
Real cbrt(const Real&);
Real sin(const Real&);
Real cos(const Real&);
Real tan(const Real&);
Real asin(const Real&);
Real acos(const Real&);
Real atan(const Real&);
Real sinh(const Real&);
Real cosh(const Real&);
Real tanh(const Real&);
Real asinh(const Real&);
Real acosh(const Real&);
Real atanh(const Real&);
Real sigmoid(const Real&);
Real softplus(const Real&);
Real erf(const Real&);
Real erfc(const Real&);
Real erfinv(const Real&);
Real lgamma(const Real&);
Real digamma(const Real&);
Real abs(const Real&);
Real square(const Real&);
Real reciprocal(const Real&);
Real negative(const Real&);
Real pow(const Real&, const Real&);
Real atan2(const Real& y, const Real& x);
Real hypot(const Real&, const Real&);
Real logaddexp(const Real&, const Real&);
Real sinc(const Real&);
Real cospi(const Real&);
Real pi();
/// 2^n.
Real power_of_two(long n);
/// The largest integer that is not above a / b, without rounding; a and b are finite, b is not 0.
Real floor_of_quotient(const Real& a, const Real& b);

/// NaN when either is.
Real larger(const Real&, const Real&);
Real smaller(const Real&, const Real&);
/// `a` when x > 0, else `b`; NaN of NaN.
Real above_zero(const Real& x, const Real& a, const Real& b);

// Special functions that MPFR does not have, from series of the literature.
/// e^-|x| I_n(x), n = 0 or 1.
Real i0e(const Real&);
Real i1e(const Real&);
Real i0(const Real&);
Real i1(const Real&);
/// The n-th derivative of digamma, by Euler and Maclaurin's sum.
/// Source: NIST Digital Library of Mathematical Functions, 5.15.1 and 2.10.1.
Real polygamma(int n, const Real&);
/// P(a, x), Q(a, x), I_x(a, b) by the series of positive terms DLMF 8.11.4 and 8.17.8.
Real gammainc(const Real& a, const Real& x);
Real gammaincc(const Real& a, const Real& x);
Real betainc(const Real& a, const Real& b, const Real& x);
Real betaln(const Real& a, const Real& b);

}  // namespace oracle
