// tests/codegen/cumulative_test.cpp -- running sums and their kin, against loops written here.
#include "gnomon/cumulative.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "gnomon/indexing.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using A = const Array&;

TEST(Cumulative, TakesNaNForNothing) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const HostArray x = f32({nan, 2, nan, 3});
  EXPECT_EQ(run([](A a) { return nancumsum(a); }, x), (Numbers{0, 2, 2, 5}));
  EXPECT_EQ(run([](A a) { return nancumprod(a, 0, {.reverse = true}); }, x), (Numbers{6, 6, 3, 3}));
  EXPECT_EQ(run_arrays([](A a) { return nancumsum(a > 2); }, x)[0].aval, (Aval{DType::i32, {4}}));
}

TEST(Cumulative, GoesOneByOne) {
  const HostArray x = f32({3, 1, 4, 1, 5});
  EXPECT_EQ(run([](A a) { return cumsum(a); }, x), (Numbers{3, 4, 8, 9, 14}));
  EXPECT_EQ(run([](A a) { return cumsum(a, 0, {.reverse = true}); }, x),
            (Numbers{14, 11, 10, 6, 5}));
  EXPECT_EQ(run([](A a) { return cumprod(a); }, x), (Numbers{3, 3, 12, 12, 60}));
  EXPECT_EQ(run([](A a) { return cummax(a); }, x), (Numbers{3, 3, 4, 4, 5}));
  EXPECT_EQ(run([](A a) { return cummin(a, -1, {.reverse = true}); }, x), (Numbers{1, 1, 1, 1, 5}));
  const HostArray m = i32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run([](A a) { return cumsum(a, 0); }, m), (Numbers{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run([](A a) { return cumsum(a, 1); }, m), (Numbers{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run([](A a) { return cumsum(a); }, m), (Numbers{1, 3, 6, 10, 15, 21}));
  EXPECT_EQ(run_arrays([](A a) { return cumsum(a > 1); }, x)[0].aval, (Aval{DType::i32, {5}}));
}

TEST(Cumulative, LogSumExpDoesNotOverflow) {
  const Numbers got = run([](A a) { return cumlogsumexp(a); }, f32({-inf, 1000, 1000, -1000, inf}));
  EXPECT_EQ(got[0], -inf);
  EXPECT_NEAR(got[1], 1000, 1e-4);
  EXPECT_NEAR(got[2], 1000 + std::log(2.0), 1e-4);
  EXPECT_NEAR(got[3], 1000 + std::log(2.0), 1e-4);
  EXPECT_EQ(got[4], inf);
}

TEST(Cumulative, MaximaKeepNaN) {
  const Numbers got = run([](A a) { return cummax(a); }, f32({1, std::nan(""), 3}));
  EXPECT_EQ(got[0], 1);
  EXPECT_TRUE(std::isnan(got[1]) && std::isnan(got[2]));
}

TEST(CumulativeGrad, OfAProductWithZeros) {
  // d/dx_j of y_2 + ... is a sum of products of the others.
  const auto f = [](A a) { return grad([](A v) { return sum(cumprod(v)); })(a); };
  EXPECT_EQ(run(f, f32({2, 0, 3})), (Numbers{1, 8, 0}));
}

TEST(CumulativeGrad, IsSharedByEqualMaxima) {
  const auto f = [](A a, A w) { return grad([&](A v) { return sum(w * cummax(v)); })(a); };
  EXPECT_EQ(run(f, f32({1, 3, 3, 2}), f32({1, 10, 100, 1000})), (Numbers{1, 560, 550, 0}));
}

TEST(CumulativeGrad, OfLogSumExpAreSoftmaxes) {
  const auto f = [](A a) { return grad([](A v) { return cumlogsumexp(v).at(-1).get(); })(a); };
  const double total = std::exp(0.0) + std::exp(1.0) + std::exp(2.0);
  EXPECT_THAT(run(f, f32({0, 1, 2})),
              Pointwise(DoubleNear(1e-6),
                        Numbers{1 / total, std::exp(1.0) / total, std::exp(2.0) / total}));
}

TEST(LinearRecurrence, IsALoop) {
  const auto f = [](A a, A b) { return linear_recurrence(a, b); };
  EXPECT_EQ(run(f, f32({9, 2, 3}), f32({1, 10, 100})), (Numbers{1, 12, 136}));
  const auto back = [](A b) { return linear_recurrence(2, b, 0, {.reverse = true}); };
  EXPECT_EQ(run(back, f32({1, 10, 100})), (Numbers{421, 210, 100}));
}

TEST(AssociativeScan, KeepsTheGoldenValues) {
  for (const Dim n : {0, 1, 2, 3, 5, 10, 1000}) {
    const auto f = [&](bool reverse) {
      return [=](A a) {
        return associative_scan([](A p, A q) { return p + q; }, arange(n) + 7 + cast(a, DType::i32),
                                {.reverse = reverse});
      };
    };
    Numbers want, back(static_cast<std::size_t>(n));
    double total = 0;
    for (Dim i = 0; i < n; ++i) want.push_back(total += static_cast<double>(i + 7));
    total = 0;
    for (Dim i = n; i-- > 0;)
      back[static_cast<std::size_t>(i)] = total += static_cast<double>(i + 7);
    EXPECT_EQ(run(f(false), f32(0)), want);
    EXPECT_EQ(run(f(true), f32(0)), back);
  }
  const auto parity = [](A a) { return associative_scan([](A p, A q) { return p ^ q; }, a); };
  EXPECT_EQ(run(parity, host(DType::boolean, {6}, {0, 1, 1, 1, 0, 1})),
            (Numbers{0, 1, 0, 1, 1, 0}));
  using Pair = std::pair<Array, Array>;
  const auto pairs = [](A a, A b) {
    return associative_scan(
        [](const Pair& p, const Pair& q) {
          return Pair{p.first + q.first, p.second + q.second};
        },
        Pair{a, b});
  };
  EXPECT_EQ(run_all(pairs, i32({0, 1, 2}), i32({0, 10, 20})),
            (std::vector<Numbers>{{0, 1, 3}, {0, 10, 30}}));
}

TEST(AssociativeScan, KeepsTheOrderOfItsArguments) {
  // Matrices do not commute.
  const auto f = [](A m) { return associative_scan([](A p, A q) { return matmul(p, q); }, m); };
  const HostArray m = f32({3, 2, 2}, {1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0});
  EXPECT_EQ(run(f, m), (Numbers{1, 1, 0, 1, 2, 1, 1, 1, 1, 2, 1, 1}));
  const auto axis = [](A m2) {
    return associative_scan([](A p, A) { return p; }, m2, {.axis = -1});
  };
  EXPECT_EQ(run(axis, f32({2, 3}, {1, 2, 3, 4, 5, 6})), (Numbers{1, 1, 1, 4, 4, 4}));
}

TEST(AssociativeScan, HasGradients) {
  const auto f = [](A a) {
    return grad(
        [](A v) { return associative_scan([](A p, A q) { return p * q; }, v).at(-1).get(); })(a);
  };
  EXPECT_EQ(run(f, f32({2, 3, 5})), (Numbers{15, 10, 6}));
}

TEST(CumulativeErrors, NameBothSides) {
  const HostArray x = f32({2, 3}, Numbers(6, 1));
  EXPECT_THAT(usage_error_of([](A a) { return cumsum(a, 2); }, x),
              HasSubstr("cumulative_test.cpp"));
  using Pair = std::pair<Array, Array>;
  const auto lengths = [](A a) {
    return associative_scan([](const Pair& p, const Pair&) { return p; }, Pair{a, a.at(0).get()});
  };
  EXPECT_THAT(usage_error_of(lengths, x), HasSubstr("has length 3 along axis 0 and `"));
  const auto changed = [](A a) { return associative_scan([](A p, A) { return sum(p, 1); }, a); };
  EXPECT_THAT(usage_error_of(changed, x),
              HasSubstr("enters fn as f32[1,3] and leaves it as f32[1]"));
}

TEST(CumulativeLowering, OfShortLines) {
  using gnomon::testing::expect_function_lowers;
  using gnomon::testing::f32;
  const auto all = [](A a) {
    return std::tuple{cumsum(a, 1),    cumprod(a, 0),      cummax(a, 1, {.reverse = true}),
                      cummin(a, 1),    cumlogsumexp(a, 0), linear_recurrence(a, a, 1),
                      cumsum(a > 0, 0)};
  };
  expect_function_lowers(all, f32({7, 9}));
  expect_function_lowers(all, f32({1, 1}));
  const auto derivative = [](A a) {
    return grad([](A v) { return sum(cumprod(v, 0) * cummax(v, 0)); })(a);
  };
  expect_function_lowers(derivative, f32({6}));
}

TEST(CumulativeLowering, OfLinesInBlocks) {
  using gnomon::testing::expect_function_lowers;
  using gnomon::testing::f32;
  using gnomon::testing::i32;
  expect_function_lowers(
      [](A a) {
        return std::pair{cumsum(a), cumsum(a, 0, {.reverse = true})};
      },
      i32({2500}));
  expect_function_lowers([](A a) { return cummax(a, 1, {.reverse = true}); }, f32({2, 3000, 2}));
  expect_function_lowers([](A a) { return linear_recurrence(0.5 * sin(a), a, 0); }, f32({4200}));
}

TEST(CumulativeLowering, InsideALoopAndPerLane) {
  using gnomon::testing::expect_function_lowers;
  const auto f = [](A a) {
    return fori_loop(
        0, 3, [](A, A x) { return 0.1 * cumsum(x, 1) - x; }, a);
  };
  expect_function_lowers(f, gnomon::testing::f32({5, 4}));
  const auto lanes = [](A a) { return vmap([](A x) { return cumsum(x); })(a); };
  expect_function_lowers(lanes, gnomon::testing::f32({6, 5}));
}

TEST(AssociativeScanLowering, AgreesWithTheReference) {
  const auto f = [](A a) { return associative_scan([](A p, A q) { return p + q; }, a); };
  gnomon::testing::expect_function_lowers(f, gnomon::testing::i32({37}));
}

}  // namespace
}  // namespace gnomon::test
