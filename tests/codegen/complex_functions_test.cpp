// tests/codegen/complex_functions_test.cpp -- functions of complex numbers: derivatives at the
// points where a part of the formula has none, orders above the first, vmap, errors.
#include <complex>

#include "gnomon/complex.h"
#include "gnomon/jacobian.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;
using Number = std::complex<double>;
using C = const Complex&;

/// f at z, and its derivatives up to the third, in the direction of the real axis.
template <class F>
std::vector<Number> derivatives(F f, Number z) {
  const auto at = [&](const Array& x, const Array& y) {
    const auto value = [&](const Array& t) { return f(Complex{t, y}); };
    const auto moved = [](auto g) {
      return [g](const Array& t) { return jvp(g, t, ones_like(t)).second; };
    };
    const auto first = moved(value);
    const auto second = moved(first);
    const auto third = moved(second);
    const Complex a = value(x), b = first(x), c = second(x), d = third(x);
    return std::vector<Array>{a.re, a.im, b.re, b.im, c.re, c.im, d.re, d.im};
  };
  const auto r = run_all(at, host(DType::f64, {}, {z.real()}), host(DType::f64, {}, {z.imag()}));
  std::vector<Number> all;
  for (std::size_t i = 0; i < r.size(); i += 2) all.emplace_back(r[i][0], r[i + 1][0]);
  return all;
}

void expect_all(const std::vector<Number>& got, const std::vector<Number>& want,
                const std::string& what, double tolerance = 1e-12) {
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_LE(std::abs(got[i] - want[i]), tolerance * (1 + std::abs(want[i])))
        << what << ", derivative " << i << ": " << got[i] << " is not " << want[i];
}

TEST(ComplexFunctions, HaveDerivativesOfThreeOrders) {
  const Number z{0.75, 0.5}, one = 1.0, i{0, 1};
  const Number e = std::exp(z), s = std::sin(z), c = std::cos(z), sh = std::sinh(z),
               ch = std::cosh(z), l = std::log(z), r = std::sqrt(z), t = std::tanh(z);
  expect_all(derivatives([](C x) { return exp(x); }, z), {e, e, e, e}, "exp");
  expect_all(derivatives([](C x) { return expm1(x); }, z), {e - one, e, e, e}, "expm1");
  expect_all(derivatives([](C x) { return log(x); }, z),
             {l, one / z, -one / (z * z), 2.0 / (z * z * z)}, "log");
  expect_all(derivatives([](C x) { return sqrt(x); }, z),
             {r, 0.5 / r, -0.25 / (r * z), 0.375 / (r * z * z)}, "sqrt");
  expect_all(derivatives([](C x) { return sin(x); }, z), {s, c, -s, -c}, "sin");
  expect_all(derivatives([](C x) { return cos(x); }, z), {c, -s, -c, s}, "cos");
  expect_all(derivatives([](C x) { return sinh(x); }, z), {sh, ch, sh, ch}, "sinh");
  expect_all(derivatives([](C x) { return cosh(x); }, z), {ch, sh, ch, sh}, "cosh");
  const Number d = one - t * t;
  expect_all(derivatives([](C x) { return tanh(x); }, z), {t, d, -2.0 * t * d}, "tanh");
  const Number w = one - z * z, q = std::sqrt(w);
  expect_all(derivatives([](C x) { return asin(x); }, z),
             {std::asin(z), one / q, z / (w * q), (one + 2.0 * z * z) / (w * w * q)}, "asin");
  expect_all(derivatives([](C x) { return atanh(x); }, z),
             {std::atanh(z), one / w, 2.0 * z / (w * w)}, "atanh");
  const Number p = std::pow(z, 2.5);
  expect_all(derivatives([](C x) { return pow(x, 2.5); }, z),
             {p, 2.5 * p / z, 3.75 * p / (z * z), 1.875 * p / (z * z * z)}, "pow");
  const Number k{0.5, -1}, pk = std::pow(z, k);
  expect_all(
      derivatives([](C x) { return pow(x, complex(full({}, 0.5, DType::f64), -1)); }, z),
      {pk, k * pk / z, k * (k - one) * pk / (z * z), k * (k - one) * (k - 2.0) * pk / (z * z * z)},
      "pow of a complex exponent");
  const Number lz = std::log(k), ek = std::pow(k, z);
  expect_all(derivatives([](C x) { return pow(complex(full({}, 0.5, DType::f64), -1), x); }, z),
             {ek, lz * ek, lz * lz * ek, lz * lz * lz * ek}, "pow in the exponent");
  (void)i;
}

