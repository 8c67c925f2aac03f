// tests/codegen/numeric_test.cpp -- everyday operations and activations: values, derivatives
// against differences, lowering.
#include "gnomon/numeric.h"

#include <limits>
#include <numbers>
#include <numeric>

#include "gnomon/activations.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon {
namespace {

using test::f32;
using test::host;
using test::i32;
using test::inf;
using test::nan;
using test::Numbers;
using test::run;
using test::run_all;

void expect_same(const Numbers& got, const Numbers& want, double tolerance = 0) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]))
      EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    else if (tolerance == 0 || std::isinf(want[i]))
      EXPECT_TRUE(got[i] == want[i] && std::signbit(got[i]) == std::signbit(want[i]))
          << i << ": " << got[i] << ", not " << want[i];
    else
      EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << i;
  }
}

/// The derivative along a direction in f64 against central differences, and the lowering in f32.
template <class F>
void expect_differentiable(F f, const Shape& shape, const Numbers& at, const char* name) {
  Numbers direction(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) direction[i] = std::sin(1.0 + 2 * i);
  const auto tangent = [&](const Array& x, const Array& dx) { return jvp(f, x, dx).second; };
  const HostArray x = host(DType::f64, shape, at), dx = host(DType::f64, shape, direction);
  const Numbers got = run(tangent, x, dx);
  constexpr double h = 1e-5;
  const auto moved = [&](double by) {
    Numbers y = at;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += by * direction[i];
    return run(f, host(DType::f64, shape, y));
  };
  const Numbers up = moved(h), down = moved(-h);
  ASSERT_EQ(got.size(), up.size()) << name;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], (up[i] - down[i]) / (2 * h), 1e-6 * (1 + std::fabs(got[i])))
        << name << " " << i;
  const HostArray single = f32(shape, at);
  testing::expect_lowering(test::graph_of(f, single), {single});
}

TEST(FloatParts, NextafterIsTheNeighbour) {
  const Numbers x{0, -0.0, 1, -1, 1e-38, inf, -inf, 3, nan, 2, 1, 0};
  const Numbers y{1, -1, 2, 0, 0, 0, 0, 3, 1, nan, -inf, -0.0};
  for (DType t : {DType::f32, DType::f64}) {
    Numbers want;
    for (std::size_t i = 0; i < x.size(); ++i)
      want.push_back(t == DType::f32 ? static_cast<double>(std::nextafter(static_cast<float>(x[i]),
                                                                          static_cast<float>(y[i])))
                                     : std::nextafter(x[i], y[i]));
    const Shape shape(x.size());
    expect_same(run([](const Array& a, const Array& b) { return nextafter(a, b); },
                    host(t, shape, x), host(t, shape, y)),
                want);
  }
}

TEST(FloatParts, Signs) {
  const HostArray x = f32({0, -0.0, 2, -3, inf, -inf});
  expect_same(run([](const Array& a) { return signbit(a); }, x), {0, 1, 0, 1, 0, 1});
  expect_same(run([](const Array& a, const Array& b) { return copysign(a, b); }, x,
                  f32({-1, 1, -0.0, 0, -5, -5})),
              {-0.0, 0, -2, 3, -inf, -inf});
}

