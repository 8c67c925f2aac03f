// shaders/math/error_function.cpp -- the error function, its complement and its inverse.
#include "shaders/math/elementary.h"
#include "shaders/math/f64_elementary.h"
#include "shaders/math/log_exp.h"
#include "shaders/math/twofold.h"

namespace gnomon::math {
namespace {

/// erf(x) - x for |x| <= 1, to 1.3e-9 of x.
Real erf_excess(Real x) {
  return x * polynomial(x * x, {0.128379166f, -0.37612629f, 0.11283619f, -0.026855175f,
                                0.0051908446f, -0.00080318358f, 7.9241305e-05f});
}

/// erfc(a) for a >= 3/4: e^(-a^2) F(a) / a.
Real erfc_tail(Real x) {
  const Real a = select(x > 11.0f, 11.0f, x);  // beyond it is below half the smallest subnormal
  // a e^(a^2) erfc(a) lies around one half, as a polynomial in (a - 2) / (a + 2); relative error
  // 6e-9 up to 10.6.
  const Real w = (a - 2.0f) / (a + 2.0f);
  const Real more = polynomial(
      w, {0.010791354f, 0.16721104f, -0.20384449f, 0.12151358f, -0.028972480f, -0.0075001093f,
          0.0047562076f, 0.0010560621f, -0.00066454054f, -0.00018193235f});
  const Real f = more + 0.5f, lost = more - (f - 0.5f);
  // Rounding a^2 would cost a^2 units: the square of the upper half of `a` is exact.
  const Real high = upper_half(a);
  const PreciseExponential e = exponential(-(high * high), (high - a) * (high + a));
  // The quotient y = f / a, and what it and `f` lost; the product with 1 + q is rounded at the last
  // sum.
  const Real inverse = 1.0f / a, y = f * inverse;
  const Twofold<float> product =
      product_exact(Floating<float>{y.b, y.v}, Floating<float>{a.b, a.v});
  const Real rest = (f - Real{y.b, product.high.v}) - Real{y.b, product.low.v};
  const Real low = (rest + lost) * inverse;
  return scaled(y + (y * e.q + (low + (low * e.q + y * e.lost))), e.n);
}

Real erf_of(Real x) {
  const Real a = magnitude(x);
  // Of the smallest numbers the excess would be subnormal, and lost on some devices.
  const Real center = select(a < 1e-30f, x * 1.12837917f, x + erf_excess(x));
  return select(a < 1.0f, center, flip(1.0f - erfc_tail(a), sign_bit(x)));
}

Real erfc_of(Real x) {
  const Real tail = erfc_tail(magnitude(x));
  // 1 - x is exact where the difference is small.
  const Real center = (1.0f - x) - erf_excess(x);
  return select(magnitude(x) < 0.75f, center, select(x < 0.0f, 2.0f - tail, tail));
}

/// x times one of three polynomials: of x^2, of w = -log(1 - x^2), or of its root. Relative errors
/// 7e-9, 3e-9 and 1e-8.
Real erf_inv_of(Real x) {
  const Real a = magnitude(x);
  const Logarithm l = logarithm((1.0f - a) * (1.0f + a));
  const Real w = -(l.exponent * ln_two_high + (l.exponent * ln_two_low + (l.f - l.less)));
  const Real central = a < 0.75f, middle = w < 5.0f;
  const Real t = select(central, a * a, select(middle, w, square_root(w)) - 3.0f);
  constexpr float coefficients[10][3] = {{-0.113773078f, 0.623542011f, 0.832976818f},
                                         {0.232015327f, 0.241630405f, 1.00167525f},
                                         {0.127457127f, -0.00573816197f, 0.00944542512f},
                                         {0.0887391642f, -0.000836168474f, -0.00764108729f},
                                         {0.0409920402f, 0.000195111163f, 0.00568409776f},
                                         {0.199441478f, -1.2734863e-05f, -0.0035816934f},
                                         {-0.49632284f, -1.7827341e-06f, 0.00149438018f},
                                         {1.20241427f, 4.57499254e-07f, -8.29270648e-05f},
                                         {-1.36986029f, -1.35544012e-08f, -0.000317758007f},
                                         {0.779388547f, -6.49452714e-09f, 0.000131323672f}};
  const auto coefficient = [&](std::size_t k) {
    const auto& c = coefficients[k];
    return select(central, c[0], select(middle, c[1], x.like(c[2])));
  };
  Real p = coefficient(9);
  for (std::size_t k = 9; k-- > 0;) p = p * t + coefficient(k);
  // The polynomials are what is more than 1, 1 and 2.
  const Real sum = a * select(central | middle, 1.0f, a.like(2.0f)) + a * p;
  // As in erf.
  const Real y = select(a < 1e-30f, a * 0.886226925f, sum);
  return flip(select(a < 1.0f, y, select(a == 1.0f, infinity, a.like(nan))), sign_bit(x));
}

Real erf_inv_giles_of(Real x) {
  const Real w = -log1p_of(-(x * x));
  const Real central = w < 5.0f;
  const Real t = select(central, w - 2.5f, square_root(w) - 3.0f);
  constexpr float coefficients[9][2] = {
      {2.81022636e-08f, -0.000200214257f}, {3.43273939e-07f, 0.000100950558f},
      {-3.5233877e-06f, 0.00134934322f},   {-4.39150654e-06f, -0.00367342844f},
      {0.00021858087f, 0.00573950773f},    {-0.00125372503f, -0.0076224613f},
      {-0.00417768164f, 0.00943887047f},   {0.246640727f, 1.00167406f},
      {1.50140941f, 2.83297682f}};
  const auto coefficient = [&](int k) {
    return select(central, x.like(coefficients[k][0]), x.like(coefficients[k][1]));
  };
  Real p = coefficient(0);
  for (int k = 1; k < 9; ++k) p = p * t + coefficient(k);
  return select(magnitude(x) == 1.0f, x * infinity, p * x);
}

}  // namespace

Value erf(Builder& b, Value x) { return by_type(b, erf_of, f64::erf, x); }
Value erfc(Builder& b, Value x) { return by_type(b, erfc_of, f64::erfc, x); }
Value erf_inv(Builder& b, Value x) { return by_type(b, erf_inv_of, f64::erf_inv, x); }
Value erf_inv_giles(Builder& b, Value x) { return by_type(b, erf_inv_giles_of, f64::erf_inv, x); }

}  // namespace gnomon::math
