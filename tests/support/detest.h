// tests/support/detest.h -- the 25 problems of DETEST, written once for every kind of number, and
// what they come to.
//
// All begin at t = 0 and end at t = 20. A field is called with (t, y, d): it writes dy/dt into d,
// of the type of y, which is indexed by stage: vectors or arrays of doubles, or of traced Arrays.
// Source: T. Hull, W. Enright, B. Fellen, A. Sedgwick, Comparing numerical methods for ordinary
// differential equations, SIAM J. Numer. Anal. 9 (1972).
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gnomon::testing::detest {

using std::cos;
using std::sin;
using std::sqrt;

inline constexpr double end = 20;

// ---- A: single equations

struct A1 {
  static constexpr std::array<double, 1> start{1};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = -1.0 * y[0];
  }
};
struct A2 {
  static constexpr std::array<double, 1> start{1};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = -0.5 * (y[0] * y[0] * y[0]);
  }
};
struct A3 {
  static constexpr std::array<double, 1> start{1};
  template <class T, class Y, class D>
  void operator()(const T& t, const Y& y, D& d) const {
    d[0] = y[0] * cos(t);
  }
};
struct A4 {
  static constexpr std::array<double, 1> start{1};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = 0.25 * y[0] * (1.0 - 0.05 * y[0]);
  }
};
struct A5 {
  static constexpr std::array<double, 1> start{4};
  template <class T, class Y, class D>
  void operator()(const T& t, const Y& y, D& d) const {
    d[0] = (y[0] - t) / (y[0] + t);
  }
};

// ---- B: small systems

/// Two populations in conflict.
struct B1 {
  static constexpr std::array<double, 2> start{1, 3};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    const auto meet = y[0] * y[1];
    d[0] = 2.0 * (y[0] - meet);
    d[1] = meet - y[1];
  }
};
/// A linear chemical reaction.
struct B2 {
  static constexpr std::array<double, 3> start{2, 0, 1};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = y[1] - y[0];
    d[1] = y[0] - 2.0 * y[1] + y[2];
    d[2] = y[1] - y[2];
  }
};
/// A chemical reaction that is not.
struct B3 {
  static constexpr std::array<double, 3> start{1, 0, 0};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    const auto square = y[1] * y[1];
    d[0] = -1.0 * y[0];
    d[1] = y[0] - square;
    d[2] = square;
  }
};
/// The integral surface of a torus.
struct B4 {
  static constexpr std::array<double, 3> start{3, 0, 0};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    const auto inverse = 1.0 / sqrt(y[0] * y[0] + y[1] * y[1]);
    d[0] = -1.0 * y[1] - y[0] * y[2] * inverse;
    d[1] = y[0] - y[1] * y[2] * inverse;
    d[2] = y[0] * inverse;
  }
};
/// Euler's equations of a rigid body without forces.
struct B5 {
  static constexpr std::array<double, 3> start{0, 1, 1};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = y[1] * y[2];
    d[1] = -1.0 * (y[0] * y[2]);
    d[2] = -0.51 * (y[0] * y[1]);
  }
};

// ---- C: moderate systems

