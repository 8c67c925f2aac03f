// tests/engine/roots_device_test.cpp -- ensembles of non-linear solves on the device.
#include <cmath>

#include "gnomon/indexing.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/roots.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class Solves : public DeviceTest {};

TEST_F(Solves, AnEnsembleOfRootsIsOneKernel) {
  // Kepler's equation for many eccentricities, and the circle that a line cuts.
  struct Point {
    Array x, y;
  };
  const auto one = [](const Array& a) {
    const auto f = [&](const Point& p) {
      return Point{p.x * p.x + p.y * p.y - 1.0f, p.y - a * p.x};
    };
    const auto root = roots::newton(f, Point{ones({}), ones({})}, {.rtol = 1e-6});
    return std::tuple{root.x, root.steps, root.result};
  };
  auto solve = jit(rt, vmap(one), {.name = "roots_newton"});
  const std::vector<float> slopes{0, 0.5f, 1, 2, 10, 100};
  const auto [p, steps, result] = solve(rt.from_host(slopes));
  EXPECT_EQ(solve.kernel_count(), 1) << solve.text("fusion");
  const auto x = rt.to_host<float>(p.x), y = rt.to_host<float>(p.y);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const float want = 1 / std::sqrt(1 + slopes[i] * slopes[i]);
    EXPECT_NEAR(x[i], want, 1e-6f) << i;
    EXPECT_NEAR(y[i], slopes[i] * want, 2e-6f) << i;
  }
  for (std::int32_t r : rt.to_host<std::int32_t>(result)) EXPECT_EQ(r, 0);
}

TEST_F(Solves, AnEnsembleOfFitsRunsLaneByLane) {
  // Two parameters of a decay for each lane, and the gradient of one of them by the data.
  std::vector<float> times, data, rates;
  for (int k = 0; k < 12; ++k) times.push_back(0.25f * static_cast<float>(k));
  for (int i = 0; i < 9; ++i) rates.push_back(0.3f + 0.2f * static_cast<float>(i));
  for (float r : rates)
    for (float t : times) data.push_back(2 * std::exp(-r * t));
  const Array ts = rt.from_host(times);
  const auto one = [&](const Array& y) {
    const auto residuals = [&](const Array& p) { return p[0] * exp(-p[1] * ts) - y; };
    const auto fit = roots::levenberg_marquardt(residuals, ones({2}), {.rtol = 1e-5});
    return std::pair{fit.x, fit.result};
  };
  auto solve = jit(rt, vmap(one), {.name = "roots_fits"});
  const Array all = rt.from_host(data, {9, 12});
  const auto [p, result] = solve(all);
  const auto found = rt.to_host<float>(p);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    EXPECT_NEAR(found[2 * i], 2, 1e-4f) << i;
    EXPECT_NEAR(found[2 * i + 1], rates[i], 1e-4f) << i;
  }
  for (std::int32_t r : rt.to_host<std::int32_t>(result)) EXPECT_EQ(r, 0);
}

struct Unknowns {
  Array none, x;
};
const roots::Options close{.rtol = 1e-6, .max_steps = 1000};

/// What each search finds of x^2 = y, or of x^2 near y, from x = 1 on, and how it ended.
std::vector<std::pair<Array, Array>> found_beside_nothing(const Array& y, const Array& nothing,
                                                          bool some) {
  std::vector<std::pair<Array, Array>> all;
  const auto keep = [&](const auto& root) { all.emplace_back(root.x.x, root.result); };
  const auto square = [&](const Unknowns& u) { return Unknowns{2.0f * u.none, u.x * u.x - y}; };
  const auto squares = [&](const Unknowns& u) {
    const Unknowns r = square(u);
    return 0.5f * (sum(r.x * r.x) + sum(r.none));
  };
  const Unknowns start{nothing, some ? ones(y.shape()) : y};
  keep(roots::newton(square, start, close));
  keep(roots::chord(square, start, close));
  keep(roots::broyden(square, start, close));
  keep(roots::gauss_newton(square, start, close));
  keep(roots::levenberg_marquardt(square, start, close));
  keep(roots::bfgs(squares, start, close));
  keep(roots::nelder_mead(squares, start, {.rtol = 1e-4, .max_steps = 3000}));
  return all;
}

TEST_F(Solves, UnknownsWithoutElementsStandBesideOthers) {
  for (const Shape& nothing : {Shape{0}, Shape{2, 0}})
    for (const Dim n : {Dim(2), Dim(15)}) {  // written out, and as one matrix
      SCOPED_TRACE(to_string(nothing) + " beside " + std::to_string(n));
      std::vector<float> y;
      for (Dim i = 0; i < n; ++i) y.push_back(1 + 0.25f * static_cast<float>(i));
      const auto by_all = [&](const Array& a) {
        auto all = found_beside_nothing(a, zeros(nothing), true);
        if (n > 2) all.pop_back();  // a simplex is for a handful
        return all;
      };
      const auto all = jit(rt, by_all)(rt.from_host(y));
      for (std::size_t m = 0; m < all.size(); ++m) {
        EXPECT_EQ(rt.item<std::int32_t>(all[m].second), 0) << "method " << m;
        const auto x = rt.to_host<float>(all[m].first);
        for (std::size_t i = 0; i < y.size(); ++i)
          EXPECT_NEAR(x[i], std::sqrt(y[i]), m == 6 ? 2e-3f : 2e-5f) << "method " << m;
      }
      // d sqrt(y) / dy, and lanes of their own.
      const auto slope = jit(rt, vmap(grad([&](const Array& a) {
                               return sum(found_beside_nothing(a, zeros(nothing), true)[0].first);
                             })));
      const auto got = rt.to_host<float>(slope(rt.from_host(y, {1, n})));
      for (std::size_t i = 0; i < y.size(); ++i)
        EXPECT_NEAR(got[i], 0.5f / std::sqrt(y[i]), 1e-5f) << i;
    }
}

TEST_F(Solves, OfUnknownsWithoutElementsTheStartIsTheRoot) {
  const auto f = jit(rt, [](const Array& y) {
    return found_beside_nothing(y, zeros({3, 0}), false);
  });
  for (const auto& [x, result] : f(rt.from_host(std::vector<float>{}, {0}))) {
    EXPECT_EQ(x.shape(), Shape{0});
    EXPECT_EQ(rt.item<std::int32_t>(result), 0);
  }
  const auto least =
      jit(rt, grad([](const Array& a) {
            return roots::bfgs([&](const Array& x) { return a * a + sum(x); }, zeros({0})).value;
          }));
  EXPECT_EQ(rt.item<float>(least(rt.from_host(3.0f))), 6.0f);
}

TEST_F(Solves, FailedOnesAreCounted) {
  auto solve = jit(rt, vmap([](const Array& a) {
                     const auto wave = [&](const Array& x) { return x * x - a; };
                     return roots::brent(wave, 0.0f, 2.0f).result;
                   }));
  struct Found {
    Array result;
  };
  const Found found{solve(rt.from_host(std::vector<float>{1, 9, 2, 16}))};
  try {
    roots::throw_if_failed(rt, found);
    FAIL();
  } catch (const roots::SolveFailed& e) {
    EXPECT_NE(std::string(e.what()).find("2 of 4 solves failed, first number 1: the function has"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace gnomon::testing