TEST(ComplexFunctions, HaveFiniteDerivativesOnTheAxesAndAtZero) {
  expect_all(derivatives([](C x) { return sin(x); }, 0.0), {0, 1, 0, -1}, "sin at 0");
  expect_all(derivatives([](C x) { return cosh(x); }, 0.0), {1, 0, 1, 0}, "cosh at 0");
  expect_all(derivatives([](C x) { return tanh(x); }, 0.0), {0, 1, 0, -2}, "tanh at 0");
  expect_all(derivatives([](C x) { return asin(x); }, 0.0), {0, 1, 0, 1}, "asin at 0");
  expect_all(derivatives([](C x) { return atan(x); }, 0.0), {0, 1, 0, -2}, "atan at 0");
  expect_all(derivatives([](C x) { return log1p(x); }, 0.0), {0, 1, -1, 2}, "log1p at 0");
  expect_all(derivatives([](C x) { return pow(x, 2); }, 0.0), {0, 0, 2}, "z^2 at 0");
  expect_all(derivatives([](C x) { return pow(x, 3); }, 0.0), {0, 0, 0}, "z^3 at 0");
  expect_all(derivatives([](C x) { return pow(x, 0); }, 0.0), {1, 0, 0}, "z^0 at 0");
  expect_all(derivatives([](C x) { return sqrt(x); }, -4.0), {{0, 2}, {0, -0.25}, {0, -1.0 / 32}},
             "sqrt on its cut");
  expect_all(derivatives([](C x) { return log(x); }, 1.0), {0, 1, -1, 2}, "log at 1");
}

TEST(ComplexFunctions, GradientsAreThoseOfBothParts) {
  // |exp(z)|^2 = e^(2 x).
  const auto g = run_all(
      [](const Array& x, const Array& y) {
        return grad([](const Complex& z) { return norm_squared(exp(z)); })(Complex{x, y});
      },
      host(DType::f64, {}, {0.5}), host(DType::f64, {}, {0.25}));
  EXPECT_NEAR(g[0][0], 2 * std::exp(1.0), 1e-14);
  EXPECT_NEAR(g[1][0], 0, 1e-14);
}

TEST(ComplexFunctions, AreMappedElementByElement) {
  const HostArray re = host(DType::f64, {3}, {0.5, -1, 2}), im = host(DType::f64, {3}, {1, 0, -3});
  const auto all = [](const Complex& z) {
    return std::vector<Complex>{exp(z), log(z), sqrt(z), pow(z, z), acos(z), tan(z)};
  };
  const auto whole = [&](const Array& x, const Array& y) { return all(Complex{x, y}); };
  const auto mapped = [&](const Array& x, const Array& y) { return vmap(all)(Complex{x, y}); };
  const auto want = run_all(whole, re, im), got = run_all(mapped, re, im);
  ASSERT_EQ(got.size(), 12u);
  EXPECT_EQ(got, want);
}

TEST(ComplexFunctions, BroadcastAndPromoteTheirParts) {
  const auto f = [](const Array& x) { return sqrt(Complex{x, full({2, 1}, 0, DType::i32)}); };
  const auto r = run_arrays(f, f32({4, 9}));
  EXPECT_EQ(r[0].aval, (Aval{DType::f32, {2, 2}}));
  EXPECT_EQ(numbers(r[0]), (Numbers{2, 3, 2, 3}));
}

TEST(ComplexFunctions, PowersOfZero) {
  const auto f = [](const Array& x) {
    const Complex zero{x * 0, x * 0};
    return pow(zero, Complex{x, zeros_like(x)});
  };
  const auto r = run_all(f, f32({2, 0, -1}));
  EXPECT_EQ(r[0][0], 0);
  EXPECT_EQ(r[0][1], 1);
  EXPECT_TRUE(std::isnan(r[0][2]));
  EXPECT_EQ(r[1][0], 0);
  EXPECT_EQ(r[1][1], 0);
}

}  // namespace
}  // namespace gnomon::test