template <std::size_t N>
constexpr std::array<double, N> one_then_zeros() {
  std::array<double, N> y{};
  y[0] = 1;
  return y;
}
/// A radioactive decay chain, all rates 1.
struct C1 {
  static constexpr std::array<double, 10> start = one_then_zeros<10>();
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = -1.0 * y[0];
    for (std::size_t i = 1; i < 9; ++i) d[i] = y[i - 1] - y[i];
    d[9] = y[8];
  }
};
/// The same with rates 1, 2, 3, ...
struct C2 {
  static constexpr std::array<double, 10> start = one_then_zeros<10>();
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = -1.0 * y[0];
    for (std::size_t i = 1; i < 9; ++i) {
      const auto rate = static_cast<double>(i);
      d[i] = rate * y[i - 1] - (rate + 1) * y[i];
    }
    d[9] = 9.0 * y[8];
  }
};
/// The heat equation by lines, N of them.
template <std::size_t N>
struct Lines {
  static constexpr std::array<double, N> start = one_then_zeros<N>();
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = y[1] - 2.0 * y[0];
    for (std::size_t i = 1; i + 1 < N; ++i) d[i] = y[i - 1] - 2.0 * y[i] + y[i + 1];
    d[N - 1] = y[N - 2] - 2.0 * y[N - 1];
  }
};
using C3 = Lines<10>;
using C4 = Lines<51>;
/// Five outer planets: positions (x, y, z) of each, then velocities.
struct C5 {
  static constexpr std::array<double, 30> start{
      3.42947415189,  3.35386959711,  1.35494901715,  6.64145542550,  5.97156957878,
      2.18231499728,  11.2630437207,  14.6952576794,  6.27960525067,  -30.1552268759,
      1.65699966404,  1.43785752721,  -21.1238353380, 28.4465098142,  15.3882659679,
      -.557160570446, .505696783289,  .230578543901,  -.415570776342, .365682722812,
      .169143213293,  -.325325669158, .189706021964,  .0877265322780, -.0240476254170,
      -.287659532608, -.117219543175, -.176860753121, -.216393453025, -.0148647893090};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    constexpr double gravity = 2.95912208286, sun = 1.00000597682;
    constexpr std::array<double, 5> mass{.000954786104043, .000285583733151, .0000437273164546,
                                         .0000517759138449, .00000277777777778};
    const auto inverse_cube = [](const auto& a, const auto& b, const auto& c) {
      const auto square = a * a + b * b + c * c;
      return 1.0 / (square * sqrt(square));
    };
    std::array<std::remove_cvref_t<decltype(y[0] * y[0])>, 5> r;  // of distances from the sun
    for (std::size_t j = 0; j < 5; ++j) r[j] = inverse_cube(y[3 * j], y[3 * j + 1], y[3 * j + 2]);
    for (std::size_t i = 0; i < 15; ++i) {
      d[i] = y[15 + i];
      d[15 + i] = -gravity * (sun + mass[i / 3]) * y[i] * r[i / 3];
    }
    for (std::size_t j = 0; j < 5; ++j)
      for (std::size_t k = j + 1; k < 5; ++k) {
        const auto between = inverse_cube(y[3 * k] - y[3 * j], y[3 * k + 1] - y[3 * j + 1],
                                          y[3 * k + 2] - y[3 * j + 2]);
        for (std::size_t i = 0; i < 3; ++i) {
          const auto &a = y[3 * j + i], &b = y[3 * k + i];
          d[15 + 3 * j + i] =
              d[15 + 3 * j + i] + gravity * mass[k] * ((b - a) * between - b * r[k]);
          d[15 + 3 * k + i] =
              d[15 + 3 * k + i] + gravity * mass[j] * ((a - b) * between - a * r[j]);
        }
      }
  }
};

// ---- D: orbits of two bodies, of eccentricity Tenths / 10

template <int Tenths>
struct Orbit {
  /// sqrt((1 + e) / (1 - e)), which constant expressions cannot compute.
  static constexpr double speed = Tenths == 1   ? 1.1055415967851333
                                  : Tenths == 3 ? 1.3627702877384937
                                  : Tenths == 5 ? 1.7320508075688772
                                  : Tenths == 7 ? 2.3804761428476167
                                                : 4.358898943540674;
  static constexpr std::array<double, 4> start{(10 - Tenths) / 10.0, 0, 0, speed};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    const auto square = y[0] * y[0] + y[1] * y[1];
    const auto pull = -1.0 / (square * sqrt(square));
    d[0] = y[2];
    d[1] = y[3];
    d[2] = pull * y[0];
    d[3] = pull * y[1];
  }
};
using D1 = Orbit<1>;
using D2 = Orbit<3>;
using D3 = Orbit<5>;
using D4 = Orbit<7>;
using D5 = Orbit<9>;

// ---- E: equations of second order

/// Bessel's equation of order 1/2, from t + 1 = 1.
struct E1 {
  static constexpr std::array<double, 2> start{0.6713967071418031, 0.0954005144474745};
  template <class T, class Y, class D>
  void operator()(const T& t, const Y& y, D& d) const {
    const auto inverse = 1.0 / (t + 1.0);
    d[0] = y[1];
    d[1] = (0.25 * (inverse * inverse) - 1.0) * y[0] - y[1] * inverse;
  }
};
/// Van der Pol's.
struct E2 {
  static constexpr std::array<double, 2> start{2, 0};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = y[1];
    d[1] = (1.0 - y[0] * y[0]) * y[1] - y[0];
  }
};
/// Duffing's.
struct E3 {
  static constexpr std::array<double, 2> start{0, 0};
  template <class T, class Y, class D>
  void operator()(const T& t, const Y& y, D& d) const {
    d[0] = y[1];
    d[1] = y[0] * y[0] * y[0] * (1.0 / 6.0) - y[0] + 2.0 * sin(2.78535 * t);
  }
};
/// A body that falls through air.
struct E4 {
  static constexpr std::array<double, 2> start{30, 0};
  template <class T, class Y, class D>
  void operator()(const T&, const Y& y, D& d) const {
    d[0] = y[1];
    d[1] = 0.032 - 0.4 * (y[1] * y[1]);
  }
};
/// A curve of pursuit.
struct E5 {
  static constexpr std::array<double, 2> start{0, 0};
  template <class T, class Y, class D>
  void operator()(const T& t, const Y& y, D& d) const {
    d[0] = y[1];
    d[1] = sqrt(1.0 + y[1] * y[1]) / (25.0 - t);
  }
};

