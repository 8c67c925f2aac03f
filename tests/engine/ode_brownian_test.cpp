// tests/engine/ode_brownian_test.cpp -- Brownian paths: their distribution, and that they are
// functions of time.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::IndexedBrownianPath;
using ode::LevyArea;
using ode::VirtualBrownianTree;

constexpr Dim keys = 4000;

/// Columns of `f(key)`, for many keys.
template <class F>
std::vector<Numbers> samples(F f) {
  return test::run_all([&] { return vmap(f)(random::split(random::key(11), keys)); });
}

double mean(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum / static_cast<double>(a.size());
}
double mean(const Numbers& a) { return mean(a, Numbers(a.size(), 1)); }

/// Means of zero, the variances given and no covariance, within 4.5 standard deviations.
void expect_independent(const std::vector<Numbers>& all, const Numbers& variances) {
  const double n = keys;
  ASSERT_EQ(all.size(), variances.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(mean(all[i]), 0, 4.5 * std::sqrt(variances[i] / n)) << i;
    EXPECT_NEAR(mean(all[i], all[i]) / variances[i], 1, 4.5 * std::sqrt(2 / n)) << i;
    for (std::size_t k = 0; k < i; ++k)
      EXPECT_NEAR(mean(all[i], all[k]) / std::sqrt(variances[i] * variances[k]), 0,
                  4.5 / std::sqrt(n))
          << i << " and " << k;
  }
}

Array at(double t) { return full({}, t, DType::f64); }

TEST(BrownianTree, IncrementsAndAreasAreIndependentAndOfTheirVariances) {
  // Times on the grid of bisection, near to it, and one inside of each of its smallest cells.
  const auto all = samples([](const Key& key) {
    const VirtualBrownianTree path(1.0, 3.0, 0.25, zeros({}, DType::f64), key.clone(),
                                   LevyArea::space_time);
    const auto a = path.evaluate(at(1.0), at(1.5)), b = path.evaluate(at(1.5), at(2.2)),
               c = path.evaluate(at(2.2), at(2.26)), d = path.evaluate(at(2.26), at(3.0));
    return std::tuple{a.w, *a.h, b.w, *b.h, c.w, *c.h, d.w, *d.h};
  });
  expect_independent(all, {0.5, 0.5 / 12, 0.7, 0.7 / 12, 0.06, 0.06 / 12, 0.74, 0.74 / 12});
}

TEST(BrownianTree, FloatsWithoutAreasHaveTheSameDistribution) {
  const auto all = samples([](const Key& key) {
    const VirtualBrownianTree path(0.0, 1.0, 0.01, std::pair{zeros({}), zeros({2})}, key.clone());
    const auto a = path.evaluate(full({}, 0.0), full({}, 0.3)),
               b = path.evaluate(full({}, 0.3), full({}, 1.0));
    return std::tuple{a.w.first, b.w.first, a.w.second[0], a.w.second[1], b.w.second[0]};
  });
  expect_independent(all, {0.3, 0.7, 0.3, 0.3, 0.7});
}

TEST(BrownianTree, IncrementsAddUpAndAreasAsChenSays) {
  for (const bool backwards : {false, true}) {
    const auto all = test::run_all([&] {
      const VirtualBrownianTree path(0.0, 2.0, 1e-3, zeros({3}, DType::f64), random::key(5),
                                     LevyArea::space_time);
      const double s = backwards ? 1.7 : 0.3, m = 0.81, t = backwards ? 0.3 : 1.7;
      const auto first = path.evaluate(at(s), at(m)), second = path.evaluate(at(m), at(t)),
                 both = path.evaluate(at(s), at(t));
      return std::tuple{first.w,
                        *first.h,
                        second.w,
                        *second.h,
                        both.w,
                        *both.h,
                        path.evaluate(at(t)) - path.evaluate(at(s))};
    });
    const double a = backwards ? 0.89 : 0.51, b = 1.4 - a;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(all[4][i], all[0][i] + all[2][i], 1e-12);
      EXPECT_NEAR(all[6][i], all[4][i], 1e-12);
      EXPECT_NEAR(1.4 * all[5][i],
                  a * all[1][i] + b * all[3][i] + 0.5 * (b * all[0][i] - a * all[2][i]), 1e-12)
          << i;
    }
  }
}

TEST(BrownianTree, AFinerOneHasTheSameValuesWhereTheCoarseOneWasBisected) {
  const auto value = [](double tol, double t, LevyArea area) {
    return test::run([&] {
      const VirtualBrownianTree path(0.0, 1.0, tol, zeros({}, DType::f64), random::key(5), area);
      return path.evaluate(at(t));
    })[0];
  };
  for (const LevyArea area : {LevyArea::none, LevyArea::space_time}) {
    for (double t : {0.25, 0.625, 1.0})
      EXPECT_NEAR(value(0.125, t, area), value(1e-6, t, area), 1e-14) << t;
    EXPECT_NE(value(0.125, 0.3, area), value(1e-6, 0.3, area));
    EXPECT_EQ(value(1e-4, 0.3, area), value(1e-4, 0.3, area));
  }
}