TEST(FloatParts, FrexpAndLdexpAreInverse) {
  const Numbers x{0, -0.0, 1, -3, 1e-40, 3e38, inf, -inf, nan, 0.5, 1e-38};
  for (DType t : {DType::f32, DType::f64}) {
    const HostArray a = host(t, Shape(x.size()), x);
    const auto r = run_all(
        [](const Array& v) {
          const Frexp parts = frexp(v);
          return std::tuple{parts.mantissa, parts.exponent, ldexp(parts.mantissa, parts.exponent)};
        },
        a);
    Numbers mantissas, exponents;
    for (double v : test::numbers(a)) {
      int e = 0;
      mantissas.push_back(std::frexp(v, &e));
      exponents.push_back(std::isfinite(v) ? e : 0);
    }
    expect_same(r[0], mantissas);
    expect_same(r[1], exponents);
    expect_same(r[2], test::numbers(a));
  }
  expect_same(run(
                  [](const Array& a) {
                    return ldexp(a, array({-149, 200, -400, 400}));
                  },
                  f32({1, 1, 1, 1})),
              {0x1p-149, inf, 0, inf});
  expect_same(run([](const Array& a, const Array& n) { return ldexp(a, n); }, f32({1, 1, 3}),
                  test::host(DType::i64, {3}, {0x1p32, -0x1p32, 2})),
              {inf, 0, 12});
  // One rounding: 1.08 units, rounded to one and then halved to the tie, would be 0.
  expect_same(run(
                  [](const Array& a) {
                    return ldexp(a, array({-127, -127, -150, -151}));
                  },
                  f32({0x1.16p-23f, -0x1.16p-23f, 1.5f, 0x1.fffffep127f})),
              {0x1p-149, -0x1p-149, 0x1p-149, 0x1.fffffep-24});
  const auto g = [](const Array& a) {
    return grad([](const Array& v) { return sum(frexp(v).mantissa) + sum(ldexp(v, 3)); })(a);
  };
  expect_same(run(g, f32({1, 6, -0.25})), {8.5, 8.125, 10});
}

TEST(Arithmetic, RemaindersOfBothKinds) {
  const HostArray a = i32({7, -7, 7, -7}), b = i32({3, 3, -3, -3});
  expect_same(run([](const Array& x, const Array& y) { return fmod(x, y); }, a, b), {1, -1, 1, -1});
  const auto both = run_all(
      [](const Array& x, const Array& y) {
        const auto [q, r] = divmod(x, y);
        return std::pair{q, r};
      },
      a, b);
  expect_same(both[0], {2, -3, -3, 2});
  expect_same(both[1], {1, 2, -2, -1});
}

TEST(Arithmetic, FmaxIgnoresNan) {
  const HostArray a = f32({1, nan, nan, 2}), b = f32({nan, 3, nan, 5});
  expect_same(run([](const Array& x, const Array& y) { return fmax(x, y); }, a, b), {1, 3, nan, 5});
  expect_same(run([](const Array& x, const Array& y) { return fmin(x, y); }, a, b), {1, 3, nan, 2});
  const auto g = [](const Array& x, const Array& y) {
    return grad([&](const Array& v) { return sum(fmax(v, y) * 3); })(x);
  };
  expect_same(run(g, f32({1, 2, 5, 4}), f32({nan, 3, 1, 4})), {3, 0, 3, 1.5});
}

TEST(Arithmetic, Rounding) {
  expect_same(run([](const Array& x) { return round(x, 1); }, f32({0.25, 0.75, -1.26})),
              {static_cast<double>(0.2f), static_cast<double>(0.8f), static_cast<double>(-1.3f)});
  expect_same(run([](const Array& x) { return round(x, -2); }, f32({149, 250, -350})),
              {100, 200, -400});
  expect_same(run([](const Array& x) { return heaviside(x, 0.5); }, f32({-2, 0, 3, nan})),
              {0, 0.5, 1, nan});
}