// ---- all of them

/// A problem in numbers of type T.
template <class T>
struct Problem {
  std::string name;
  std::vector<double> start;
  std::function<std::vector<T>(const T& t, const std::vector<T>& y)> field;
};

namespace detail {
template <class T, class P>
Problem<T> problem(const char* name, const P& field) {
  return {name, {P::start.begin(), P::start.end()}, [field](const T& t, const std::vector<T>& y) {
            std::vector<T> d = y;
            field(t, y, d);
            return d;
          }};
}
}  // namespace detail

template <class T>
std::vector<Problem<T>> problems() {
  using detail::problem;
  return {problem<T>("A1", A1{}), problem<T>("A2", A2{}), problem<T>("A3", A3{}),
          problem<T>("A4", A4{}), problem<T>("A5", A5{}), problem<T>("B1", B1{}),
          problem<T>("B2", B2{}), problem<T>("B3", B3{}), problem<T>("B4", B4{}),
          problem<T>("B5", B5{}), problem<T>("C1", C1{}), problem<T>("C2", C2{}),
          problem<T>("C3", C3{}), problem<T>("C4", C4{}), problem<T>("C5", C5{}),
          problem<T>("D1", D1{}), problem<T>("D2", D2{}), problem<T>("D3", D3{}),
          problem<T>("D4", D4{}), problem<T>("D5", D5{}), problem<T>("E1", E1{}),
          problem<T>("E2", E2{}), problem<T>("E3", E3{}), problem<T>("E4", E4{}),
          problem<T>("E5", E5{})};
}

/// The state at `until` of y' = field(t, y) from y at 0, T the type of its numbers: errors of steps
/// stay below so many times 1 + |y|.
///
/// Extrapolated midpoint steps: shares nothing with the methods that are tested.
/// Source: E. Hairer, S. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section
/// II.9.
template <class T, class State, class F>
State extrapolate(const F& field, State y, T until, T tolerance) {
  constexpr std::size_t rows = 8;
  const auto along = [](const State& a, T c, const State& k) {
    State b = a;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] += c * k[i];
    return b;
  };
  T t = 0, h = static_cast<T>(0.05);
  std::array<State, rows> row, before_row;  // of the tableau
  row.fill(y);
  while (t < until) {
    h = std::min(h, until - t);
    T worst = 0;
    const State slope = field(t, y);
    for (std::size_t j = 0; j < rows; ++j) {
      const std::size_t parts = 2 * (j + 1);
      const T part = h / static_cast<T>(parts);
      State before = y, now = along(y, part, slope);
      for (std::size_t i = 1; i < parts; ++i) {
        State next = along(before, 2 * part, field(t + static_cast<T>(i) * part, now));
        before = std::exchange(now, std::move(next));
      }
      before_row = row;
      row[0] = along(along(before, part, field(t + h, now)), 1, now);
      for (T& x : row[0]) x /= 2;
      for (std::size_t k = 1; k <= j; ++k) {
        const T ratio = static_cast<T>(parts) / static_cast<T>(2 * (j - k + 1));
        row[k] = row[k - 1];
        worst = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
          const T change = (row[k - 1][i] - before_row[k - 1][i]) / (ratio * ratio - 1);
          row[k][i] += change;
          worst = std::max(worst, std::fabs(change) / (1 + std::fabs(row[k][i])));
        }
      }
    }
    if (worst < tolerance) {
      t = h < until - t ? t + h : until;
      y = row[rows - 1];
    }
    // Of an error of order 16 per step.
    const T factor = static_cast<T>(0.8) *
                     std::pow(tolerance / std::max(worst, tolerance * static_cast<T>(1e-8)),
                              static_cast<T>(1.0 / 16));
    h *= std::clamp(factor, static_cast<T>(0.3), static_cast<T>(2));
  }
  return y;
}

/// The state at `until`, to about 1e-15 of the largest component.
inline std::vector<double> reference(const Problem<long double>& p, double until = end) {
  std::vector<long double> y(p.start.begin(), p.start.end());
  y = extrapolate<long double>(p.field, std::move(y), static_cast<long double>(until), 1e-17L);
  return {y.begin(), y.end()};
}

}  // namespace gnomon::testing::detest
