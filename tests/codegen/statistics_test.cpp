// tests/codegen/statistics_test.cpp -- order statistics, reductions without NaN, moments, counts.
#include "gnomon/statistics.h"

#include <algorithm>
#include <limits>
#include <random>

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

void expect_near(const Numbers& got, const Numbers& want, double tolerance = 2e-6) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]))
      EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    else if (std::isinf(want[i]))
      EXPECT_EQ(got[i], want[i]) << i;
    else
      EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << i;
  }
}

Numbers draws(std::size_t n, unsigned seed = 1) {
  std::mt19937 g(seed);
  Numbers r;
  for (std::size_t i = 0; i < n; ++i) r.push_back(static_cast<double>(g() % 4096) / 256 - 8);
  return r;
}

TEST(Quantile, TakesWhatLiesBetween) {
  const HostArray x = f32({3, 1, 4, 1, 5});  // 1 1 3 4 5
  const auto at = [&](double q, Between how) {
    return run([=](const Array& a) { return quantile(a, q, {}, {.between = how}); }, x)[0];
  };
  EXPECT_FLOAT_EQ(static_cast<float>(at(0.4, Between::linear)), 2.2f);
  EXPECT_EQ(at(0.4, Between::lower), 1);
  EXPECT_EQ(at(0.4, Between::higher), 3);
  EXPECT_EQ(at(0.4, Between::nearest), 3);
  EXPECT_EQ(at(0.375, Between::nearest), 1);
  EXPECT_EQ(at(0.4, Between::midpoint), 2);
  EXPECT_EQ(at(0, Between::linear), 1);
  EXPECT_EQ(at(1, Between::linear), 5);
  expect_near(run([](const Array& a) { return percentile(a, 40); }, x), {2.2});
  expect_near(run([](const Array& a) { return median(a); }, f32({1, inf, 3, 2})), {2.5});
  // An infinite neighbour counts only as far as it weighs.
  expect_near(run([](const Array& a) { return median(a); }, f32({1, inf, 2})), {2});
}

