// tests/codegen/sort_test.cpp -- sorting and searching: order, stability, lowering of every
// algorithm, derivatives, and what is found.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "gnomon/indexing.h"
#include "gnomon/sorting.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon {
namespace {

using test::f32;
using test::i32;
using test::inf;
using test::nan;
using test::Numbers;
using test::run;
using test::run_all;

Numbers draws(std::size_t n, int distinct, unsigned seed = 1) {
  std::mt19937 g(seed);
  Numbers r;
  for (std::size_t i = 0; i < n; ++i)
    r.push_back(static_cast<double>(g() % static_cast<unsigned>(distinct)) - distinct / 2);
  return r;
}

void expect_same(const Numbers& got, const Numbers& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]))
      EXPECT_TRUE(std::isnan(got[i])) << i;
    else
      EXPECT_TRUE(got[i] == want[i] && std::signbit(got[i]) == std::signbit(want[i]))
          << i << ": " << got[i] << ", not " << want[i];
  }
}

TEST(Sort, PutsNanLastAndKeepsEqualElementsInOrder) {
  const HostArray x = f32({2, nan, 0.0, -inf, -0.0, inf, -3, nan, 2});
  expect_same(run([](const Array& a) { return sort(a); }, x),
              {-inf, -3, 0.0, -0.0, 2, 2, inf, nan, nan});
  expect_same(run([](const Array& a) { return argsort(a); }, x), {3, 6, 2, 4, 0, 8, 5, 1, 7});
  expect_same(run([](const Array& a) { return sort(a, -1, {.descending = true}); }, x),
              {nan, nan, inf, 2, 2, 0.0, -0.0, -3, -inf});
  expect_same(run([](const Array& a) { return argsort(a, -1, {.descending = true}); }, x),
              {1, 7, 5, 0, 8, 2, 4, 6, 3});
}

TEST(Sort, AlongAnyAxis) {
  const HostArray x = i32({2, 3}, {5, 1, 3, 2, 4, 0});
  expect_same(run([](const Array& a) { return sort(a, 0); }, x), {2, 1, 0, 5, 4, 3});
  expect_same(run([](const Array& a) { return sort(a, 1); }, x), {1, 3, 5, 0, 2, 4});
  expect_same(run([](const Array& a) { return sort(a, -2, {.descending = true}); }, x),
              {5, 4, 3, 2, 1, 0});
}

/// Lengths around every change of algorithm, with many ties, few and none.
TEST(Sort, LowersLikeAStableSort) {
  for (Dim n : {2, 3, 8, 9, 63, 64, 65, 128, 130, 200, 257, 1000})
    for (int distinct : {3, 1 << 20}) {
      const Numbers x = draws(static_cast<std::size_t>(2 * n), distinct);
      const Graph g = test::graph_of(
          [](const Array& a) {
            return std::pair{sort(a), argsort(a, -1, {.descending = true})};
          },
          f32({2, n}, x));
      testing::expect_lowering(g, {f32({2, n}, x)});
      // The reference itself, against a comparison that has never heard of it.
      const Numbers sorted = test::numbers(evaluate(g, {f32({2, n}, x)})[0]);
      Numbers want = x;
      std::sort(want.begin(), want.begin() + n);
      std::sort(want.begin() + n, want.end());
      ASSERT_EQ(sorted, want);
    }
}

TEST(Sort, LowersSpecialFloatsAndLongKeys) {
  Numbers x = draws(300, 40);
  for (std::size_t i = 0; i < x.size(); i += 7) x[i] = i % 2 ? nan : -0.0;
  x[10] = inf, x[20] = -inf, x[30] = 1e-38, x[40] = -1e-38;
  const auto both = [](const Array& a) { return std::pair{sort(a), argsort(a)}; };
  testing::expect_lowering(test::graph_of(both, f32(x)), {f32(x)});
  const auto three = [](const Array& a, const Array& b, const Array& c) {
    const auto r = sort_together({a, b, c}, 2);
    return std::tuple{r[0], r[1], r[2], lexsort({a, b})};
  };
  const HostArray a = i32(draws(200, 4, 2)), b = f32(draws(200, 5, 3)), c = f32(draws(200, 900, 4));
  testing::expect_lowering(test::graph_of(three, a, b, c), {a, b, c});
}

TEST(Sort, LexsortTakesTheLastKeyFirst) {
  EXPECT_EQ(run(
                [](const Array& a, const Array& b) {
                  return lexsort({a, b});
                },
                i32({9, 4, 0, 4, 0, 2, 1}), i32({1, 5, 1, 4, 3, 4, 4})),
            (Numbers{2, 0, 4, 6, 5, 3, 1}));
}

