// shaders/math/f64_error.cpp -- f64 error functions.
#include "shaders/math/f64_elementary.h"

namespace gnomon::math::f64 {
namespace {

/// (erf(x) - x) / x for |x| <= 1.
Real64 erf_excess(Real64 x) {
  return polynomial(
      x * x, {0.1283791670955126, -0.3761263890318375, 0.11283791670954879, -0.026866170645076792,
              0.0052239776248180145, -0.000854832698083379, 0.0001205533111164271,
              -1.4925595266831182e-05, 1.6461000484121368e-06, -1.6350312701054695e-07,
              1.4659775274047436e-08, -1.1372848856791674e-09, 5.957176147748911e-11});
}

/// erfc(a) for a >= 1/2: e^(-a^2) P(t) / (1 + 2 a) with t = (a - 3.75) / (a + 3.75). The form is
/// that of M. M. Shepherd, J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc
/// x", Math. Comp. 36 (1981).
Real64 erfc_tail(Real64 a) {
  const Real64 b = at_most(a, 28.0);  // erfc is zero from 27.3 on
  const Real64 t = (b - 3.75) / (b + 3.75);
  const Real64 rest =
      t * polynomial(t, {-0.14024059858554702,   0.0035854154854636543,   0.08227673849015027,
                         -0.10880393014170595,   0.09230432116023325,     -0.05869339859055838,
                         0.028362277420774455,   -0.009746579547963784,   0.001755625841134296,
                         0.00029371360250019885, -0.0002901540417519541,  5.1649336982011475e-05,
                         2.2384199504710493e-05, -1.1444677408907506e-05, -9.73717932816625e-07,
                         1.7522273473088292e-06, -5.654591118390395e-08,  -2.586119412433388e-07,
                         2.2138499650109562e-08, 3.766972977409541e-08,   -2.8160732101921526e-09,
                         -4.049977704057852e-09});
  // P(0) to twice the precision.
  Twofold<double> p = sum_ordered(b.like(1.2375126308378275), rest);
  p = {p.high, p.low + 1.0547430967818654e-16};
  const Twofold<double> square = product_exact(b, b);
  const Exponential e = exponential(-square.high, -square.low);
  const Twofold<double> m = e.mantissa();
  const Twofold<double> d = sum_ordered(b * 2.0, b.like(1.0));
  const Twofold<double> numerator = sum_ordered(p.high, p.low) * m;
  return scaled((numerator / d).sum(), e.n);
}

}  // namespace

Real64 erf(Real64 x) {
  const Real64 a = magnitude(x);
  return select(a < 1.0, x + x * erf_excess(x), with_sign(1.0 - erfc_tail(at_least(a, 1.0)), x));
}

Real64 erfc(Real64 x) {
  const Real64 a = magnitude(x);
  const Real64 tail = erfc_tail(at_least(a, 0.5));
  const Twofold<double> one = sum_ordered(x.like(1.0), -x);
  const Real64 center = one.high + (one.low - x * erf_excess(x));
  return select(a < 0.5, center, select(x < 0.0, 2.0 - tail, tail));
}

/// A start to six digits by polynomials in -log(1 - x^2), then one step of Halley's method, which
/// cubes its error. Near 1 the step looks at erfc, where nothing cancels.
Real64 erf_inv(Real64 x) {
  const Real64 a = magnitude(x);
  const Real64 w = -log((1.0 - a) * (1.0 + a));
  const Real64 central =
      polynomial(w - 2.5, {1.501409090974775, 0.24664038782228156, -0.004175992649871795,
                           -0.0012532781576833946, 0.00021722000980691915, -4.53347499395662e-06,
                           -3.173347691799755e-06, 3.561822117382789e-07});
  const Real64 outer =
      polynomial(square_root(w) - 4.0,
                 {3.83978401977438, 1.00949609699513, 0.0012545712021835049, -0.0008857289983878393,
                  0.00034136889847874175, -9.17304299773236e-05, 2.6731430180244872e-05,
                  -4.690889360784859e-05, 3.700115328099419e-05, -7.528882291716608e-06,
                  -1.998418330713406e-06, 6.837220751995577e-07});
  const Real64 y = a * select(w < 5.0, central, outer);
  const Real64 excess =
      select(a < 0.55, (y - a) + y * erf_excess(y), (1.0 - a) - erfc_tail(at_least(y, 0.5)));
  constexpr double half_root_pi = 0.886226925452758;
  const Real64 u = excess * (exp(y * y) * half_root_pi);
  const Real64 better = with_sign(y - u / (1.0 + y * u), x);
  return select(a < 1.0, select(a == 0.0, x, better),
                select(a == 1.0, x * inf, std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace gnomon::math::f64
