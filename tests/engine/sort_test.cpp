// tests/engine/sort_test.cpp -- sorting on the device, in every size that is sorted in its own way.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class DeviceSort : public DeviceTest {
 protected:
  /// Many ties, both zeros and NaN.
  static std::vector<float> numbers(Dim n) {
    std::mt19937 g(static_cast<unsigned>(n));
    std::vector<float> x;
    for (Dim i = 0; i < n; ++i) {
      const unsigned draw = g();
      x.push_back(static_cast<float>(draw % 2003) - 1001);
      if (draw % 97 == 0) x.back() = draw % 2 ? NAN : -0.0f;
    }
    return x;
  }
};

TEST_F(DeviceSort, IsAStableSort) {
  auto sorted = jit(rt,
                    [](const Array& x) {
                      return std::pair{sort(x), argsort(x)};
                    },
                    {.name = "sort"});
  for (const auto& [rows, n] :
       {std::pair<Dim, Dim>{300, 5}, {7, 40}, {5, 100}, {1, 40000}, {40, 1000}}) {
    const std::vector<float> x = numbers(rows * n);
    const auto [values, permutation] = sorted(rt.from_host(x, {rows, n}));
    const std::vector<float> got = rt.to_host<float>(values);
    const std::vector<std::int32_t> order = rt.to_host<std::int32_t>(permutation);
    for (Dim r = 0; r < rows; ++r) {
      std::vector<std::int32_t> want(static_cast<std::size_t>(n));
      std::iota(want.begin(), want.end(), 0);
      const float* row = x.data() + r * n;
      std::stable_sort(want.begin(), want.end(), [&](std::int32_t i, std::int32_t j) {
        return row[i] < row[j] || (std::isnan(row[j]) && !std::isnan(row[i]));
      });
      for (Dim i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(r * n + i);
        ASSERT_EQ(order[k], want[static_cast<std::size_t>(i)]) << n << ": " << r << " " << i;
        const float value = row[want[static_cast<std::size_t>(i)]];
        ASSERT_TRUE(got[k] == value || (std::isnan(got[k]) && std::isnan(value))) << got[k];
      }
    }
  }
}

TEST_F(DeviceSort, DerivativesReturnToWhereElementsWere) {
  constexpr Dim n = 40000;
  auto gradient = jit(rt, [](const Array& x) {
    return grad([](const Array& v) { return sum(sort(v) * iota({n}, 0, DType::f32)); })(x);
  });
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 0.0f);
  std::shuffle(x.begin(), x.end(), std::mt19937(3));
  // Every element's derivative is its rank: the elements are their ranks.
  EXPECT_EQ(rt.to_host<float>(gradient(rt.from_host(x))), x);
}

TEST_F(DeviceSort, QuantilesAndSearchesAgreeWithTheHost) {
  const std::vector<float> x = [] {
    std::vector<float> v = numbers(50000);
    std::replace_if(
        v.begin(), v.end(), [](float f) { return std::isnan(f); }, 0.0f);
    return v;
  }();
  auto all = jit(rt, [](const Array& v) {
    const Array s = sort(v);
    return std::tuple{quantile(v, 0.25), searchsorted(s, array({-2000.0f, 3.0f, 2000.0f})),
                      unique(v, 8).number, random::permutation(random::key(1), 3000)};
  });
  const auto [quarter, places, distinct, order] = all(rt.from_host(x));
  std::vector<float> s = x;
  std::sort(s.begin(), s.end());
  const double position = 0.25 * 49999;
  const auto at = static_cast<std::size_t>(position);
  EXPECT_NEAR(rt.to_host<float>(quarter)[0], s[at] + (position - at) * (s[at + 1] - s[at]), 1e-3);
  const auto three = std::lower_bound(s.begin(), s.end(), 3.0f) - s.begin();
  EXPECT_EQ(rt.to_host<std::int32_t>(places),
            (std::vector<std::int32_t>{0, static_cast<std::int32_t>(three), 50000}));
  EXPECT_EQ(rt.to_host<std::int32_t>(distinct)[0], std::unique(s.begin(), s.end()) - s.begin());
  std::vector<std::int32_t> p = rt.to_host<std::int32_t>(order);
  std::sort(p.begin(), p.end());
  for (std::int32_t i = 0; i < 3000; ++i) ASSERT_EQ(p[static_cast<std::size_t>(i)], i);
}

TEST_F(DeviceSort, RejectionLoopsRunByLane) {
  auto draws = jit(rt, [] {
    return std::tuple{random::gamma(random::key(2), 0.7, {5000}),
                      random::poisson(random::key(2), 30, {5000})};
  });
  const auto [g, p] = draws();
  double mean = 0, events = 0;
  for (float v : rt.to_host<float>(g)) mean += v / 5000;
  for (std::int32_t v : rt.to_host<std::int32_t>(p)) events += v / 5000.0;
  EXPECT_NEAR(mean, 0.7, 4 * std::sqrt(0.7 / 5000));
  EXPECT_NEAR(events, 30, 4 * std::sqrt(30 / 5000.0));
}

}  // namespace
}  // namespace gnomon::testing
