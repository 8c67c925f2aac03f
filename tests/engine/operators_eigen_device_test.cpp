// tests/engine/operators_eigen_device_test.cpp -- eigenpairs of sparse operators on the device.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/jit.h"
#include "gnomon/operators.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class Spectra : public DeviceTest {};

TEST_F(Spectra, EndsOfThatOfAGridAreKnown) {
  constexpr Dim m = 20, n = 15;
  const operators::Csr a = operators::to_csr(
      rt, operators::poisson({m, n}), {.tags = {.symmetric = true, .positive_semidefinite = true}});
  std::vector<double> want;
  const auto part = [](Dim i, Dim size) {
    return 4 * std::pow(std::sin(std::numbers::pi * double(i) / (2 * double(size + 1))), 2);
  };
  for (Dim i = 1; i <= m; ++i)
    for (Dim j = 1; j <= n; ++j) want.push_back(part(i, m) + part(j, n));
  std::sort(want.begin(), want.end());

  auto f = jit(rt, [](const operators::Csr& c, const Array& seed) {
    const operators::Operator o = c;
    auto [x, key, other] = random::split<3>(random::key(seed));
    const auto small =
        operators::lobpcg(o, random::normal(std::move(x), {m * n, 4}), {.rtol = 1e-5});
    const auto large = operators::eigsh(o, 2, std::move(key), {.steps = 60});
    const auto singular = operators::randomized_svd(o, 3, std::move(other), {20, 12});
    return std::vector<Array>{small.values, large.values, singular.s, small.result};
  });
  const auto all = f(a, rt.from_host(std::vector<std::int32_t>{3}, {}));
  const auto small = rt.to_host<float>(all[0]), large = rt.to_host<float>(all[1]),
             singular = rt.to_host<float>(all[2]);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(small[i], want[i], 1e-5 * 8) << i;
  EXPECT_NEAR(large[0], want.back(), 1e-4);
  EXPECT_NEAR(large[1], want[want.size() - 2], 1e-3);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(singular[i], want[want.size() - 1 - i], 1e-2) << i;
  EXPECT_EQ(rt.to_host<std::int32_t>(all[3])[0],
            static_cast<std::int32_t>(operators::SolveResult::converged));
}

TEST_F(Spectra, LanesSearchOnTheirOwn) {
  // -1, 2 + c, -1: the spectrum of the line, moved by c; of one lane all is close together.
  constexpr Dim n = 40;
  auto f = jit(rt, [](const Array& shift, const Array& scale) {
    const auto one = [](const Array& c, const Array& s) {
      const Array off = -s * ones({n - 1});
      const operators::Operator a =
          operators::Tridiagonal{off,
                                 (2.0f * s + c) * ones({n}) + (1.0f - s) * arange(float(n)),
                                 off,
                                 {.symmetric = true}};
      const auto r = operators::lobpcg(a, random::normal(random::key(1), {n, 1}), {.rtol = 1e-5});
      return std::pair{r.values[0], r.steps};
    };
    return vmap(one)(shift, scale);
  });
  const auto [values, steps] =
      f(rt.from_host(std::vector<float>{0, 5, 1}), rt.from_host(std::vector<float>{1, 1, 0}));
  const auto v = rt.to_host<float>(values);
  const auto s = rt.to_host<std::int32_t>(steps);
  const double least = 4 * std::pow(std::sin(std::numbers::pi / (2 * double(n + 1))), 2);
  EXPECT_NEAR(v[0], least, 1e-4);
  EXPECT_NEAR(v[1], 5 + least, 1e-4);
  EXPECT_NEAR(v[2], 1, 1e-4);  // 1, 2, 3, ...
  EXPECT_NE(s[0], s[2]);
}

}  // namespace
}  // namespace gnomon::testing
