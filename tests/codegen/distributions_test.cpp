// tests/codegen/distributions_test.cpp -- distributions against known answers, their formulas and
// their algorithms written down again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <string_view>

#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "gnomon/transform.h"
#include "tests/codegen/host_random.h"
#include "tests/codegen/made_arrays.h"
#include "tests/support/lowering.h"

namespace gnomon {
namespace {

using random::Mode;
using test::HostKey;
using Draw = std::function<Array(Key)>;
using made::graph_of;
using made::integers;
using made::message;
using made::Numbers;
using made::numbers;
using made::value;

// ---- known answers: JAX's own tests draw five elements from a key whose seed is the Adler-32
// checksum (RFC 1950) of the distribution's name and the generator's, in the original mode

std::uint32_t adler32(const std::string& text) {
  std::uint32_t a = 1, b = 0;
  for (unsigned char c : text) {
    a = (a + c) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

struct Known {
  const char* name;
  Draw draw;
  Numbers expected;
};

TEST(Distributions, KnownAnswers) {
  const Shape five{5};
  const std::vector<Known> all{
      {"uniform",
       [=](Key k) { return random::uniform(std::move(k), five); },
       {.298671, .073213, .873356, .260549, .412797}},
      {"normal",
       [=](Key k) { return random::normal(std::move(k), five); },
       {-1.173234, -1.511662, .070593, -.099764, 1.052845}},
      {"bernoulli",
       [=](Key k) { return random::bernoulli(std::move(k), .5, five); },
       {0, 1, 1, 1, 0}},
      {"rademacher",
       [=](Key k) { return random::rademacher(std::move(k), five, DType::i32); },
       {-1, -1, -1, -1, 1}},
      {"randint",
       [=](Key k) { return random::randint(std::move(k), five, 0, 10); },
       {0, 5, 7, 7, 5}},
      {"bits",
       [=](Key k) { return random::bits(std::move(k), five, DType::u8); },
       {10, 158, 82, 54, 158}},
      {"bits",
       [=](Key k) { return random::bits(std::move(k), five, DType::u16); },
       {6738, 38161, 50695, 57337, 61600}},
      {"bits",
       [=](Key k) { return random::bits(std::move(k), five); },
       {1978747883, 4134381225, 3628107870, 689687174, 2788938207}},
      {"exponential",
       [=](Key k) { return random::exponential(std::move(k), five); },
       {.526067, .043046, .039932, .46427, .123886}},
      {"gumbel",
       [=](Key k) { return random::gumbel(std::move(k), five); },
       {2.06701, .911726, .145736, .185427, -.00711}},
      {"laplace",
       [=](Key k) { return random::laplace(std::move(k), five); },
       {.578939, -.204902, .555733, .911053, -.96456}},
      {"logistic",
       [=](Key k) { return random::logistic(std::move(k), five); },
       {.19611, -1.709053, -.274093, -.208322, -1.675489}},
      {"cauchy",
       [=](Key k) { return random::cauchy(std::move(k), five); },
       {-.088416, -10.169713, 3.49677, -1.18056, .34556}},
      {"truncated_normal",
       [=](Key k) { return random::truncated_normal(std::move(k), 0, 2, five); },
       {.582807, 1.709771, .159513, .861376, .36148}},
      {"maxwell",
       [=](Key k) { return random::maxwell(std::move(k), five); },
       {3.070779, .908479, 1.521317, .875551, 1.306137}},
      {"pareto",
       [=](Key k) { return random::pareto(std::move(k), .5, five); },
       {2.751398, 1.281863, 87.85448, 1.254542, 2.824487}},
      {"double_sided_maxwell",
       [=](Key k) { return random::double_sided_maxwell(std::move(k), 1, 2, five); },
       {-2.408914, -3.370437, 3.235352, -.907734, -1.708732}},
      {"poisson", [=](Key k) { return random::poisson(std::move(k), 5, five); }, {7, 3, 6, 11, 6}},
      {"multivariate_normal",
       [](Key k) {
         return random::multivariate_normal(std::move(k), ones({1, 3}), eye(3), {2});
       },
       {1.067826, 1.215599, .234166, -.237534, 1.32591, 1.413987}},
      {"weibull_min",
       [=](Key k) { return random::weibull(std::move(k), 1, 1, five); },
       {1.605863, .841809, .224218, .4826, .027901}},
      {"gamma",
       [=](Key k) { return random::gamma(std::move(k), .8, five); },
       {.824221, 1.724476, .502882, 5.386132, .685543}},
      {"loggamma",
       [=](Key k) { return random::loggamma(std::move(k), .8, five); },
       {.240559, -3.575443, -.450946, -2.161372, -2.943277}},
      {"beta",
       [=](Key k) { return random::beta(std::move(k), .8, .9, five); },
       {.13259, .824893, .948363, .964155, .235448}},
      {"dirichlet",
       [=](Key k) {
         return random::dirichlet(std::move(k), array({.5f, .6f, .7f}), {2});
       },
       {.003128, .009694, .987178, .025938, .479091, .494971}},
  };
  for (const Known& known : all) {
    const std::uint32_t seed = adler32(std::string(known.name) + "threefry2x32");
    const Numbers drawn =
        numbers(value([&] { return known.draw(random::key(seed, Mode::original)); }));
    ASSERT_EQ(drawn.size(), known.expected.size()) << known.name;
    for (std::size_t i = 0; i < drawn.size(); ++i)
      EXPECT_NEAR(drawn[i], known.expected[i], 1e-6 + 1e-5 * std::fabs(known.expected[i]))
          << known.name << " " << i;
  }
}

// ---- formulas in double precision of the host's own uniform draws, both modes

struct Formula {
  const char* name;
  Draw draw;
  std::function<double(double u)> of_uniform;
  float lo = 0, hi = 1;
};

constexpr Dim many = 1001;

std::vector<Formula> formulas() {
  const Shape n{many};
  constexpr float tiny = std::numeric_limits<float>::min(), eps = 0x1p-23f;
  return {
      {"uniform", [=](Key k) { return random::uniform(std::move(k), n, -2, 3); },
       [](double u) { return u; }, -2, 3},
      {"exponential", [=](Key k) { return random::exponential(std::move(k), n); },
       [](double u) { return -std::log1p(-u); }},
      {"gumbel", [=](Key k) { return random::gumbel(std::move(k), n); },
       [](double u) { return -std::log(-std::log(u)); }, tiny, 1},
      {"laplace", [=](Key k) { return random::laplace(std::move(k), n); },
       [](double u) { return std::copysign(1, u) * std::log1p(-std::fabs(u)); }, eps / 2 - 1, 1},
      {"logistic", [=](Key k) { return random::logistic(std::move(k), n); },
       [](double u) { return std::log(u) - std::log1p(-u); }, tiny, 1},
      {"cauchy", [=](Key k) { return random::cauchy(std::move(k), n); },
       // The argument rounds to single precision: near the poles that shows.
       [](double u) {
         return std::tan(
             static_cast<double>(std::numbers::pi_v<float> * (static_cast<float>(u) - 0.5f)));
       },
       eps, 1},
      {"pareto", [=](Key k) { return random::pareto(std::move(k), 2.5, n); },
       [](double u) { return std::pow(1 - u, -1 / 2.5); }},
      {"rayleigh", [=](Key k) { return random::rayleigh(std::move(k), 1.5, n); },
       [](double u) { return 1.5 * std::sqrt(-2 * std::log(u)); }},
      {"weibull", [=](Key k) { return random::weibull(std::move(k), 2, 3, n); },
       [](double u) { return 2 * std::cbrt(-std::log1p(-u)); }},
      {"geometric", [=](Key k) { return random::geometric(std::move(k), .25, n); },
       [](double u) { return std::floor(std::log(u) / std::log1p(-.25)) + 1; }},
      {"triangular", [=](Key k) { return random::triangular(std::move(k), -1, 0, 3, n); },
       [](double u) {
         return u < 0.25 ? -1 + std::sqrt(u * 4 * 1) : 3 - std::sqrt((1 - u) * 4 * 3);
       }},
      {"bernoulli", [=](Key k) { return random::bernoulli(std::move(k), .3, n); },
       [](double u) { return u < static_cast<double>(.3f) ? 1.0 : 0.0; }},
  };
}

TEST(Distributions, AreTheirFormulas) {
  for (Mode mode : {Mode::partitionable, Mode::original})
    for (const Formula& f : formulas()) {
      const Numbers drawn = numbers(value([&] { return f.draw(random::key(17, mode)); }));
      const std::vector<float> u = HostKey(17, mode).uniform(many, f.lo, f.hi);
      ASSERT_EQ(drawn.size(), u.size());
      for (std::size_t i = 0; i < u.size(); ++i) {
        const double want = f.of_uniform(static_cast<double>(u[i]));
        ASSERT_NEAR(drawn[i], want, 1e-6 + 1e-5 * std::fabs(want)) << f.name << " of " << u[i];
      }
    }
}

TEST(Distributions, NormalsAreGilesPolynomial) {
  const std::vector<float> want = HostKey(5).normal(many);
  const Numbers z = numbers(value([] { return random::normal(random::key(5), {many}); }));
  const Numbers e = numbers(value([] { return random::lognormal(random::key(5), 2, {many}); }));
  const Numbers far =
      numbers(value([] { return random::truncated_normal(random::key(5), 2, 2.5, {many}); }));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto x = static_cast<double>(want[i]);
    ASSERT_NEAR(z[i], x, 1e-6 + 1e-5 * std::fabs(x));
    ASSERT_NEAR(e[i], std::exp(2 * x), 1e-6 + 2e-5 * std::exp(2 * x));
    ASSERT_GT(far[i], 2);
    ASSERT_LT(far[i], 2.5);
  }
}

TEST(Distributions, SphereAndBallHaveTheirRadii) {
  const HostArray on = value([] { return random::sphere(random::key(1), 3, {200}); });
  const HostArray in = value([] { return random::ball(random::key(1), 3, 2, {400}); });
  double inner = 0;
  for (Dim i = 0; i < 400; ++i) {
    const auto radius = [&](const HostArray& a) {
      return std::hypot(a.number(3 * i), a.number(3 * i + 1), a.number(3 * i + 2));
    };
    if (i < 200) {
      EXPECT_NEAR(radius(on), 1, 1e-6);
    }
    EXPECT_LT(radius(in), 1);
    inner += radius(in) < 0.5;
  }
  EXPECT_NEAR(inner / 400, 0.125, 0.05);
}

TEST(Distributions, CategoricalIsTheLargestNoisyLogit) {
  const auto logits = [] { return reshape(log(array({.1f, .2f, .7f, .6f, .3f, .1f})), {2, 3}); };
  const HostArray rows = value([&] {
    return random::categorical(random::key(2), logits(), -1, Shape{2000, 2});
  });
  const HostArray columns = value([&] {
    return random::categorical(random::key(2), transpose(logits()), 0, Shape{2000, 2});
  });
  double share[2][3] = {}, column_share[2][3] = {};
  for (Dim i = 0; i < 4000; ++i) {
    share[i % 2][rows.integer(i)] += 1 / 2000.0;
    column_share[i % 2][columns.integer(i)] += 1 / 2000.0;
  }
  const double want[2][3] = {{.1, .2, .7}, {.6, .3, .1}};
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(share[r][c], want[r][c], 0.04);
      EXPECT_NEAR(column_share[r][c], want[r][c], 0.04);
    }
  const Numbers one = numbers(value([&] { return random::categorical(random::key(2), logits()); }));
  const Numbers literal = numbers(value([&] {
    return argmax(random::gumbel(random::key(2), {2, 3}) + logits(), 1);
  }));
  EXPECT_EQ(one, literal);
}

// ---- rejection, written down literally in single precision

float host_gamma(const HostKey& start, float a, bool logarithm) {
  const bool boosted = a < 1;
  const float d = (boosted ? a + 1 : a) - 1.0f / 3, c = (1.0f / 3) / std::sqrt(d);
  const auto keys = start.split(2);
  HostKey key = keys[0];
  float square = 0, v3 = 1, u = 2;
  while (u >= 1 - 0.0331f * (square * square) &&
         std::log(u) >= square * 0.5f + d * (1 - v3 + std::log(v3))) {
    const auto three = key.split(3);
    key = three[0];
    HostKey proposals = three[1];
    float x = 0, v = -1;
    while (v <= 0) {
      const auto two = proposals.split(2);
      proposals = two[0];
      x = two[1].normal(1)[0];
      v = 1 + x * c;
    }
    square = x * x;
    v3 = v * v * v;
    u = three[2].uniform(1)[0];
  }
  const float last = keys[1].uniform(1)[0];
  if (logarithm) {
    const float log_u = std::log1p(-last);
    return std::log(d) + std::log(v3) + (boosted && log_u < 0 ? log_u / a : 0);
  }
  return d * v3 * (boosted ? std::pow(1 - last, 1 / a) : 1);
}

void expect_nearly_all(const Numbers& drawn, const Numbers& want, const char* what,
                       double part = 0.999) {
  ASSERT_EQ(drawn.size(), want.size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    same += std::fabs(drawn[i] - want[i]) <= 1e-5 + 1e-4 * std::fabs(want[i]);
  EXPECT_GE(static_cast<double>(same), part * static_cast<double>(want.size())) << what;
}

TEST(Rejection, GammaDrawsAreTheLiteralAlgorithms) {
  for (Mode mode : {Mode::partitionable, Mode::original})
    for (float a : {.2f, .8f, 1.0f, 3.5f, 60.0f})
      for (bool logarithm : {false, true}) {
        Numbers want;
        for (const HostKey& k : HostKey(8, mode).split(500))
          want.push_back(host_gamma(k, a, logarithm));
        const Numbers drawn = numbers(value([=] {
          return logarithm ? random::loggamma(random::key(8, mode), a, {500})
                           : random::gamma(random::key(8, mode), a, {500});
        }));
        expect_nearly_all(drawn, want, "gamma");
      }
}

double host_poisson(HostKey key, float rate, std::size_t i, std::size_t n) {
  if (rate < 10) {
    double k = -1;
    for (float log_product = 0; log_product > -rate; ++k) {
      const auto keys = key.split(2);
      key = keys[0];
      log_product += std::log(keys[1].uniform(n)[i]);
    }
    return std::fmax(k, 0);
  }
  const float b = 0.931f + 2.53f * std::sqrt(rate), a = -0.059f + 0.02483f * b;
  const float inverse_alpha = 1.1239f + 1.1328f / (b - 3.4f), v_r = 0.9277f - 3.6224f / (b - 2);
  for (;;) {
    const auto keys = key.split(3);
    key = keys[0];
    const float u = keys[1].uniform(n)[i] - 0.5f, v = keys[2].uniform(n)[i];
    const float edge = 0.5f - std::fabs(u);
    const float k = std::floor((2 * a / edge + b) * u + rate + 0.43f);
    if (edge >= 0.07f && v <= v_r) return k;
    if (k < 0 || (edge < 0.013f && v > edge)) continue;
    if (std::log(v * inverse_alpha / (a / (edge * edge) + b)) <=
        -rate + k * std::log(rate) - std::lgamma(k + 1))
      return k;
  }
}

TEST(Rejection, PoissonDrawsAreTheLiteralAlgorithms) {
  for (Mode mode : {Mode::partitionable, Mode::original})
    for (float rate : {0.0f, 0.5f, 5.0f, 9.9f, 10.0f, 40.0f, 3000.0f}) {
      Numbers want;
      for (std::size_t i = 0; i < 201; ++i)
        want.push_back(host_poisson(HostKey(8, mode), rate, i, 201));
      // At 3,000 a draw is accepted by comparing sums of terms of 24,000, which are right to some
      // 0.002: one draw in 500 may be decided either way.
      expect_nearly_all(
          numbers(value([=] { return random::poisson(random::key(8, mode), rate, {201}); })), want,
          "poisson", rate > 1000 ? 0.99 : 0.999);
    }
  const Numbers mixed = numbers(value([] {
    return random::poisson(random::key(3), array({4.0f, 100.0f}), {4000, 2});
  }));
  double sum[2] = {}, squares[2] = {};
  for (std::size_t i = 0; i < 8000; ++i) {
    sum[i % 2] += mixed[i] / 4000;
    squares[i % 2] += mixed[i] * mixed[i] / 4000;
  }
  for (int i = 0; i < 2; ++i) {
    const double rate = i ? 100 : 4;
    EXPECT_NEAR(sum[i], rate, 4 * std::sqrt(rate / 4000));
    EXPECT_NEAR(squares[i] - sum[i] * sum[i], rate, 0.1 * rate);
  }
}

TEST(Rejection, MomentsOfWhatIsMadeOfGammaDraws) {
  struct Moments {
    const char* name;
    Draw draw;
    double mean, variance;
  };
  const Shape n{4000};
  const std::vector<Moments> all{
      {"gamma", [=](Key k) { return random::gamma(std::move(k), 2.5, n); }, 2.5, 2.5},
      {"beta", [=](Key k) { return random::beta(std::move(k), 2, 3, n); }, .4, .04},
      {"chisquare", [=](Key k) { return random::chisquare(std::move(k), 3, n); }, 3, 6},
      {"student_t", [=](Key k) { return random::student_t(std::move(k), 10, n); }, 0, 1.25},
      {"fisher_f", [=](Key k) { return random::fisher_f(std::move(k), 6, 20, n); }, 20 / 18.0,
       2.0 * 400 * 24 / (6.0 * 324 * 16)},
      {"generalized_normal", [=](Key k) { return random::generalized_normal(std::move(k), 2, n); },
       0, 0.5},
  };
  for (const Moments& m : all) {
    const Numbers x = numbers(value([&] { return m.draw(random::key(21)); }));
    double sum = 0, squares = 0;
    for (double v : x) sum += v, squares += v * v;
    const double mean = sum / 4000, variance = squares / 4000 - mean * mean;
    // Four standard errors of the mean; the variance has heavier tails.
    EXPECT_NEAR(mean, m.mean, 4 * std::sqrt(m.variance / 4000)) << m.name;
    EXPECT_NEAR(variance, m.variance, 0.15 * m.variance) << m.name;
  }
}

TEST(Rejection, LoopsLowerToKernels) {
  const auto lowers = [](const std::function<Array()>& f) {
    testing::expect_lowering(graph_of(f), {});
  };
  lowers([] { return random::gamma(random::key(4), array({.3f, 1.0f, 2.0f, 9.0f, 50.0f}), {5}); });
  lowers([] { return random::beta(random::key(4, Mode::original), .5, 2.5, {3, 2}); });
  lowers([] {
    return random::poisson(random::key(4), array({.3f, 1.0f, 9.0f, 10.0f, 50.0f}), {5});
  });
}

// ---- choices

TEST(Choice, PermutationsSortRandomWords) {
  for (Mode mode : {Mode::partitionable, Mode::original})
    for (Dim n : {0, 1, 2, 10, 3000}) {
      // Literally: as many stable sorts by fresh words as 3 ln(n) / ln(2^32 - 1), rounded up.
      std::vector<std::int64_t> want(static_cast<std::size_t>(n));
      std::iota(want.begin(), want.end(), 0);
      HostKey key(6, mode);
      const int rounds = n < 2 ? 0 : n < 1626 ? 1 : 2;
      for (int round = 0; round < rounds; ++round) {
        const auto keys = key.split(2);
        key = keys[0];
        const std::vector<test::Word> words = keys[1].bits(want.size());
        std::vector<std::size_t> order(want.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t i, std::size_t j) { return words[i] < words[j]; });
        std::vector<std::int64_t> next;
        for (std::size_t i : order) next.push_back(want[i]);
        want = next;
      }
      EXPECT_EQ(integers([=] { return random::permutation(random::key(6, mode), n); }), want);
    }
}

TEST(Choice, RowsStayWholeUnlessShuffled) {
  const auto rows = [] { return reshape(arange(12), {4, 3}); };
  const auto order = integers([] { return random::permutation(random::key(6), 4); });
  const auto moved = integers([&] { return random::permutation(random::key(6), rows()); });
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_EQ(moved[3 * r + c], 3 * order[r] + static_cast<std::int64_t>(c));
  auto shuffled = integers([&] { return random::shuffle(random::key(6), rows(), 1); });
  for (std::size_t r = 0; r < 4; ++r) {
    std::sort(shuffled.begin() + static_cast<std::ptrdiff_t>(3 * r),
              shuffled.begin() + static_cast<std::ptrdiff_t>(3 * r + 3));
    EXPECT_EQ(shuffled[3 * r], static_cast<std::int64_t>(3 * r));
  }
}

TEST(Choice, DrawsByWeight) {
  const auto weights = [] { return array({.1f, .4f, 0.0f, .5f}); };
  const auto with = integers([&] {
    return random::choice(random::key(9), 4, {50, 80}, {.p = weights()});
  });
  double share[4] = {};
  for (std::int64_t i : with) share[i] += 1 / 4000.0;
  EXPECT_NEAR(share[0], .1, .02);
  EXPECT_NEAR(share[1], .4, .03);
  EXPECT_EQ(share[2], 0);
  EXPECT_NEAR(share[3], .5, .03);
  // Without repetition, all that weigh something come out of three draws.
  auto without = integers(
      [&] { return random::choice(random::key(9), 4, {3}, {.replace = false, .p = weights()}); });
  std::sort(without.begin(), without.end());
  EXPECT_EQ(without, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_EQ(integers([] {
              return random::choice(random::key(9), 7, {2, 3}, {.replace = false});
            }),
            integers([] {
              return reshape(slice_axis(random::permutation(random::key(9), 7), 0, 0, 6), {2, 3});
            }));
  EXPECT_EQ(integers([] { return random::choice(random::key(9), 7, {5}); }),
            integers([] { return random::randint(random::key(9), {5}, 0, 7); }));
  EXPECT_EQ(integers([] {
              return random::choice(random::key(9), reshape(arange(6), {2, 3}), {4}, {}, 1);
            }),
            integers([] {
              const Array at = random::randint(random::key(9), {4}, 0, 3);
              return stack({at, at + 3});
            }));
}

TEST(Choice, MatricesAreOrthogonal) {
  const HostArray q = value([] {
    const Array m = random::orthogonal(random::key(2), 4, {3});
    return matmul(m, transpose(m, {0, 2, 1}));
  });
  for (Dim i = 0; i < q.size(); ++i) EXPECT_NEAR(q.number(i), i % 16 % 5 == 0 ? 1 : 0, 2e-6) << i;
}

TEST(Choice, NormalVectorsHaveTheirCovariance) {
  const HostArray x = value([] {
    const Array covariance = reshape(array({2.0f, .6f, .6f, .5f}), {2, 2});
    return random::multivariate_normal(random::key(5), array({1.0f, -3.0f}), covariance, {4000});
  });
  double m[2] = {}, c[3] = {};
  for (Dim i = 0; i < 8000; ++i) m[i % 2] += x.number(i) / 4000;
  for (Dim i = 0; i < 4000; ++i) {
    const double a = x.number(2 * i) - m[0], b = x.number(2 * i + 1) - m[1];
    c[0] += a * a / 4000, c[1] += a * b / 4000, c[2] += b * b / 4000;
  }
  EXPECT_NEAR(m[0], 1, .1);
  EXPECT_NEAR(m[1], -3, .05);
  EXPECT_NEAR(c[0], 2, .2);
  EXPECT_NEAR(c[1], .6, .08);
  EXPECT_NEAR(c[2], .5, .05);
}

TEST(Distributions, MisuseSaysWhat) {
  using ::testing::HasSubstr;
  EXPECT_THAT(message([] { return random::gumbel(random::key(1), {2}, DType::i32); }),
              HasSubstr("gnomon::random::gumbel: draws f32 or f64, not i32"));
  EXPECT_THAT(message([] { return random::gamma(random::key(1), zeros({3}), {2}); }),
              HasSubstr("gnomon::random::gamma: cannot broadcast f32[3] to [2]"));
  EXPECT_THAT(message([] {
                return random::categorical(random::key(1), zeros({2, 3}), -1, Shape{4});
              }),
              HasSubstr("the shape [4] does not end in [2]"));
  EXPECT_THAT(message([] {
                return random::choice(random::key(1), 3, {2, 2}, {.replace = false});
              }),
              HasSubstr("4 of 3 elements without drawing any twice"));
  EXPECT_THAT(message([] { return random::choice(random::key(1), 3, {2}, {.p = ones({2})}); }),
              HasSubstr("the weights of 3 elements are f32[2]"));
  EXPECT_THAT(message([] { return random::sphere(random::key(1), 0, {2}); }),
              HasSubstr("in 0 dimensions"));
}

}  // namespace
}  // namespace gnomon
