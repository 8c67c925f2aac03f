// tests/support/stiff_problems.h -- the problems that stiff solvers are tried on, written once for
// every kind of number, and where they end.
//
// All begin at t = 0. A field is called with (t, y, d): it writes dy/dt into d, which like y is
// indexed by component: vectors, arrays or spans of doubles, or of traced Arrays. `scale` is what
// counts as small in y: absolute tolerances are so many times the relative one.
// Source: F. Mazzia and C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4
// (2008), with the reference solutions that are `want` here; but for the Brusselator.
#pragma once
#include <array>
#include <cstddef>

namespace gnomon::testing::stiff {

/// Three reactions, until nearly nothing is left of the first two substances.
struct Robertson {
  static constexpr const char* name = "robertson";
  static constexpr std::array<double, 3> start{1, 0, 0};
  static constexpr double end = 1e11, scale = 1e-8;
  static constexpr std::array<double, 3> want{0.2083340149701255e-07, 0.8333360770334713e-13,
                                              0.9999999791665050};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    const auto a = 0.04 * y[0], b = 3e7 * y[1] * y[1], c = 1e4 * y[1] * y[2];
    d[0] = c - a;
    d[1] = a - c - b;
    d[2] = b;
  }
};

/// An oscillator of mu = 1000, with time in units of mu.
struct VanDerPol {
  static constexpr const char* name = "van_der_pol";
  static constexpr std::array<double, 2> start{2, 0};
  static constexpr double end = 2, scale = 1;
  static constexpr std::array<double, 2> want{0.1706167732170483e1, -0.8928097010247975};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = y[1];
    d[1] = 1e6 * ((1.0 - y[0] * y[0]) * y[1] - y[0]);
  }
};

/// How plants answer to light: high irradiance responses.
struct Hires {
  static constexpr const char* name = "hires";
  static constexpr std::array<double, 8> start{1, 0, 0, 0, 0, 0, 0, 0.0057};
  static constexpr double end = 321.8122, scale = 1e-3;
  static constexpr std::array<double, 8> want{
      0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
      0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    const auto r = 280.0 * y[5] * y[7];
    d[0] = -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007;
    d[1] = 1.71 * y[0] - 8.75 * y[1];
    d[2] = -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4];
    d[3] = 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3];
    d[4] = -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6];
    d[5] = -r + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6];
    d[6] = r - 1.81 * y[6];
    d[7] = -r + 1.81 * y[6];
  }
};

/// The Oregonator: a chemical reaction that oscillates.
struct Orego {
  static constexpr const char* name = "orego";
  static constexpr std::array<double, 3> start{1, 2, 3};
  static constexpr double end = 360, scale = 1;
  static constexpr std::array<double, 3> want{0.1000814870318523e1, 0.1228178521549917e4,
                                              0.1320554942846706e3};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    const double s = 77.27;
    d[0] = s * (y[1] + y[0] * (1.0 - 8.375e-6 * y[0] - y[1]));
    d[1] = (y[2] - (1.0 + y[0]) * y[1]) / s;
    d[2] = 0.161 * (y[0] - y[2]);
  }
};

