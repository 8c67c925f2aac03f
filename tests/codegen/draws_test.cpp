// tests/codegen/draws_test.cpp -- how gamma draws move with their parameters, binomial draws
// against their probabilities, and 16-bit floats against the bits they are made of.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "codegen/primitives/elementwise/special_host.h"
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "gnomon/statistics.h"
#include "gnomon/transform.h"
#include "shaders/support/half.h"
#include "tests/codegen/host_random.h"
#include "tests/codegen/made_arrays.h"
#include "tests/support/lowering.h"

namespace gnomon {
namespace {

using made::graph_of;
using made::Numbers;
using made::numbers;
using random::Mode;
using test::HostKey;

// ---- derivatives of draws

/// The draw of shape `a` + h that has the probability of `x` under shape `a`.
double moved(double a, double x, double h) {
  const long double p = host::gammainc(a, x);
  long double low = x / 2, high = x * 2;
  for (int step = 0; step < 100; ++step) {
    const long double middle = (low + high) / 2;
    (host::gammainc(a + h, middle) < p ? low : high) = middle;
  }
  return static_cast<double>(low);
}

using GammaDraws = Array (*)(Key, Operand, const Shape&, DType);

/// The derivative of every draw in its own shape, `a` for all.
Numbers slopes(GammaDraws draws, double a, Dim count) {
  return numbers([=] {
    return grad([=](const Array& shape) {
      return sum(draws(random::key(4), shape, {count}, DType::f32));
    })(full({count}, a));
  });
}

TEST(GammaDraws, MoveWithTheirShapeAtAConstantProbability) {
  for (double a : {0.3, 0.9, 2.5, 30.0}) {
    constexpr Dim n = 12;
    const Numbers x = numbers([=] { return random::gamma(random::key(4), a, {n}); });
    const Numbers logs = numbers([=] { return random::loggamma(random::key(4), a, {n}); });
    const Numbers slope = slopes(random::gamma, a, n), log_slope = slopes(random::loggamma, a, n);
    const double h = 1e-4 * a;
    const auto rate = [&](double at) { return (moved(a, at, h) - moved(a, at, -h)) / (2 * h); };
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] > 1e-5) {
        EXPECT_NEAR(slope[i], rate(x[i]), 1e-4 * std::fabs(rate(x[i])) + 1e-6) << a << " " << x[i];
      }
      const double y = std::exp(logs[i]);
      if (y > 1e-5) {
        EXPECT_NEAR(log_slope[i], rate(y) / y, 1e-4 * std::fabs(rate(y) / y)) << a << " " << y;
      }
    }
  }
}

TEST(GammaDraws, MoveBelowTheSmallestFloat) {
  // log(x) = (log(P) + lgamma(a + 1)) / a next to 0.
  const double a = 0.004, h = 1e-6;
  constexpr Dim n = 20;
  const Numbers x = numbers([=] { return random::loggamma(random::key(4), a, {n}); });
  const Numbers log_slope = slopes(random::loggamma, a, n), slope = slopes(random::gamma, a, n);
  int tiny = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(std::isfinite(slope[i])) << x[i];
    if (x[i] > -20) continue;
    ++tiny;
    const double log_p = a * x[i] - std::lgamma(a + 1);
    const auto at = [&](double s) { return (log_p + std::lgamma(s + 1)) / s; };
    const double want = (at(a + h) - at(a - h)) / (2 * h);
    EXPECT_NEAR(log_slope[i], want, 1e-4 * std::fabs(want));
  }
  EXPECT_GT(tiny, 10);
}

/// The derivative of f(a, b) in both at (2, 3).
Numbers gradient(const std::function<Array(const Array&, const Array&)>& f) {
  const Numbers in_a = numbers(
      [&] { return grad([&](const Array& a) { return f(a, full({}, 3.0)); })(full({}, 2.0)); });
  const Numbers in_b = numbers(
      [&] { return grad([&](const Array& b) { return f(full({}, 2.0), b); })(full({}, 3.0)); });
  return {in_a[0], in_b[0]};
}

