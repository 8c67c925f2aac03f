// shaders/math/hyperbolic.cpp -- hyperbolic functions and their inverses.
//
// Below one half, or one, odd polynomials in minimax fit: made of exponentials and logarithms these
// functions are small differences there.
#include "shaders/math/elementary.h"
#include "shaders/math/f64_elementary.h"
#include "shaders/math/log_exp.h"

namespace gnomon::math {
namespace {

/// a + a P(a^2) for a P without constant term and a >= 0: a zero would lose its sign.
Real odd_polynomial(Real a, std::initializer_list<float> c) {
  const Real s = a * a;
  return a + a * (s * polynomial(s, c));
}

Real sinh_of(Real x) {
  const Real a = magnitude(x);
  // Relative error 4e-10 for a <= 1.
  const Real small =
      odd_polynomial(a, {0.16666667f, 0.0083333161f, 0.00019841420f, 2.7915382e-06f});
  const Real half = half_exp(a);
  return flip(select(a < 1.0f, small, half - 0.25f / half), sign_bit(x));
}

Real cosh_of(Real x) {
  const Real half = half_exp(magnitude(x));
  return half + 0.25f / half;
}

Real tanh_of(Real x) {
  const Real a = magnitude(x);
  // Relative error 1.3e-9 for a <= 0.56.
  const Real small =
      odd_polynomial(a, {-0.33333316f, 0.13332528f, -0.053844683f, 0.021035407f, -0.0062172827f});
  const Real large = 1.0f - 2.0f / (exp_of_moderate(a * 2.0f) + 1.0f);
  return flip(select(a < 0.56f, small, large), sign_bit(x));
}

Real asinh_of(Real x) {
  const Real a = magnitude(x);
  // Relative error 6e-11 for a <= 1/2.
  const Real small = odd_polynomial(
      a, {-0.16666666f, 0.074999072f, -0.044616099f, 0.030033631f, -0.020049913f, 0.0092571983f});
  const Real squared = a * a;
  const Real inner = log1p_of(a + squared / (square_root(squared + 1.0f) + 1.0f));
  const Real large = select(a < 1e9f, inner, log_of(a) + 0.693147181f);
  return flip(select(a < 0.5f, small, large), sign_bit(x));
}

Real acosh_of(Real x) {
  const Real t = x - 1.0f;
  // acosh(1 + t) = sqrt(2 t) (1 + t P(t)), to 1.3e-9 for t <= 1/2.
  const Real root = square_root(t * 2.0f);
  const Real small = root + root * (t * polynomial(t, {-0.083333217f, 0.018746614f, -0.0055479994f,
                                                       0.0017604614f, -0.00041360951f}));
  const Real inner = log1p_of(t + square_root(t * 2.0f + t * t));
  const Real large = select(x < 1e9f, inner, log_of(x) + 0.693147181f);
  return select(x < 1.0f, nan, select(t < 0.5f, small, large));
}

Real atanh_of(Real x) {
  const Real a = magnitude(x);
  // Relative error 1.5e-10 for a <= 1/2.
  const Real small = odd_polynomial(a, {0.33333337f, 0.19999650f, 0.14296590f, 0.10948499f,
                                        0.10386944f, 0.021611573f, 0.17915669f});
  const Real large = log1p_of(a * 2.0f / (1.0f - a)) * 0.5f;
  return flip(select(a < 0.5f, small, large), sign_bit(x));
}

}  // namespace

Value sinh(Builder& b, Value x) { return by_type(b, sinh_of, f64::sinh, x); }
Value cosh(Builder& b, Value x) { return by_type(b, cosh_of, f64::cosh, x); }
Value tanh(Builder& b, Value x) { return by_type(b, tanh_of, f64::tanh, x); }
Value asinh(Builder& b, Value x) { return by_type(b, asinh_of, f64::asinh, x); }
Value acosh(Builder& b, Value x) { return by_type(b, acosh_of, f64::acosh, x); }
Value atanh(Builder& b, Value x) { return by_type(b, atanh_of, f64::atanh, x); }

}  // namespace gnomon::math