/// The chemistry of polluted air: 25 reactions of 20 substances.
struct Pollution {
  static constexpr const char* name = "pollution";
  static constexpr std::array<double, 20> start{0, 0.2, 0, 0.04, 0, 0, 0.1,   0.3, 0.01, 0,
                                                0, 0,   0, 0,    0, 0, 0.007, 0,   0,    0};
  static constexpr double end = 60, scale = 1e-3;
  static constexpr std::array<double, 20> want{
      0.5646255480022769e-1, 0.1342484130422339,    0.4139734331099427e-8, 0.5523140207484359e-2,
      0.2018977262302196e-6, 0.1464541863493966e-6, 0.7784249118997964e-1, 0.3245075353396018,
      0.7494013383880406e-2, 0.1622293157301561e-7, 0.1135863833257075e-7, 0.2230505975721359e-2,
      0.2087162882798630e-3, 0.1396921016840158e-4, 0.8964884856898295e-2, 0.4352846369330103e-17,
      0.6899219696263405e-2, 0.1007803037365946e-3, 0.1772146513969984e-5, 0.5682943292316392e-4};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    const auto r1 = 0.35 * y[0], r2 = 0.266e2 * y[1] * y[3], r3 = 0.123e5 * y[4] * y[1],
               r4 = 0.86e-3 * y[6], r5 = 0.82e-3 * y[6], r6 = 0.15e5 * y[6] * y[5],
               r7 = 0.13e-3 * y[8], r8 = 0.24e5 * y[8] * y[5], r9 = 0.165e5 * y[10] * y[1],
               r10 = 0.9e4 * y[10] * y[0], r11 = 0.22e-1 * y[12], r12 = 0.12e5 * y[9] * y[1],
               r13 = 0.188e1 * y[13], r14 = 0.163e5 * y[0] * y[5], r15 = 0.48e7 * y[2],
               r16 = 0.35e-3 * y[3], r17 = 0.175e-1 * y[3], r18 = 0.1e9 * y[15],
               r19 = 0.444e12 * y[15], r20 = 0.124e4 * y[16] * y[5], r21 = 0.21e1 * y[18],
               r22 = 0.578e1 * y[18], r23 = 0.474e-1 * y[0] * y[3], r24 = 0.178e4 * y[18] * y[0],
               r25 = 0.312e1 * y[19];
    d[0] = -r1 - r10 - r14 - r23 - r24 + r2 + r3 + r9 + r11 + r12 + r22 + r25;
    d[1] = -r2 - r3 - r9 - r12 + r1 + r21;
    d[2] = -r15 + r1 + r17 + r19 + r22;
    d[3] = -r2 - r16 - r17 - r23 + r15;
    d[4] = -r3 + 2.0 * r4 + r6 + r7 + r13 + r20;
    d[5] = -r6 - r8 - r14 - r20 + r3 + 2.0 * r18;
    d[6] = -r4 - r5 - r6 + r13;
    d[7] = r4 + r5 + r6 + r7;
    d[8] = -r7 - r8;
    d[9] = -r12 + r7 + r9;
    d[10] = -r9 - r10 + r8 + r11;
    d[11] = r9;
    d[12] = -r11 + r10;
    d[13] = -r13 + r12;
    d[14] = r14;
    d[15] = -r18 - r19 + r16;
    d[16] = -r20;
    d[17] = r20;
    d[18] = -r21 - r22 - r24 + r23 + r25;
    d[19] = -r25 + r24;
  }
};

/// Two substances that react and spread along a line, here of few points: u at all of them, then v.
/// The end is that of tests/engine/ode_stiff_test.cpp, by many small steps.
/// Source: E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, section IV.1.
struct Brusselator {
  static constexpr const char* name = "brusselator";
  static constexpr std::size_t points = 8;
  /// u = 1 + sin(2 pi x), which constant expressions cannot compute, and v = 3.
  static constexpr std::array<double, 2 * points> start{1.6427876096865393,
                                                        1.984807753012208,
                                                        1.8660254037844387,
                                                        1.3420201433256688,
                                                        0.6579798566743312,
                                                        0.1339745962155613,
                                                        0.015192246987792,
                                                        0.3572123903134607,
                                                        3,
                                                        3,
                                                        3,
                                                        3,
                                                        3,
                                                        3,
                                                        3,
                                                        3};
  static constexpr double end = 2, scale = 1;  // later all is at rest
  static constexpr std::array<double, 2 * points> want{
      1.001448501727227, 1.0027210984001682, 1.0036643567982289, 1.0041653735246117,
      1.004164605187935, 1.0036624109153305, 1.0027188848800437, 1.0014470564416231,
      2.994990111181634, 2.9905860674775337, 2.987319163012796,  2.985582442350517,
      2.985584174859936, 2.9873235502901117, 2.9905910572917,    2.994993368591114};
  static constexpr double diffusion = 0.02 * (points + 1) * (points + 1) * 10;
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    const auto spread = [&](std::size_t first, std::size_t i, double edge) {
      auto sum = -2.0 * y[first + i];
      for (const std::size_t next : {i - 1, i + 1})
        if (next < points)
          sum = sum + y[first + next];
        else
          sum = sum + edge;
      return diffusion * sum;
    };
    for (std::size_t i = 0; i < points; ++i) {
      const auto r = y[i] * y[i] * y[points + i];
      d[i] = 1.0 + r - 4.0 * y[i] + spread(0, i, 1);
      d[points + i] = 3.0 * y[i] - r + spread(points, i, 3);
    }
  }
};

/// f(problem) of each of them.
template <class F>
void for_each(const F& f) {
  f(Robertson{}), f(VanDerPol{}), f(Hires{}), f(Orego{}), f(Pollution{}), f(Brusselator{});
}

}  // namespace gnomon::testing::stiff
