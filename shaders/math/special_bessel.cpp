// shaders/math/special_bessel.cpp -- modified Bessel functions of the first kind, times e^-|x|.
//
// Polynomials are Chebyshev series of the function, computed with 50 digits and cut where the rest
// is below a quarter of a rounding: up to |x| = 2 in |x|, beyond of sqrt(|x|) e^-|x| I(|x|) in
// 1 / |x|, which varies so little that nearly all of it is the polynomial's constant. (Its series
// at infinity: NIST Digital Library of Mathematical Functions, 10.40.1.)
#include "shaders/math/elementary.h"
#include "shaders/math/special.h"
#include "shaders/math/special_support.h"

namespace gnomon::math {
namespace {

/// A polynomial for either type: the constant is `high`, what is added to it `low`, rounded once.
/// The first two coefficients are the constant to twice the precision.
template <class T>
Twofold<T> from_constant(Floating<T> x, std::initializer_list<double> wide,
                         std::initializer_list<float> narrow) {
  const auto of = [x](std::span<const T> c) -> Twofold<T> {
    return {x.like(c[0]), polynomial(x, c.subspan(1))};
  };
  if constexpr (sizeof(T) == 8)
    return of(std::span(wide.begin(), wide.size()));
  else
    return of(std::span(narrow.begin(), narrow.size()));
}

/// middle + slope t, where the terms cancel: little more is lost than the error of `slope`.
template <class T>
Floating<T> around(Twofold<T> middle, Twofold<T> slope, Twofold<T> t) {
  return (middle + t * sum_ordered(slope.high, slope.low)).sum();
}

/// numerator / sqrt(a) with v = 16 / a. The low part of the numerator also takes what rounding the
/// root r lost: sqrt(a) = r (1 + (a - r^2) / (2 a)), nearly.
template <class T>
Floating<T> over_root(Twofold<T> numerator, Floating<T> a, Floating<T> v) {
  const Floating<T> root = square_root(a);
  const Twofold<T> square = product_exact(root, root);
  const Floating<T> lost = ((a - square.high) - square.low) * v * T(1.0 / 32);
  // The square of a rounded root may be out of range.
  const Floating<T> share = select(a < std::numeric_limits<T>::max() / 2, lost, T(0));
  return (numerator.high + (numerator.low - numerator.high * share)) / root;
}

template <class T>
Floating<T> i0e_of(Floating<T> x) {
  const Floating<T> a = magnitude(x);
  const Twofold<T> t = sum_exact(a, a.like(-1));
  const Twofold<T> slope = from_constant(
      t.high, {-0.257849192243932,      2.9358943625076416e-18,  0.15389398456907777,
               -0.07626738330347102,    0.03121173555888961,     -0.010760498514452772,
               0.0031903942658626392,   -0.0008279390738660416,  0.00019080421780140816,
               -3.9517379398680944e-05, 7.428320673807028e-06,   -1.2778933541958733e-06,
               2.026061075613774e-07,   -2.9783907787527434e-08, 4.080919409543493e-09,
               -5.235248059848976e-10,  6.305008421878339e-11,   -7.174311720933434e-12,
               8.127966232403536e-13,   -8.287185114507352e-14},
      {-0.2578492f, -5.484621e-09f, 0.15389399f, -0.076267384f, 0.031211648f, -0.010760476f,
       0.0031907698f, -0.0008280156f, 0.00019008465f, -3.939051e-05f, 8.05991e-06f,
       -1.3782042e-06f});
  const Twofold<T> at_one =
      from_constant(a, {0.46575960759364043, 1.978008071901552e-18}, {0.4657596f, 2.318733e-09f});
  const Floating<T> small = around(at_one, slope, t);
  const Floating<T> outside = at_least(a, T(2)), v = T(16) / outside;
  const Twofold<T> middle = from_constant(
      v - T(5), {0.41907282609847746,     2.3735774808395345e-17,  0.005364506713180369,
                 0.00026501882330703946,  -3.8064588968602337e-05, -6.28251726547785e-06,
                 1.3346635347616567e-06,  9.468343788141332e-09,   -3.996595580790942e-08,
                 7.3077874191635605e-09,  -3.100588711058309e-10,  -1.6272429950236983e-10,
                 5.0413334347346473e-11,  -7.673175032414762e-12,  3.6774226922329327e-13,
                 1.6154527935047053e-13,  -5.909073285989561e-14,  1.1439729040317474e-14,
                 -1.4281359139406485e-15, 1.0864475776214462e-16,  3.475080438676577e-17,
                 -2.805291879052217e-17,  4.648162458671664e-18,   1.1045705064124111e-18,
                 -1.4871655013930986e-19, -1.248928503781698e-19,  1.4109118939103717e-20,
                 7.296016849371621e-21,   -1.1199544785778204e-21, -1.3513387990177493e-22,
                 2.524300811862093e-23},
      {0.41907284f, -1.0973646e-08f, 0.0053645093f, 0.00026502166f, -3.80727e-05f, -6.2850527e-06f,
       1.341581e-06f, 9.860541e-09f, -4.2422915e-08f, 7.506062e-09f, 8.603264e-11f, -2.3488525e-10f,
       2.6376498e-11f});
  const Twofold<T> far = from_constant(
      v - T(1), {0.4021765094450081,      -2.4049731843928275e-17, 0.0033605519836678865,
                 0.0001362160743919305,   1.1143033788352455e-05,  1.4838475658279249e-06,
                 2.9735993830791437e-07,  8.872219737904054e-08,   3.9324708328742363e-08,
                 2.1548377974791598e-08,  7.56377201554603e-09,    -6.747657956107524e-09,
                 -1.3453822931523271e-08, -5.404771567579958e-09,  7.697662019062485e-09,
                 7.4304646503254255e-09,  -3.82099512308995e-09,   -5.95356943826489e-09,
                 1.9833590368786264e-09,  3.6379546359011143e-09,  -1.0267340552488213e-09,
                 -1.6189806836246817e-09, 4.3888610449919026e-10,  4.5770876316436224e-10,
                 -1.24294814305368e-10,   -6.067631570603006e-11,  1.66454736028727e-11},
      {0.4021765f, 1.0052452e-08f, 0.0033605557f, 0.00013621716f, 1.1112148e-05f, 1.4761157e-06f,
       3.6266704e-07f, 1.0867942e-07f});
  const Floating<T> large = over_root(select(a <= T(8), middle, far), outside, v);
  return select(a <= T(2), small, large);
}

template <class T>
Floating<T> i1e_of(Floating<T> x) {
  const Floating<T> a = magnitude(x);
  const Twofold<T> t = sum_exact(a, a.like(-1));
  const Twofold<T> slope = from_constant(
      t.high, {-0.1579716384554849,    -1.2748309800865455e-17, 0.0830634731141496,
               -0.03448391418206178,   0.011893157168687503,    -0.003511290087972216,
               0.0009061108367730311,  -0.0002076161681603919,  4.2763971369815676e-05,
               -7.998144345071908e-06, 1.3696381401823936e-06,  -2.1625734542402401e-07,
               3.167260510936953e-08,  -4.325049654710134e-09,  5.531723663901541e-10,
               -6.652746108046908e-11, 7.541840603772808e-12,   -8.102951074797622e-13,
               8.651609107219094e-14,  -8.381183232913448e-15},
      {-0.15797164f, -2.9801541e-09f, 0.083063476f, -0.034483913f, 0.011893144f, -0.0035112868f,
       0.00090616907f, -0.0002076272f, 4.2652246e-05f, -7.97983e-06f, 1.4678692e-06f,
       -2.3075908e-07f});
  const Twofold<T> at_one = from_constant(a, {0.20791041534970844, 4.9128564155784686e-18},
                                          {0.20791042f, -3.1770961e-09f});
  const Floating<T> small = around(at_one, slope, t) * a;
  const Floating<T> outside = at_least(a, T(2)), v = T(16) / outside;
  const Twofold<T> middle = from_constant(
      v - T(5), {0.34521065528124606,     -7.822617647140666e-18, -0.012750723794903511,
                 -0.00043215864053886043, 3.7110649137983765e-05, 8.304989192248138e-06,
                 -1.3665089139371613e-06, -4.918031980890583e-08, 4.593588527033178e-08,
                 -7.278754795835232e-09,  1.4282444786298788e-10, 1.9735815086681545e-10,
                 -5.343650583475642e-11,  7.360107472918578e-12,  -1.9459687891373028e-13,
                 -1.9684048434344218e-13, 6.342908044177486e-14,  -1.1773282086480886e-14,
                 1.3079703202258002e-15,  -3.899838738995507e-18, -4.414373519948612e-17,
                 1.818476469793592e-17,   -4.435188271069647e-18, 1.6729935545034433e-19,
                 1.3085461957700668e-19,  1.6118208215389275e-20, -1.2065230297217641e-20,
                 -1.51117352495489e-21,   1.0566871932245756e-21, -5.1592725415858125e-23,
                 -2.4815159101399155e-23, 2.8126719431759387e-24},
      {0.34521064f, 1.3437192e-08f, -0.012750727f, -0.00043215623f, 3.7119695e-05f, 8.300658e-06f,
       -1.3742739e-06f, -4.628353e-08f, 4.8724218e-08f, -8.196403e-09f, -3.1643624e-10f,
       3.4413092e-10f, -2.3676037e-11f, -3.5713628e-12f});
  const Twofold<T> far = from_constant(
      v - T(1), {0.38939845902587233,     -4.6588537548847844e-18, -0.00974957719323576,
                 -0.00021923576383430914, -1.503854719814553e-05,  -1.8349101091858603e-06,
                 -3.4838565069237384e-07, -1.0001340021780371e-07, -4.312811174972107e-08,
                 -2.3368016560658254e-08, -8.436290430234562e-09,  6.694265612407784e-09,
                 1.4076395500755014e-08,  6.14985231157688e-09,    -7.778592763970399e-09,
                 -8.401102179738338e-09,  3.7219797447255018e-09,  7.2682425635389685e-09,
                 -1.8736450470066097e-09, -5.20222176018239e-09,   9.568523624905203e-10,
                 2.9887350377570042e-09,  -4.0869842334732546e-10, -1.254797249197379e-09,
                 1.1618136302871449e-10,  3.3398673556349837e-10,  -1.5626599071977845e-11,
                 -4.1681089783384275e-11},
      {0.38939846f, 3.4398473e-09f, -0.009749577f, -0.00021923713f, -1.5035268e-05f,
       -1.8256908e-06f, -3.584299e-07f, -1.2273217e-07f, -3.577436e-08f});
  const Floating<T> large = over_root(select(a <= T(8), middle, far), outside, v);
  return with_sign(select(a <= T(2), small, large), x);
}

/// scaled e^|x|, in two factors where one would leave the range before the result does; `end` at
/// the infinities.
template <class T>
Floating<T> growing(Floating<T> scaled, Floating<T> x, Floating<T> end) {
  const Floating<T> a = magnitude(x);
  const Real large = a > T(sizeof(T) == 8 ? 700 : 80);
  const Floating<T> half = select(large, a * T(0.5), a);
  const Floating<T> factor{a.b, exp(*a.b, half.v)};
  const Floating<T> once = scaled * factor;
  const Floating<T> y = select(large, once * factor, once);
  return select(a == a.like(std::numeric_limits<T>::infinity()), end, y);
}

}  // namespace

Value i0(Builder& b, Value x) {
  return in_either(
      b, [](auto v) { return growing(i0e_of(v), v, magnitude(v)); }, x);
}
Value i1(Builder& b, Value x) {
  return in_either(
      b, [](auto v) { return growing(i1e_of(v), v, v); }, x);
}
Value i0e(Builder& b, Value x) {
  return in_either(
      b, [](auto v) { return i0e_of(v); }, x);
}
Value i1e(Builder& b, Value x) {
  return in_either(
      b, [](auto v) { return i1e_of(v); }, x);
}

}  // namespace gnomon::math
