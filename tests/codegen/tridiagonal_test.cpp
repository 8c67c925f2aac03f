// tests/codegen/tridiagonal_test.cpp -- tridiagonal systems: what does not count, batches, large
// systems with a closed form, derivatives, errors.
#include <limits>

#include "gnomon/jacobian.h"
#include "gnomon/linalg.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

const auto solved = [](const Array& l, const Array& d, const Array& u, const Array& b) {
  return linalg::tridiagonal_solve(l, d, u, b);
};

TEST(Tridiagonal, SolvesPoissonsEquation) {
  // -x'' = 1 between zeros: i (n + 1 - i) / 2 for i = 1, 2, ..., to the bit of what is summed up.
  constexpr Dim n = 200;
  const auto f = [](const Array& b) {
    const Array off = full({n}, -1, DType::f64);
    return linalg::tridiagonal_solve(off, full({n}, 2, DType::f64), off, b);
  };
  const Numbers x = run(f, host(DType::f64, {n}, Numbers(n, 1)));
  for (Dim i = 1; i <= n; ++i) {
    const double want = static_cast<double>(i * (n + 1 - i)) / 2;
    EXPECT_NEAR(x[static_cast<std::size_t>(i - 1)], want, 1e-11 * want);
  }
}

TEST(Tridiagonal, TheOuterElementsDoNotCount) {
  const Numbers x = run(solved, f32({nan, 1, 1}), f32({4, 4, 4}), f32({1, 1, nan}), f32({5, 6, 5}));
  expect_near(x, {1, 1, 1}, 1e-6);
  const auto gradient = [](const Array& l, const Array& d, const Array& u, const Array& b) {
    return grad([&](const std::pair<Array, Array>& outer) {
      return sum(linalg::tridiagonal_solve(outer.first, d, outer.second, b));
    })(std::pair{l, u});
  };
  const auto g =
      run_all(gradient, f32({nan, 1, 1}), f32({4, 4, 4}), f32({1, 1, nan}), f32({5, 6, 5}));
  EXPECT_EQ(g[0][0], 0);
  EXPECT_EQ(g[1][2], 0);
  for (const Numbers& v : g)
    for (const double e : v) EXPECT_TRUE(std::isfinite(e));
}

TEST(Tridiagonal, LeadingAxesBroadcastAndMapsAgree) {
  const HostArray l = f32({2, 3}, {0, 1, -1, 0, 2, 1}), d = f32({3}, {5, -6, 7}),
                  u = f32({2, 1, 3}, {1, 2, 0, -1, 1, 0}),
                  b = f32({2, 1, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3});
  const auto r = run_arrays(solved, l, d, u, b);
  EXPECT_EQ(r[0].aval.shape, (Shape{2, 2, 3, 2}));
  const Numbers x = numbers(r[0]);
  // Each system on its own.
  const Numbers lower = numbers(l), diag = numbers(d), upper = numbers(u), rhs = numbers(b);
  for (std::size_t p = 0; p < 2; ++p)
    for (std::size_t q = 0; q < 2; ++q)
      for (std::size_t c = 0; c < 2; ++c)
        for (std::size_t i = 0; i < 3; ++i) {
          const auto at = [&](std::size_t k) { return x[((p * 2 + q) * 3 + k) * 2 + c]; };
          double sum = diag[i] * at(i);
          if (i > 0) sum += lower[q * 3 + i] * at(i - 1);
          if (i < 2) sum += upper[p * 3 + i] * at(i + 1);
          EXPECT_NEAR(sum, rhs[(p * 3 + i) * 2 + c], 1e-5);
        }
  const auto mapped = [](const Array& lo, const Array& di, const Array& up, const Array& right) {
    return vmap([&](const Array& one) { return linalg::tridiagonal_solve(one, di, up, right); })(
        lo);
  };
  const HostArray one_u = f32({1, 2, 0}), one_b = f32({1, 2, 3});
  expect_near(run(mapped, l, d, one_u, one_b),
              run(solved, l, d, one_u, f32({2, 3, 1}, {1, 2, 3, 1, 2, 3})), 1e-6);
}

TEST(Tridiagonal, HasSecondDerivativesInEveryOperand) {
  const HostArray x = host(DType::f64, {12}, {.1, .2, .3, 4, 5, 6, .5, .6, .7, 1, 2, 3});
  const auto f = [](const Array& v) {
    const auto part = [&](Dim i) { return slice_axis(v, 0, 3 * i, 3 * i + 3); };
    return sum(square(linalg::tridiagonal_solve(part(0), part(1), part(2), part(3))));
  };
  const auto g = [&](const Array& v) { return grad(f)(v); };
  const Numbers h = run([&](const Array&v) { return jacfwd(g)(v); }, x),
                back = run([&](const Array&v) { return jacrev(g)(v); }, x);
  expect_near(h, back, 1e-10);
  for (std::size_t i = 0; i < 12; ++i)
    for (std::size_t j = 0; j < 12; ++j) EXPECT_NEAR(h[i * 12 + j], h[j * 12 + i], 1e-10);
}

TEST(Tridiagonal, SmallestSystems) {
  EXPECT_EQ(run(solved, f32(Numbers{9}), f32(Numbers{4}), f32(Numbers{9}), f32(Numbers{2})),
            (Numbers{0.5}));
  const auto none =
      run_arrays(solved, f32(Numbers{}), f32(Numbers{}), f32(Numbers{}), f32(Shape{0, 2}, {}));
  EXPECT_EQ(none[0].aval.shape, (Shape{0, 2}));
}

TEST(Tridiagonal, ErrorsShowAllShapes) {
  EXPECT_THAT(usage_error_of(solved, f32({1, 2}), f32({1, 2, 3}), f32({1, 2}), f32({1, 2, 3})),
              ::testing::AllOf(HasSubstr("the bands are f32[2], f32[3], f32[2]; give all three the "
                                         "length of the diagonal"),
                               HasSubstr("tridiagonal_test.cpp:")));
  EXPECT_THAT(usage_error_of(solved, f32({1, 2}), f32({1, 2}), f32({1, 2}), f32({1, 2, 3})),
              HasSubstr("the other side f32[3], which needs 2 rows"));
}

}  // namespace
}  // namespace gnomon::test
