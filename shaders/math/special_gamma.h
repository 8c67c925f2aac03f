// shaders/math/special_gamma.h -- the logarithm of the gamma function and its derivative for
// positive arguments, to more digits than a float has. Internal to shaders/math.
//
// One template serves f32 and f64: fits have two sets of coefficients, all else is the same. Fits
// interpolate the function at Chebyshev nodes, computed with 50 digits.
#pragma once
#include "shaders/math/precise_log.h"
#include "shaders/math/special_support.h"

namespace gnomon::math {

/// log gamma(2 + u) for |u| <= 1/2.
template <class T>
Twofold<T> lgamma_near_two(Floating<T> u) {
  constexpr TwofoldConstant<T> one_less_euler =
      sizeof(T) == 8 ? TwofoldConstant<T>{T(0.42278433509846713), T(4.942915152430645e-18)}
                     : TwofoldConstant<T>{T(0.422784328f), T(6.63777389e-09f)};
  const Twofold<T> linear = product_exact(u, u.like(one_less_euler.high));
  const Floating<T> curved =
      u * u *
      fitted(u,
             {0.3224670334241132, -0.0673523010531981, 0.020580808427783377, -0.007385551028673426,
              0.002890510330866263, -0.0011927539117627226, 0.0005096695196399017,
              -0.00022315475602101978, 9.945761714075444e-05, -4.492628648268155e-05,
              2.0506017672887804e-05, -9.438918628971521e-06, 4.382864878357281e-06,
              -2.043027825028324e-06, 9.242579272486074e-07, -4.3452872292068054e-07,
              2.747830381369926e-07, -1.3031259462299376e-07},
             {0.322467029f, -0.0673522949f, 0.0205808058f, -0.0073859212f, 0.00289067975f,
              -0.0011874804f, 0.000507258403f, -0.00025057391f, 0.000111989088f});
  const Twofold<T> start = sum_ordered(linear.high, curved);
  return sum_ordered(start.high, start.low + (linear.low + u * one_less_euler.low));
}

/// log gamma(a) - ((a - 1/2) log(a) - a + log(2 pi) / 2) for a >= 5/2, from inverse = 1 / a.
template <class T>
Floating<T> stirling_tail(Floating<T> inverse) {
  return inverse *
         fitted(
             inverse * inverse,
             {0.08333333333333331, -0.002777777777742549, 0.0007936507810674505,
              -0.0005952362979459117, 0.0008416145962035687, -0.0019112042492740908,
              0.006214124771923361, -0.025211268723815045, 0.10688775824372379, -0.3972546152006594,
              1.1111161328716694, -1.9834523063445446, 1.657371544666988},
             {0.0833333358f, -0.00277773035f, 0.000791174709f, -0.000547703297f, 0.00042249824f});
}

/// a less the nearest whole number, the even one where two are as near: in [-1/2, 1/2], and exact.
/// lavapipe's own instruction for f64 rounds 1.5 to 1 on CPUs without AVX-512.
template <class T>
Floating<T> off_integer(Floating<T> a) {
  return a - Floating<T>{a.b, round_even(*a.b, a.v)};
}

/// log gamma(a) for finite a > 0.
template <class T>
Twofold<T> positive_lgamma(Floating<T> a) {
  const Floating<T> zero = a.like(0), one = a.like(1);
  const Floating<T> u = off_integer(a);
  const Real from_zero = a <= T(0.5), around_two = a >= T(1.5), large = a >= T(2.5);
  // Below 5/2: log gamma(2 + u), from which log(a (1 + a)), log(a) or nothing is to be taken.
  const Twofold<T> square = product_exact(u, u);
  const Twofold<T> shifted = sum_ordered(a, square.high);  // a (1 + a) where u = a
  const Floating<T> argument = select(from_zero, shifted.high, select(around_two & !large, one, a));
  const Floating<T> argument_low = select(from_zero, shifted.low + square.low, zero);
  Twofold<T> l = log_twofold(argument);
  l.low = l.low + argument_low / argument;

  // From 5/2 on Stirling's series.
  constexpr TwofoldConstant<T> half_log_2pi =
      sizeof(T) == 8 ? TwofoldConstant<T>{T(0.9189385332046728), T(-3.8782941580672414e-17)}
                     : TwofoldConstant<T>{T(0.918938518f), T(1.56341766e-08f)};
  const Twofold<T> stirling =
      (l * (a - T(0.5)) + -a) + (half_log_2pi.like(a) + stirling_tail(T(1) / a));
  // Where the product would overflow when it is split, the rest is nothing beside it.
  constexpr T huge = sizeof(T) == 8 ? T(1e17) : T(1e9);
  const Twofold<T> leading{a * ((l.high - T(1)) + l.low), zero};
  return select(large, select(a > huge, leading, stirling), lgamma_near_two(u) + -l);
}

/// Below that 1 / a is all that digamma is.
template <class T>
constexpr T tiny_pole = sizeof(T) == 8 ? T(1e-20) : T(1e-10);

/// 1 / a; without its low part where that is nothing and splitting might overflow.
template <class T>
Twofold<T> inverse_twofold(Floating<T> a) {
  const Floating<T> q = T(1) / a;
  const Twofold<T> p = product_exact(q, a);
  const Real extreme = (magnitude(a) < tiny_pole<T>) | (magnitude(a) > T(1) / tiny_pole<T>);
  return {q, select(extreme, T(0), ((T(1) - p.high) - p.low) * q)};
}

/// digamma(a) and digamma(1 + a) for finite a > 0.
template <class T>
struct Digamma {
  Floating<T> value;
  Twofold<T> of_one_more;
};

template <class T>
Digamma<T> positive_digamma(Floating<T> a) {
  // On [1, 2) a fit with its zero split off; below 1 that of a + 1 less 1 / a.
  const Real below_one = a < T(1);
  constexpr TwofoldConstant<T> one_less_root =
      sizeof(T) == 8 ? TwofoldConstant<T>{T(-0.46163214496836236), T(1.5522348162858677e-17)}
                     : TwofoldConstant<T>{T(-0.461632133f), T(-1.24381501e-08f)};
  const Floating<T> beyond_one = select(below_one, a, a - T(1));
  Twofold<T> t = sum_exact(beyond_one, a.like(one_less_root.high));
  t = sum_ordered(t.high, t.low + one_less_root.low);
  // The slope at the zero to twice the precision, and a fit of the rest.
  constexpr TwofoldConstant<T> slope_at_zero =
      sizeof(T) == 8 ? TwofoldConstant<T>{T(0.9676722454476212), T(-3.387874303038943e-17)}
                     : TwofoldConstant<T>{T(0.967672229f), T(1.66344503e-08f)};
  const Floating<T> steeper =
      t.high * fitted(t.high,
                      {-0.4427631689835921,    0.2584997609556486,     -0.16394270544241185,
                       0.10782405069169396,    -0.07219956125611157,   0.04880428813432675,
                       -0.03316112647808798,   0.022597649287806613,   -0.015424766264193335,
                       0.010538769877363581,   -0.0072045195984646055, 0.004927058684066293,
                       -0.003370068937636603,  0.0023028852531011387,  -0.0015741953495327608,
                       0.0010901387932750408,  -0.0007549537753683287, 0.00047176347506626534,
                       -0.0002842376243050395, 0.00028054432482331796, -0.000278585221361872,
                       0.00011884549058744471},
                      {-0.44276318f, 0.258499801f, -0.163942903f, 0.107822567f, -0.0721926838f,
                       0.0488313958f, -0.0332682356f, 0.022389235f, -0.0146160554f, 0.0111325979f,
                       -0.0100598792f, 0.00512989191f});
  const Twofold<T> linear = product_exact(t.high, t.high.like(slope_at_zero.high));
  const Floating<T> bent =
      t.high * (steeper + slope_at_zero.low) + t.low * (steeper + slope_at_zero.high);
  const Floating<T> central = linear.high + (linear.low + bent);
  const Twofold<T> inverse = inverse_twofold(a);
  const Twofold<T> first = sum_exact(-inverse.high, central);
  const Floating<T> pole =
      select(a < tiny_pole<T>, -inverse.high, first.high + (first.low - inverse.low));
  const Floating<T> small = select(below_one, pole, central);

  // From 2 on log(a) - 1 / (2 a) less a fit in 1 / a^2.
  const Floating<T> z = inverse.high * inverse.high;
  const Floating<T> tail =
      z *
      fitted(z,
             {0.08333333333333331, -0.00833333333328236, 0.003968253945822426,
              -0.004166662682667665, 0.007575376536278818, -0.021070044300111543,
              0.08240321104953446, -0.41542423544019386, 2.4085072811874833, -14.174165198847463,
              76.37469432270349, -350.5694630744384, 1302.8713279166348, -3756.7645024408416,
              8021.020002964422, -11872.247343360108, 10839.322850001836, -4588.182591201694},
             {0.0833333358f, -0.00833327323f, 0.00396420993f, -0.00405911542f, 0.00608992763f,
              -0.00856917072f, 0.00658297073f});
  const Twofold<T> l = log_twofold(a);
  const Twofold<T> large = sum_ordered(l.high, inverse.high * T(-0.5));
  const Floating<T> rest = large.low + ((l.low - inverse.low * T(0.5)) - tail);
  const Twofold<T> asymptotic = sum_ordered(large.high, rest);
  const Real beyond_two = a >= T(2);
  // digamma(1 + a) = digamma(a) + 1 / a.
  const Twofold<T> own{select(beyond_two, asymptotic.high, central),
                       select(beyond_two, asymptotic.low, T(0))};
  return {select(beyond_two, asymptotic.sum(), small),
          select(below_one, Twofold<T>{central, a.like(0)}, own + inverse)};
}

}  // namespace gnomon::math