TEST(Arithmetic, GcdAndLcm) {
  const Numbers a{12, -18, 0, 7, 0, 1836311903, 2147483646}, b{18, 12, 5, 0, 0, 1134903170, 4};
  const auto both = [](const Array& x, const Array& y) { return std::pair{gcd(x, y), lcm(x, y)}; };
  const auto r = run_all(both, i32(a), i32(b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<std::int64_t>(a[i]), y = static_cast<std::int64_t>(b[i]);
    EXPECT_EQ(r[0][i], static_cast<double>(std::gcd(x, y)));
    if (i < 5) {
      EXPECT_EQ(r[1][i], static_cast<double>(std::lcm(x, y)));
    }
  }
  testing::expect_lowering(test::graph_of(both, i32(a), i32(b)), {i32(a), i32(b)});
}

TEST(Arithmetic, LeadingZeros) {
  for (DType t : {DType::u8, DType::i16, DType::i32, DType::u64}) {
    const auto width = static_cast<double>(bits_of(t));
    expect_same(run([](const Array& x) { return clz(x); }, host(t, {5}, {0, 1, 2, 100, 127})),
                {width, width - 1, width - 2, width - 7, width - 7});
  }
  expect_same(run([](const Array& x) { return clz(x); }, i32({-1, -2147483648.0})), {0, 0});
}

TEST(Arithmetic, AnglesAndSinc) {
  expect_same(run([](const Array& x) { return rad2deg(deg2rad(x)); }, f32({90, -30})), {90, -30},
              1e-6);
  Numbers x, want;
  for (double v = -3; v < 3; v += 0.037) {
    x.push_back(static_cast<double>(static_cast<float>(v)));
    const double t = 3.141592653589793 * x.back();
    want.push_back(t == 0 ? 1 : std::sin(t) / t);
  }
  expect_same(run([](const Array& a) { return sinc(a); }, f32(x)), want, 3e-7);
  expect_differentiable([](const Array& a) { return sinc(a); }, {5}, {-1.5, -0.07, 0, 0.06, 2.2},
                        "sinc");
  // The second derivative at 0 is -pi^2 / 3.
  const auto second = [](const Array& a) {
    return grad([](const Array& v) { return grad([](const Array& u) { return sinc(u); })(v); })(a);
  };
  expect_same(run(second, f32(0.0)), {-3.2898681}, 1e-6);
}

TEST(Tests, ClosenessAndInfinities) {
  const HostArray a = f32({1, 1, inf, inf, nan, -inf, 0}),
                  b = f32({1.000005, 1.1, inf, -inf, nan, 5, 1e-9});
  expect_same(run([](const Array& x, const Array& y) { return isclose(x, y); }, a, b),
              {1, 0, 1, 0, 0, 0, 1});
  expect_same(
      run([](const Array& x, const Array& y) { return isclose(x, y, {.equal_nan = true}); }, a, b),
      {1, 0, 1, 0, 1, 0, 1});
  expect_same(run([](const Array& x) { return allclose(x, x + 1e-7); }, f32({1, 2})), {1});
  expect_same(run([](const Array& x) { return array_equal(x, zeros({3})); }, f32({0, 0})), {0});
  expect_same(run([](const Array& x) { return isposinf(x); }, a), {0, 0, 1, 1, 0, 0, 0});
  expect_same(run([](const Array& x) { return isneginf(x); }, a), {0, 0, 0, 0, 0, 1, 0});
  const double top = static_cast<double>(std::numeric_limits<float>::max());
  expect_same(run([](const Array& x) { return nan_to_num(x); }, f32({nan, inf, -inf, 2})),
              {0, top, -top, 2});
  expect_same(run([](const Array& x) { return nan_to_num(x, {.nan = 7, .neginf = -1.0}); },
                  f32({nan, inf, -inf, 2})),
              {7, top, -1, 2});
}

TEST(Spaced, LinspaceAndItsKin) {
  const auto made = [](auto f) { return run([=](const Array&) { return f(); }, f32(0.0)); };
  expect_same(made([] { return linspace(0, 1, 4, {.endpoint = false}); }), {0, .25, .5, .75});
  expect_same(made([] { return linspace(-1, 1, 3, {.dtype = DType::f64}); }), {-1, 0, 1});
  expect_same(made([] { return linspace(5, 9, 1, LinspaceOptions{}); }), {5});
  expect_same(made([] { return logspace(0, 3, 4); }), {1, 10, 100, 1000}, 1e-6);
  expect_same(made([] { return geomspace(-2, -32, 5); }), {-2, -4, -8, -16, -32}, 1e-6);
  expect_same(run([](const Array& x) { return one_hot(x, 3); }, i32({2, 0, 3, -1})),
              {0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST(AlongAnAxis, Differences) {
  const HostArray x = f32({2, 4}, {1, 4, 9, 16, 0, -1, 5, 5});
  expect_same(run([](const Array& a) { return diff(a); }, x), {3, 5, 7, -1, 6, 0});
  expect_same(run([](const Array& a) { return diff(a, 2); }, x), {2, 2, 7, -6});
  expect_same(run([](const Array& a) { return diff(a, 1, 0); }, x), {-1, -5, -4, -11});
  expect_same(run([](const Array& a) { return ediff1d(a); }, x), {3, 5, 7, -16, -1, 6, 0});
  expect_same(run([](const Array& a) { return diff(a > 3); }, x), {1, 0, 0, 0, 1, 0});
}

TEST(AlongAnAxis, GradientAndTrapezoid) {
  // Exact for parabolas inside, also on uneven coordinates.
  const Numbers at{0, 1, 1.5, 3.5, 4};
  Numbers y, slope;
  for (double x : at) {
    y.push_back(3 * x * x - x);
    slope.push_back(6 * x - 1);
  }
  slope.front() = (y[1] - y[0]) / (at[1] - at[0]);
  slope.back() = (y[4] - y[3]) / (at[4] - at[3]);
  expect_same(run([](const Array& v, const Array& x) { return gradient(v, x); }, f32(y), f32(at)),
              slope, 1e-6);
  const HostArray table = f32({3, 2}, {1, 2, 4, 6, 9, 1});
  expect_same(run([](const Array& v) { return gradient(v, 2.0, 0); }, table),
              {1.5, 2, 2, -0.25, 2.5, -2.5});
  expect_same(run([](const Array& v) { return trapezoid(v, 0.5, 0); }, table), {4.5, 3.75});
  double area = 0;
  for (std::size_t i = 1; i < at.size(); ++i) area += (at[i] - at[i - 1]) * (y[i] + y[i - 1]) / 2;
  expect_same(run([](const Array& v, const Array& x) { return trapezoid(v, x); }, f32(y), f32(at)),
              {area}, 1e-6);
  expect_differentiable([](const Array& v) { return gradient(v, 0.5, 1); }, {2, 4},
                        {1, 5, 2, 8, 0, 3, -1, 2}, "gradient");
}

TEST(AlongAnAxis, UnwrapFollowsThePhase) {
  Numbers phase, wrapped;
  for (int i = 0; i < 40; ++i) {
    phase.push_back(0.1 * i * i - 2 * i);
    wrapped.push_back(std::remainder(phase.back(), 6.283185307179586));
  }
  // Jumps of more than half a turn between neighbours cannot be told.
  for (std::size_t i = 1; i < phase.size(); ++i) {
    const double jump = std::remainder(wrapped[i] - wrapped[i - 1], 6.283185307179586);
    phase[i] = (i == 1 ? wrapped[0] : phase[i - 1]) + jump;
  }
  phase[0] = wrapped[0];
  expect_same(run([](const Array& x) { return unwrap(x); }, f32(wrapped)), phase, 1e-5);
  expect_same(run([](const Array& x) { return unwrap(x, 0, 4); }, f32({0, 2, 0, 3, 1, -1})),
              {0, 2, 0, -1, -3, -5});
}

TEST(AlongAnAxis, PolynomialsAndInterpolation) {
  expect_same(run([](const Array& c, const Array& x) { return polyval(c, x); }, f32({2, -3, 1}),
                  f32({0, 1, 2, -1})),
              {1, 0, 3, 6});
  const HostArray xp = f32({1, 2, 4}), fp = f32({10, 20, 0});
  expect_same(run([](const Array& x, const Array& p, const Array& f) { return interp(x, p, f); },
                  f32({0, 1, 1.5, 2, 3, 4, 9, nan}), xp, fp),
              {10, 10, 15, 20, 10, 0, 0, nan});
  expect_same(run([](const Array& x, const Array& p,
                     const Array& f) { return interp(x, p, f, -1.0, -2.0); },
                  f32({0, 1, 4, 5}), xp, fp),
              {-1, 10, 0, -2});
  const auto g = [](const Array& x, const Array& p, const Array& f) {
    const auto at = [&](const Array& v, const Array& q, const Array& h) {
      return sum(interp(v, q, h));
    };
    return std::tuple{grad([&](const Array& v) { return at(v, p, f); })(x),
                      grad([&](const Array& v) { return at(x, v, f); })(p),
                      grad([&](const Array& v) { return at(x, p, v); })(f)};
  };
  const auto r = run_all(g, f32({1.5, 3, 7}), xp, fp);
  expect_same(r[0], {10, -10, 0}, 1e-6);
  expect_same(r[1], {-5, 0, 5}, 1e-6);
  expect_same(r[2], {0.5, 1, 1.5});
}

TEST(AlongAnAxis, ConvolutionsAreLiteralSums) {
  for (const auto& [n, m] : {std::pair{5, 3}, {3, 5}, {4, 4}, {6, 1}, {1, 2}, {7, 4}}) {
    Numbers a, v;
    for (int i = 0; i < n; ++i) a.push_back(i * i - 3);
    for (int i = 0; i < m; ++i) v.push_back(2 * i + 1);
    Numbers full, flipped;
    for (int k = 0; k < n + m - 1; ++k) {
      double sum = 0, other = 0;
      for (int i = 0; i < n; ++i) {
        if (k - i >= 0 && k - i < m) sum += a[i] * v[k - i];
        const int j = i - k + m - 1;
        if (j >= 0 && j < m) other += a[i] * v[j];
      }
      full.push_back(sum);
      flipped.push_back(other);
    }
    const int shorter = std::min(n, m), longer = std::max(n, m);
    const auto middle = [](const Numbers& x, int from, int count) {
      return Numbers(x.begin() + from, x.begin() + from + count);
    };
    const auto r = run_all(
        [](const Array& x, const Array& y) {
          return std::tuple{convolve(x, y), convolve(x, y, Overlap::same),
                            convolve(x, y, Overlap::valid), correlate(x, y, Overlap::full),
                            correlate(x, y)};
        },
        f32(a), f32(v));
    expect_same(r[0], full);
    expect_same(r[1], middle(full, (shorter - 1) / 2, longer));
    expect_same(r[2], middle(full, shorter - 1, longer - shorter + 1));
    expect_same(r[3], flipped);
    expect_same(r[4], middle(flipped, shorter - 1, longer - shorter + 1));
  }
  expect_differentiable([](const Array& x) { return convolve(x, x * x); }, {5},
                        {1, -2, 0.5, 3, 1.5}, "convolve");
}

TEST(VectorProducts, CrossInnerVdot) {
  const HostArray a = f32({2, 3}, {1, 2, 3, -1, 0, 2}), b = f32({4, 5, 6});
  expect_same(run([](const Array& x, const Array& y) { return cross(x, y); }, a, b),
              {-3, 6, -3, -10, 14, -5});
  expect_same(run([](const Array& x) { return cross(x, x * x); }, f32({3, 2})), {-6});
  expect_same(run([](const Array& x, const Array& y) { return inner(x, y); }, a, b), {32, 8});
  expect_same(run([](const Array& x) { return vdot(x, x); }, a), {19});
}

// ---- activations

TEST(Activations, AreTheirFormulas) {
  const auto softplus_of = [](double x) { return std::log1p(std::exp(x)); };
  const auto sigmoid_of = [](double x) { return 1 / (1 + std::exp(-x)); };
  struct Activation {
    const char* name;
    std::function<Array(const Array&)> traced;
    std::function<double(double)> formula;
  };
  const std::vector<Activation> all{
      {"silu", [](const Array& x) { return silu(x); }, [=](double x) { return x * sigmoid_of(x); }},
      {"gelu", [](const Array& x) { return gelu(x); },
       [](double x) {
         return x / 2 *
                (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
       }},
      {"gelu exact", [](const Array& x) { return gelu(x, false); },
       [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2)); }},
      {"elu", [](const Array& x) { return elu(x, 0.7); },
       [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); }},
      {"celu", [](const Array& x) { return celu(x, 0.7); },
       [](double x) { return x > 0 ? x : 0.7 * std::expm1(x / 0.7); }},
      {"selu", [](const Array& x) { return selu(x); },
       [](double x) {
         return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
       }},
      {"leaky_relu", [](const Array& x) { return leaky_relu(x); },
       [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"relu6", [](const Array& x) { return relu6(x); },
       [](double x) { return std::fmin(std::fmax(x, 0), 6); }},
      {"soft_sign", [](const Array& x) { return soft_sign(x); },
       [](double x) { return x / (1 + std::fabs(x)); }},
      {"hard_tanh", [](const Array& x) { return hard_tanh(x); },
       [](double x) { return std::fmin(std::fmax(x, -1), 1); }},
      {"hard_sigmoid", [](const Array& x) { return hard_sigmoid(x); },
       [](double x) { return std::fmin(std::fmax(x + 3, 0), 6) / 6; }},
      {"hard_silu", [](const Array& x) { return hard_silu(x); },
       [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; }},
      {"log_sigmoid", [](const Array& x) { return log_sigmoid(x); },
       [=](double x) { return -softplus_of(-x); }},
      {"mish", [](const Array& x) { return mish(x); },
       [=](double x) { return x * std::tanh(softplus_of(x)); }},
  };
  const Numbers at{-7.1, -2.3, -0.9, -0.2, 0.4, 1.7, 5.5, 8.25};
  for (const Activation& f : all) {
    Numbers want;
    for (double x : at) want.push_back(f.formula(x));
    expect_same(run(f.traced, host(DType::f64, {8}, at)), want, 1e-14);
    expect_differentiable(f.traced, {8}, at, f.name);
  }
  // Large arguments leave no NaN behind.
  for (const Activation& f : all) {
    const auto g = [&](const Array& x) {
      return grad([&](const Array& v) { return sum(f.traced(v)); })(x);
    };
    for (double d : run(g, f32({-200, 200}))) EXPECT_TRUE(std::isfinite(d)) << f.name;
  }
}

TEST(Activations, GluHalvesAnAxis) {
  const HostArray x = f32({1, 4}, {2, -3, 0, 100});
  expect_same(run([](const Array& a) { return glu(a); }, x), {1, -3}, 1e-7);
  EXPECT_THAT(test::usage_error_of([](const Array& a) { return glu(a, 0); }, x),
              ::testing::HasSubstr("axis 0 of f32[1,4] has no two halves"));
}

TEST(Numeric, MisuseSaysWhat) {
  using ::testing::HasSubstr;
  const HostArray x = f32({1, 2, 3});
  const auto error = [&](auto f) { return test::usage_error_of(f, x); };
  EXPECT_THAT(error([](const Array& a) { return gcd(a, a); }),
              HasSubstr("gnomon::gcd: takes integers, got f32[3]"));
  EXPECT_THAT(error([](const Array& a) { return gradient(a[0]); }), HasSubstr("gnomon::gradient"));
  EXPECT_THAT(error([](const Array& a) { return trapezoid(a, zeros({2})); }),
              HasSubstr("f32[2] are no coordinates for 3 values"));
  EXPECT_THAT(error([](const Array& a) { return interp(a, a, zeros({2})); }),
              HasSubstr("f32[3] and f32[2] are no points"));
  EXPECT_THAT(error([](const Array& a) { return cross(a, zeros({4})); }),
              HasSubstr("the last axes have length 2 or 3"));
  EXPECT_THAT(error([](const Array& a) { return geomspace(-1, 2, 3) + a; }),
              HasSubstr("there are no equal factors"));
}

}  // namespace
}  // namespace gnomon