TEST(Sort, InsideLoopsByLane) {
  const auto median_filter = [](const Array& rows) {
    return vmap([](const Array& x) {
      return while_loop([](const Array& v) { return any(v > 0.5); },
                        [](const Array& v) { return sort(v * 0.7) - 0.05; }, x, {.max_steps = 9});
    })(rows);
  };
  for (Dim n : {3, 12}) testing::expect_function_lowers(median_filter, testing::f32({40, n}));
}

TEST(Sort, DerivativesFollowTheElements) {
  const HostArray x = f32({3, 1, 2}), w = f32({10, 20, 30});
  const auto gradient = [](const Array& a, const Array& weights) {
    return grad([&](const Array& v) { return sum(sort(v) * weights); })(a);
  };
  EXPECT_EQ(run(gradient, x, w), (Numbers{30, 10, 20}));
  const auto descending = [](const Array& a, const Array& weights) {
    return grad([&](const Array& v) { return sum(sort(v, 0, {.descending = true}) * weights); })(a);
  };
  EXPECT_EQ(run(descending, x, w), (Numbers{10, 30, 20}));
  const auto best = [](const Array& a) {
    return grad([](const Array& v) { return top_k(v, 2).values[1] * 5; })(a);
  };
  EXPECT_EQ(run(best, x), (Numbers{0, 0, 5}));
  // Long enough to be merged; second derivatives; batches of gradients.
  const HostArray rows = f32({3, 100}, draws(300, 1 << 20));
  const auto long_gradient = [](const Array& m) {
    return vmap(grad([](const Array& v) {
      const Array s = sort(v);
      return sum(s * s * iota({100}, 0, DType::f32));
    }))(m);
  };
  testing::expect_lowering(test::graph_of(long_gradient, rows), {rows}, 1e-5);
  const Numbers got = run(long_gradient, rows);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t i = 0; i < 100; ++i) {
      const Numbers x0 = test::numbers(rows);
      double rank = 0;
      for (std::size_t j = 0; j < 100; ++j) rank += x0[100 * r + j] < x0[100 * r + i];
      EXPECT_NEAR(got[100 * r + i], 2 * x0[100 * r + i] * rank, 20);  // of 1e8
    }
}

TEST(Sort, TopK) {
  const HostArray x = f32({2, 5}, {3, 9, 9, 1, 4, nan, 2, 7, 7, 0});
  const auto r = run_all(
      [](const Array& a) {
        const TopK t = top_k(a, 3);
        return std::pair{t.values, t.indices};
      },
      x);
  expect_same(r[0], {9, 9, 4, nan, 7, 7});
  expect_same(r[1], {1, 2, 4, 0, 2, 3});
  const auto columns = run_all([](const Array& a) { return top_k(a, 1, 0).indices; }, x);
  expect_same(columns[0], {1, 0, 0, 1, 0});
}

TEST(Sort, Partition) {
  const Numbers x = draws(40, 1000);
  const Numbers p = run([](const Array& a) { return partition(a, 7); }, f32(x));
  const Numbers i = run([](const Array& a) { return argpartition(a, -3); }, f32(x));
  Numbers s = x;
  std::sort(s.begin(), s.end());
  EXPECT_EQ(p[7], s[7]);
  EXPECT_EQ(x[static_cast<std::size_t>(i[37])], s[37]);
}

// ---- searching

TEST(Search, SearchsortedIsLowerAndUpperBound) {
  for (std::size_t n : {1u, 2u, 7u, 8u, 100u}) {
    Numbers sorted = draws(n, 9, 5);
    std::sort(sorted.begin(), sorted.end());
    const Numbers v = draws(60, 13, 6);
    for (Side side : {Side::left, Side::right}) {
      Numbers want;
      for (double x : v) {
        const auto it = side == Side::left ? std::lower_bound(sorted.begin(), sorted.end(), x)
                                           : std::upper_bound(sorted.begin(), sorted.end(), x);
        want.push_back(static_cast<double>(it - sorted.begin()));
      }
      const auto f = [=](const Array& a, const Array& b) { return searchsorted(a, b, side); };
      const HostArray a = f32(sorted), b = f32({6, 10}, v);
      EXPECT_EQ(run(f, a, b), want);
      testing::expect_lowering(test::graph_of(f, a, b), {a, b});
    }
  }
  // NaN is the largest, and -0 is 0.
  expect_same(run([](const Array& a, const Array& v) { return searchsorted(a, v); },
                  f32({-1, 0, 1, inf, nan}), f32({nan, inf, -0.0, 2})),
              {4, 3, 1, 3});
}