TEST(Quantile, OverAxesAndWithArraysOfFractions) {
  const Numbers x = draws(24);
  const HostArray a = f32({2, 3, 4}, x);
  for (const std::vector<int>& axes : {std::vector<int>{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    const auto both = [&](const Array& v) {
      return std::tuple{quantile(v, 0.3, axes), quantile(v, array({0.3f, 1.0f}), axes),
                        median(v, axes, {.keepdims = true}), nanquantile(v, 0.3, axes)};
    };
    const auto r = run_all(both, a);
    Shape kept;
    for (int i = 0; i < 3; ++i)
      if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.append(a.aval.shape[i]);
    const auto n = static_cast<std::size_t>(kept.size());
    // Literally, group by group.
    std::vector<Numbers> groups(n);
    for (std::size_t i = 0; i < 24; ++i) {
      const std::size_t c[3] = {i / 12, i / 4 % 3, i % 4};
      std::size_t group = 0;
      for (int axis = 0; axis < 3; ++axis)
        if (std::find(axes.begin(), axes.end(), axis) == axes.end())
          group = group * static_cast<std::size_t>(a.aval.shape[axis]) +
                  c[static_cast<std::size_t>(axis)];
      groups[group].push_back(x[i]);
    }
    for (std::size_t g = 0; g < n; ++g) {
      Numbers& v = groups[g];
      std::sort(v.begin(), v.end());
      const auto value = [&](double q) {
        const double p = q * static_cast<double>(v.size() - 1), f = p - std::floor(p);
        return v[static_cast<std::size_t>(p)] * (1 - f) +
               v[static_cast<std::size_t>(std::ceil(p))] * f;
      };
      EXPECT_NEAR(r[0][g], value(0.3), 1e-5);
      EXPECT_NEAR(r[1][g], value(0.3), 1e-5);
      EXPECT_EQ(r[1][n + g], v.back());
      EXPECT_NEAR(r[2][g], value(0.5), 1e-5);
      EXPECT_NEAR(r[3][g], value(0.3), 1e-5);
    }
    testing::expect_lowering(test::graph_of(both, a), {a}, 1e-5);
  }
}

TEST(Quantile, NanSpoilsOrIsLeftOut) {
  const HostArray x = f32({3, 4}, {4, nan, 1, 2, 1, 2, 3, 9, nan, nan, nan, nan});
  expect_near(run([](const Array& a) { return median(a, 1); }, x), {nan, 2.5, nan});
  expect_near(run([](const Array& a) { return nanmedian(a, 1); }, x), {2, 2.5, nan});
  expect_near(run([](const Array& a) { return nanpercentile(a, 100, 1); }, x), {4, 9, nan});
}

TEST(Quantile, DerivativeOfTheElementsThatMakeIt) {
  const auto g = [](const Array& a) {
    return grad([](const Array& v) { return quantile(v, 0.25) * 8; })(a);
  };
  expect_near(run(g, f32({5, 1, 3, 2})), {0, 2, 0, 6});
  const auto m = [](const Array& a) { return grad([](const Array& v) { return median(v); })(a); };
  expect_near(run(m, f32({7, 1, 5})), {0, 0, 1});
}

TEST(NanReductions, LeaveNanOut) {
  const HostArray x = f32({3, 3}, {1, nan, 3, nan, nan, nan, -2, -inf, 6});
  expect_near(run([](const Array& a) { return nansum(a, 1); }, x), {4, 0, -inf});
  expect_near(run([](const Array& a) { return nanprod(a, 1); }, x), {3, 1, inf});
  expect_near(run([](const Array& a) { return nanmean(a, 1); }, x), {2, nan, -inf});
  expect_near(run([](const Array& a) { return nanmax(a, 1); }, x), {3, nan, 6});
  expect_near(run([](const Array& a) { return nanmin(a, 1); }, x), {1, nan, -inf});
  expect_near(run([](const Array& a) { return nanargmax(a, 1); }, x), {2, -1, 2});
  expect_near(run([](const Array& a) { return nanargmin(a, 1); }, x), {0, -1, 1});
  expect_near(run([](const Array& a) { return nanargmax(a); }, f32({nan, -inf, -inf})), {1});
  const HostArray y = f32({2, 4}, {1, 2, nan, 6, nan, nan, 5, nan});
  expect_near(run([](const Array& a) { return nanvar(a, 1); }, y), {14.0 / 3, 0});
  expect_near(run([](const Array& a) { return nanstd(a, 1, {.ddof = 1}); }, y),
              {std::sqrt(7.0), nan});
  const auto g = [](const Array& a) {
    return grad([](const Array& v) { return nanvar(v) + nanmean(v) * 3; })(a);
  };
  expect_near(run(g, f32({1, nan, 3})), {0.5, 0, 2.5});
}

TEST(Moments, AverageCovarianceCorrelation) {
  const HostArray x = f32({2, 3}, {1, 2, 4, 3, 1, 0}), w = f32({1, 2, 1});
  expect_near(run([](const Array& a) { return ptp(a, 1); }, x), {3, 3});
  expect_near(run([](const Array& a, const Array& b) { return average(a, b, 1); }, x, w),
              {9 / 4.0, 5 / 4.0});
  expect_near(run([](const Array& a) { return average(a, a); }, x), {31 / 11.0});
  // Deviations -4/3 -1/3 5/3 and 5/3 -1/3 -4/3.
  const double v = 42 / 9.0 / 2, c = -39 / 9.0 / 2;
  expect_near(run([](const Array& a) { return cov(a); }, x), {v, c, c, v});
  expect_near(run([](const Array& a) { return corrcoef(a); }, x), {1, c / v, c / v, 1});
  expect_near(run([](const Array& a) { return cov(a[0], {.ddof = 0}); }, x), {42 / 27.0});
  expect_near(
      run([](const Array& a) { return cov(transpose(a), {.rows_are_variables = false}); }, x),
      {v, c, c, v});
}

TEST(Counts, Bincount) {
  const HostArray x = i32({2, 0, 5, 2, -3, 2});
  expect_near(run([](const Array& a) { return bincount(a, 4); }, x), {2, 0, 3, 0});
  expect_near(run([](const Array& a, const Array& w) { return bincount(a, 3, w); }, x,
                  f32({.5, 1, 2, .25, 8, .125})),
              {9, 0, .875});
  const auto g = [](const Array& a, const Array& w) {
    return grad([&](const Array& v) { return sum(square(bincount(a, 3, v))); })(w);
  };
  expect_near(run(g, x, f32({1, 2, 3, 4, 5, 6})), {22, 14, 0, 22, 14, 22});
  for (const DType t : {DType::i64, DType::u64, DType::u32}) {
    const Numbers beyond =
        t == DType::u32 ? Numbers{0x1p31, 0x1p32 - 1, 1, 0} : Numbers{0x1p32, 0x1p32 + 1, 1, 0};
    expect_near(run([](const Array& a) { return bincount(a, 3); }, test::host(t, {4}, beyond)),
                {1, 1, 0});
  }
  expect_near(run([](const Array& a) { return bincount(a, 3); },
                  test::host(DType::i64, {3}, {1 - 0x1p32, -0x1p40, 2})),
              {2, 0, 1});
  // Many bins are counted by sorting.
  Numbers ids, want(600, 0), weighted(600, 0);
  for (int i = 0; i < 900; ++i) {
    ids.push_back(i * i % 601);
    if (ids.back() >= 600) continue;
    want[static_cast<std::size_t>(ids.back())] += 1;
    weighted[static_cast<std::size_t>(ids.back())] += 2;
  }
  const auto many = [](const Array& a) {
    return std::pair{bincount(a, 600), bincount(a, 600, full({900}, 2.0))};
  };
  const auto r = run_all(many, i32(ids));
  EXPECT_EQ(r[0], want);
  EXPECT_EQ(r[1], weighted);
  testing::expect_lowering(test::graph_of(many, i32(ids)), {i32(ids)});
}

TEST(Counts, Histogram) {
  const HostArray x = f32({0, 1, 2, 3, 4, 4, nan, 1.5});
  auto r = run_all(
      [](const Array& a) {
        const Histogram h = histogram(a, 4, std::pair{0.0, 4.0});
        return std::pair{h.counts, h.edges};
      },
      x);
  expect_near(r[0], {1, 2, 1, 3});
  expect_near(r[1], {0, 1, 2, 3, 4});
  r = run_all(
      [](const Array& a) {
        const Histogram h = histogram(a[0] + zeros({3}), 2);
        return std::pair{h.counts, h.edges};
      },
      x);
  expect_near(r[0], {0, 3});
  expect_near(r[1], {-.5, 0, .5});
  // numpy.histogram([], 2)
  r = run_all(
      [](const Array&) {
        const Histogram h = histogram(zeros({0}), 2);
        return std::pair{h.counts, h.edges};
      },
      x);
  expect_near(r[0], {0, 0});
  expect_near(r[1], {0, .5, 1});
  r = run_all(
      [](const Array& a) {
        const Array edges = array({1.0f, 1.5f, 3.5f});
        return std::pair{histogram(a, edges).counts,
                         histogram(a, edges, iota({8}, 0, DType::f32)).counts};
      },
      x);
  expect_near(r[0], {1, 3});
  expect_near(r[1], {1, 12});
}

// Known answers: parts whose edges are whole numbers, each of which begins a part.
TEST(Counts, NumbersOnEdgesBeginTheirPart) {
  struct Case {
    Numbers x;
    Dim bins;
    Numbers counts, edges;
  };
  const std::vector<Case> cases{
      {{1, 2, 3, 4, 5, 6, 7}, 3, {2, 2, 3}, {1, 3, 5, 7}},
      {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
       10,
       {1, 1, 1, 1, 1, 1, 1, 1, 1, 2},
       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
      {{-3, -2, -1, 0, 1, 2, 3, 4}, 7, {1, 1, 1, 1, 1, 1, 2}, {-3, -2, -1, 0, 1, 2, 3, 4}},
      {{7, 2, 3, 1, 13, 5, 9, 11}, 6, {2, 1, 1, 1, 1, 2}, {1, 3, 5, 7, 9, 11, 13}},
      {{100, 103, 106, 109, 112, 115, 118, 121},
       7,
       {1, 1, 1, 1, 1, 1, 2},
       {100, 103, 106, 109, 112, 115, 118, 121}}};
  for (const Case& c : cases)
    for (const DType dtype : {DType::f32, DType::f64}) {
      const HostArray x = test::host(dtype, Shape(c.x.size()), c.x);
      const auto by_elements = [&](const Array& a) {
        const Histogram h = histogram(a, c.bins);
        return std::pair{h.counts, h.edges};
      };
      const auto by_range = [&](const Array& a) {
        const Histogram h = histogram(a, c.bins, std::pair{c.edges.front(), c.edges.back()});
        return std::pair{h.counts, h.edges};
      };
      for (const auto& r : {run_all(by_elements, x), run_all(by_range, x)}) {
        EXPECT_EQ(r[0], c.counts);
        EXPECT_EQ(r[1], c.edges);
      }
      if (dtype == DType::f32) testing::expect_lowering(test::graph_of(by_elements, x), {x});
    }
}

TEST(Statistics, MisuseSaysWhat) {
  using ::testing::HasSubstr;
  const HostArray x = f32({1, 2, 3});
  const auto error = [&](auto f) { return test::usage_error_of(f, x); };
  EXPECT_THAT(error([](const Array& a) { return quantile(a, 1.5); }),
              HasSubstr("gnomon::quantile: 1.500000 is not in [0, 1]"));
  EXPECT_THAT(error([](const Array& a) { return average(a, zeros({2})); }),
              HasSubstr("f32[2] are no weights for f32[3]"));
  EXPECT_THAT(error([](const Array& a) { return bincount(a, 3); }),
              HasSubstr("counts integers, got f32[3]"));
  EXPECT_THAT(error([](const Array& a) { return histogram(a, 0).counts; }), HasSubstr("0 bins"));
}

}  // namespace
}  // namespace gnomon