TEST(GammaDraws, MeansOfWhatIsMadeOfThemMoveToo) {
  const Shape n{3000};
  // a / (a + b), of a beta distribution and as the first of two weights.
  const Numbers beta = gradient(
      [&](const Array& a, const Array& b) { return mean(random::beta(random::key(5), a, b, n)); });
  const Numbers weights = gradient([&](const Array& a, const Array& b) {
    const Array x = random::dirichlet(random::key(5), stack({a, b}), n);
    return mean(slice_axis(x, 1, 0, 1));
  });
  for (const Numbers& d : {beta, weights}) {
    EXPECT_NEAR(d[0], 3.0 / 25, 0.004);
    EXPECT_NEAR(d[1], -2.0 / 25, 0.004);
  }
  const Numbers square = gradient([&](const Array& a, const Array& b) {
    return mean(random::chisquare(random::key(5), a, n)) * b;
  });
  EXPECT_NEAR(square[0], 3, 0.1);
  EXPECT_NEAR(square[1], 2, 0.15);
}

// What the pullback of a step knows of the shape is there for the derivative of that, too.
TEST(GammaDraws, MixedDerivativesHoldInLoops) {
  const auto once = [](const Array& a, const Array& b) {
    return b * random::gamma(random::key(3), a, {});
  };
  const auto twice = [&](const Array& a, const Array& b) {
    return fori_loop(
        0, 2, [&](Array, Array c) { return c + once(a, b); }, full({}, 0.0));
  };
  const auto mixed = [](const auto& f) {
    return numbers([&] {
      return grad([&](const Array& a) {
        return grad([&](const Array& b) { return f(a, b); })(full({}, 3.0));
      })(full({}, 2.0));
    })[0];
  };
  EXPECT_GT(mixed(once), 0.3);
  EXPECT_NEAR(mixed(twice), 2 * mixed(once), 1e-5);
}

TEST(GammaDraws, CountsGetNoDerivative) {
  const Numbers d = numbers([] {
    return grad([](const Array& p) { return random::binomial(random::key(4), 50, p, {}) * p; })(
        full({}, 0.4));
  });
  EXPECT_EQ(d, numbers([] { return random::binomial(random::key(4), 50, 0.4, {}); }));
}

// ---- binomial draws

/// Pearson's statistic of draws against their probabilities, in standard deviations from its mean;
/// neighbours with fewer than five expected are one class.
double surprise(const Numbers& drawn, double n, double p) {
  const auto total = static_cast<double>(drawn.size());
  std::vector<double> seen(static_cast<std::size_t>(n) + 1, 0);
  for (double x : drawn) seen[static_cast<std::size_t>(x)] += 1;
  double statistic = 0, expected = 0, count = 0, classes = 0;
  const auto close = [&] {
    statistic += (count - expected) * (count - expected) / expected;
    classes += 1, expected = count = 0;
  };
  double left = total;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    const auto x = static_cast<double>(k);
    const double log_p = std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                         x * std::log(p) + (n - x) * std::log1p(-p);
    const double here = total * std::exp(log_p);
    expected += here, count += seen[k], left -= here;
    if (expected >= 5 && left >= 5) close();
  }
  close();
  return (statistic - (classes - 1)) / std::sqrt(2 * (classes - 1));
}

TEST(Binomial, DrawsHaveTheirProbabilities) {
  struct Trials {
    double n, p;
  };
  for (Mode mode : {Mode::partitionable, Mode::original})
    for (const Trials& trials : {Trials{1, 0.3},
                                 {5, 0.5},
                                 {12, 0.93},
                                 {90, 0.1},
                                 {40, 0.26},
                                 {100, 0.5},
                                 {100, 0.85},
                                 {3000, 0.3}}) {
      const double n = trials.n, p = trials.p;
      const Numbers x =
          numbers([&] { return random::binomial(random::key(11, mode), n, p, {4000}); });
      for (double v : x) ASSERT_TRUE(v >= 0 && v <= n && v == std::floor(v)) << v;
      EXPECT_LT(surprise(x, n, p), 4.5) << n << " " << p;
    }
}

TEST(Binomial, LargeCountsHaveTheirMoments) {
  for (DType t : {DType::f32, DType::f64})
    for (double p : {1e-6, 0.03, 0.6}) {
      const double n = 8e6, mean = n * p, variance = n * p * (1 - p);
      const Numbers x = numbers([&] { return random::binomial(random::key(3), n, p, {4000}, t); });
      double sum = 0, squares = 0;
      for (double v : x) sum += v - mean, squares += (v - mean) * (v - mean);
      // The probability itself is a float.
      EXPECT_NEAR(sum / 4000, 0, 4 * std::sqrt(variance / 4000) + mean * 0x1p-24) << p;
      EXPECT_NEAR(squares / 4000, variance, 0.1 * variance) << p;
    }
}