TEST(Search, DigitizeCountsEdgesUpAndDown) {
  const HostArray x = f32({0.2, 6.4, 3.0, 1.6, 10, -1});
  const auto bins = [](bool right) {
    return [=](const Array& a, const Array& e) { return digitize(a, e, right); };
  };
  const HostArray up = f32({0, 1, 2.5, 3, 10}), down = f32({10, 3, 2.5, 1, 0});
  expect_same(run(bins(false), x, up), {1, 4, 4, 2, 5, 0});
  expect_same(run(bins(true), x, up), {1, 4, 3, 2, 4, 0});
  expect_same(run(bins(false), x, down), {4, 1, 1, 3, 0, 5});
  expect_same(run(bins(true), x, down), {4, 1, 2, 3, 1, 5});
}

TEST(Search, UniqueKnowsWhereAndHowOften) {
  const auto all = [](Dim size) {
    return [=](const Array& a) {
      const Unique u = unique(a, size);
      return std::tuple{u.values, u.indices, u.inverse, u.counts, u.number};
    };
  };
  const HostArray x = f32({2, 4}, {3, 1, nan, 3, -0.0, 1, 0.0, nan});
  auto r = run_all(all(6), x);
  expect_same(r[0], {-0.0, 1, 3, nan, -0.0, -0.0});
  expect_same(r[1], {4, 1, 0, 2, 4, 4});
  expect_same(r[2], {2, 1, 3, 2, 0, 1, 0, 3});
  expect_same(r[3], {2, 2, 2, 2, 0, 0});
  expect_same(r[4], {4});
  r = run_all(all(2), x);
  expect_same(r[0], {-0.0, 1});
  expect_same(r[3], {2, 2});
  expect_same(r[4], {4});
  const HostArray many = i32(draws(150, 20, 8));
  testing::expect_lowering(test::graph_of(all(30), many), {many});
  expect_same(run([](const Array& a) { return unique(a, 3, 7.0).values; }, i32({5, 5})), {5, 7, 7});
}

TEST(Search, Sets) {
  const HostArray a = i32({4, 1, 7, 1, 9}), b = i32({9, 2, 4});
  const auto with = [&](auto f) { return run(f, a, b); };
  expect_same(with([](const Array& x, const Array& y) { return isin(x, y); }), {1, 0, 0, 0, 1});
  expect_same(with([](const Array& x, const Array& y) { return union1d(x, y, 6); }),
              {1, 2, 4, 7, 9, 1});
  expect_same(with([](const Array& x, const Array& y) { return intersect1d(x, y, 3); }), {4, 9, 4});
  expect_same(with([](const Array& x, const Array& y) { return setdiff1d(x, y, 3, -1.0); }),
              {1, 7, -1});
}

TEST(Search, Nonzero) {
  const HostArray x = f32({2, 3}, {0, 5, nan, 0, -0.0, 2});
  auto r = run_all(
      [](const Array& a) {
        const auto n = nonzero(a, 4, 9);
        return std::tuple{n[0], n[1], argwhere(a, 2), flatnonzero(a, 5, -1), count_nonzero(a, 1)};
      },
      x);
  expect_same(r[0], {0, 0, 1, 9});
  expect_same(r[1], {1, 2, 2, 9});
  expect_same(r[2], {0, 1, 0, 2});
  expect_same(r[3], {1, 2, 5, -1, -1});
  expect_same(r[4], {2, 1});
}

TEST(Sort, MisuseSaysWhat) {
  using ::testing::HasSubstr;
  const HostArray x = f32({1, 2, 3}), one = f32(1);
  const auto error = [](auto f, const HostArray& a) { return test::usage_error_of(f, a); };
  EXPECT_THAT(error([](const Array& a) { return sort(a, 1); }, x), HasSubstr("gnomon::sort: "));
  EXPECT_THAT(error([](const Array& a) { return sort(a); }, one), HasSubstr("gnomon::sort: "));
  EXPECT_THAT(error([](const Array& a) { return top_k(a, 4).values; }, x),
              HasSubstr("gnomon::top_k: 4 elements of axis 0 of f32[3]"));
  EXPECT_THAT(error(
                  [](const Array& a) {
                    return sort_together({a, reshape(a, {3, 1})})[0];
                  },
                  x),
              HasSubstr("operands must have one shape, got f32[3] and f32[3,1]"));
  EXPECT_THAT(error([](const Array& a) { return partition(a, 3); }, x),
              HasSubstr("element 3 of an axis of 3 elements"));
}

}  // namespace
}  // namespace gnomon