TEST(BrownianTree, IsNotANumberOutsideOfItsTimes) {
  const auto all = test::run([] {
    const VirtualBrownianTree path(0.0, 1.0, 0.1, zeros({}, DType::f64), random::key(5));
    return stack({path.evaluate(at(-0.01)), path.evaluate(at(0)), path.evaluate(at(1.01))});
  });
  EXPECT_TRUE(std::isnan(all[0]) && std::isnan(all[2]));
  EXPECT_EQ(all[1], 0);
}

TEST(BrownianTree, NumbersAreTimesOfThePathsType) {
  // 0.1 as f32 is another time, at which a path of f64 has another value.
  const auto all = test::run_all([] {
    const VirtualBrownianTree path(0.0, 1.0, 1e-8, zeros({}, DType::f64), random::key(11),
                                   LevyArea::space_time);
    const ode::IndexedBrownianPath steps(zeros({}, DType::f64), random::key(11));
    const auto from_array = path.evaluate(at(0.1), at(0.7)),
               from_both = path.evaluate(0.1, at(0.7)), from_number = path.evaluate(0.1, 0.7);
    return std::tuple{
        path.evaluate(at(0.1)), path.evaluate(0.1), from_array.w,   from_both.w,
        from_number.w,          *from_array.h,      *from_number.h, steps.step(3, at(0.1)).w,
        steps.step(3, 0.1).w};
  });
  EXPECT_EQ(all[1], all[0]);
  EXPECT_EQ(all[3], all[2]);
  EXPECT_EQ(all[4], all[2]);
  EXPECT_EQ(all[6], all[5]);
  EXPECT_EQ(all[8], all[7]);
  // Increments of f64 over sqrt(0.1) are normal numbers; those over sqrt(float(0.1)) are off.
  const auto root = test::run_all([] {
    const ode::IndexedBrownianPath steps(zeros({}, DType::f64), random::key(11));
    return std::pair{steps.step(3, 0.1).w, steps.step(3, 1.0).w};
  });
  EXPECT_NEAR(root[0][0] / root[1][0], std::sqrt(0.1), 1e-15);
}

TEST(BrownianTree, SaysWhatIsWrongWithIt) {
  const auto made = [](double t0, double t1, double tol, DType dtype) {
    return test::usage_error_of([&] {
      const VirtualBrownianTree path(t0, t1, tol, zeros({}, dtype), random::key(5));
      return path.evaluate(full({}, 0.5));
    });
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(made(1, 0, 0.1, DType::f32), HasSubstr("t0 has to be below t1"));
  EXPECT_THAT(made(0, 1, 0, DType::f32), HasSubstr("2^-30"));
  EXPECT_THAT(made(0, 1, 1e-12, DType::f32), HasSubstr("2^-30"));
  EXPECT_THAT(made(0, 1, 0.1, DType::i32), HasSubstr("f32 or f64"));
  EXPECT_EQ(made(0, 1, 0.1, DType::f32), "");
}

TEST(IndexedBrownianPath, StepsAreIndependentAndOfTheirVariances) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto all = samples([dtype](const Key& key) {
      const IndexedBrownianPath path(zeros({}, dtype), key.clone(), LevyArea::space_time);
      const auto a = path.step(0, 0.5), b = path.step(1, 0.1), c = path.step(900, 2.0);
      return std::tuple{a.w, *a.h, b.w, *b.h, c.w, *c.h};
    });
    expect_independent(all, {0.5, 0.5 / 12, 0.1, 0.1 / 12, 2, 2.0 / 12});
  }
}

TEST(IndexedBrownianPath, IsNormalInItsTails) {
  // P(|Z| > x) for x = 1, 2, 3: four million numbers would see more; these see a wrong branch.
  const auto z = test::run([] {
    return vmap([](const Array& i) {
      return IndexedBrownianPath(zeros({}), random::key(3)).step(i, 1.0).w;
    })(iota({60000}, 0));
  });
  for (double x : {1.0, 2.0, 3.0}) {
    const double p = std::erfc(x / std::sqrt(2.0)), n = static_cast<double>(z.size());
    double beyond = 0;
    for (double v : z) beyond += std::fabs(v) > x;
    EXPECT_NEAR(beyond / n, p, 4.5 * std::sqrt(p * (1 - p) / n)) << x;
  }
}

}  // namespace
}  // namespace gnomon::testing