TEST(Binomial, EndsAreCertainAndNonsenseIsNaN) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(numbers([] {
              return random::binomial(random::key(1), array({0.0f, 7.0f, 7.0f, 7.9f, 0.0f, 1e7f}),
                                      array({0.4f, 0.0f, 1.0f, 1.0f, 1.0f, 1.0f}), {6});
            }),
            (Numbers{0, 0, 7, 7, 0, 1e7}));
  for (double v : numbers([=] {
         return random::binomial(random::key(1), array({-1.0f, 5.0f, 5.0f, nan, 5.0f, inf}),
                                 array({0.4f, -0.1f, 1.1f, 0.5f, nan, 0.5f}), {6});
       }))
    EXPECT_TRUE(std::isnan(v)) << v;
}

// ---- 16-bit floats

double rounded(DType t, double x) {
  const auto once = static_cast<float>(x);  // exact: products and sums of short numbers
  return static_cast<double>(t == DType::f16 ? f16_value(f16_bits(once))
                                             : bf16_value(bf16_bits(once)));
}

TEST(Halves, AreMadeOfAsManyBitsAsTheyHave) {
  struct Kind {
    DType type, word;
    int dropped;
    double scale;
  };
  for (Mode mode : {Mode::partitionable, Mode::original})
    for (const Kind& k :
         {Kind{DType::f16, DType::u16, 6, 0x1p-10}, {DType::bf16, DType::u8, 1, 0x1p-7}}) {
      constexpr Dim n = 500;
      const auto key = [=] { return random::key(2, mode); };
      const Numbers words = numbers([&] { return random::bits(key(), {n}, k.word); });
      const Numbers unit = numbers([&] { return random::uniform(key(), {n}, 0, 1, k.type); });
      const Numbers wide = numbers([&] { return random::uniform(key(), {n}, -2, 3, k.type); });
      for (std::size_t i = 0; i < n; ++i) {
        const double u = static_cast<double>(static_cast<int>(words[i]) >> k.dropped) * k.scale;
        ASSERT_EQ(unit[i], u);
        ASSERT_EQ(wide[i], rounded(k.type, rounded(k.type, u * 5) - 2));
      }
    }
}

TEST(Halves, NormalsAreThePolynomialOfTheirOwnUniforms) {
  for (const auto& [type, unit] : {std::pair{DType::f16, 0x1p-11}, {DType::bf16, 0x1p-8}}) {
    constexpr Dim n = 4000;
    const DType t = type;
    const double low = unit - 1;  // the float above -1
    const Numbers z = numbers([=] { return random::normal(random::key(6), {n}, t); });
    const Numbers u = numbers([=] { return random::uniform(random::key(6), {n}, low, 1, t); });
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double want =
          std::numbers::sqrt2 * static_cast<double>(HostKey::erf_inv(static_cast<float>(u[i])));
      // The root of two, the inverse and the product are rounded.
      ASSERT_NEAR(z[i], want, 3 * unit * std::fabs(want)) << u[i];
      sum += z[i], squares += z[i] * z[i];
    }
    EXPECT_NEAR(sum / n, 0, 0.08);
    EXPECT_NEAR(squares / n, 1, 0.08);
  }
}

TEST(Draws, LowerToKernels) {
  const auto lowers = [](const std::function<Array()>& f) {
    testing::expect_lowering(graph_of(f), {});
  };
  lowers([] {
    return random::binomial(random::key(4), array({3.0f, 30.0f, 400.0f, 9e5f}),
                            array({.3f, .2f, .9f, .4f}), {4});
  });
  lowers([] { return random::uniform(random::key(4), {9}, -1, 2, DType::bf16); });
  lowers([] { return random::normal(random::key(4), {9}, DType::f16); });
  lowers([] {
    return grad([](const Array& a) { return sum(random::gamma(random::key(4), a, {3})); })(
        array({.3f, 2.0f, 30.0f}));
  });
}

}  // namespace
}  // namespace gnomon
