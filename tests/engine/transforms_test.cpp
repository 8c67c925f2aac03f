// tests/engine/transforms_test.cpp -- rules, holes, named axes and implicit derivatives in compiled
// functions: the numbers of closed forms, on the device.
#include <gmock/gmock.h>

#include <cmath>

#include "gnomon/axes.h"
#include "gnomon/control.h"
#include "gnomon/debug.h"
#include "gnomon/implicit.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/partition.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class TransformsOnDevice : public DeviceTest {
 protected:
  Array of(const std::vector<float>& v) { return rt.from_host(v, Shape(v.size())); }
};

struct Model {
  Array head, body;
  Array steps;
};

TEST_F(TransformsOnDevice, TreesWithHolesGoInAndOut) {
  const Model model{of({1, 2}), of({3, 4}), rt.from_host(std::vector<std::int32_t>{7}, {1})};
  auto step = jit(rt, [](const Model& m, const Array& x) {
    const auto loss = [&](const Model& p) { return sum(p.head * p.body * x); };
    const Model g = grad(loss)(m);
    return std::pair{g, tree::add(m, tree::scale(-0.5f, g))};
  });
  const auto [g, next] = step(model, of({1, 10}));
  EXPECT_TRUE(g.steps.is_hole());
  EXPECT_EQ(rt.to_host<float>(g.head), (std::vector<float>{3, 40}));
  EXPECT_EQ(rt.to_host<float>(next.body), (std::vector<float>{2.5f, -6}));
  EXPECT_EQ(rt.to_host<std::int32_t>(next.steps), std::vector<std::int32_t>{7});

  // Which arrays are holes is part of what a function is compiled for.
  auto total = jit(rt, [](const Model& m) {
    Array sum_of = zeros({});
    tree::for_each_leaf(m, [&](const Array& a) { sum_of = sum_of + sum(cast(a, DType::f32)); });
    return sum_of;
  });
  const auto [heads, rest] = tree::separate(
      model, [](Model & m) -> auto& { return m.head; });
  EXPECT_EQ(rt.to_host<float>(total(heads))[0], 3);
  EXPECT_EQ(rt.to_host<float>(total(rest))[0], 14);
  EXPECT_EQ(rt.to_host<float>(total(model))[0], 17);
  EXPECT_EQ(total.cache_info().traces, 3u);
}

TEST_F(TransformsOnDevice, RulesInLoopsOfLanes) {
  // Ten times the derivative of sin, in a loop in which every lane stops on its own.
  const auto tenfold = custom_vjp([](const Array& v) { return sin(v); },
                                  [](const Array& v) {
                                    return std::pair{sin(v), v};
                                  },
                                  [](const Array& v, const Array& dy) { return 10 * cos(v) * dy; });
  auto f = jit(rt, [&](const Array& x) {
    return vmap(grad([&](const Array& v) {
      return while_loop([](const Array& c) { return c < 2; },
                        [&](Array c) { return c + tenfold(v) * tenfold(v); }, v, {.max_steps = 50});
    }))(x);
  });
  const std::vector<float> at{0.3f, 0.8f, 1.5f, 3.0f};
  const std::vector<float> got = rt.to_host<float>(f(of(at)));
  for (std::size_t i = 0; i < at.size(); ++i) {
    double c = at[i], slope = 1;
    for (; c < 2; c += std::pow(std::sin(at[i]), 2))
      slope += 20 * std::sin(at[i]) * std::cos(at[i]);
    EXPECT_NEAR(got[i], slope, 1e-3 * (1 + std::fabs(slope))) << i;
  }
}

TEST_F(TransformsOnDevice, AxesInLoopsOfLanes) {
  auto f = jit(rt, [](const Array& x) {
    return vmap(
        [](const Array& v) {
          return while_loop([](const Array& c) { return c < 8; },
                            [](Array c) { return c * 2 + pmin(c, "i"); }, v, {.max_steps = 10});
        },
        {.axis_name = "i"})(x);
  });
  EXPECT_EQ(rt.to_host<float>(f(of({1, 2, 4, 9}))), (std::vector<float>{9, 13, 9, 9}));
}

TEST_F(TransformsOnDevice, FixedPointsStopApart) {
  auto f = jit(rt, [](const Array& k) {
    return vmap([](const Array& c) {
      const auto settled = [](const Array& v) {
        return fixed_point([&](const Array& x) { return cos(v * x); }, full({}, 0.5f));
      };
      return std::pair{settled(c), grad(settled)(c)};
    })(k);
  });
  const std::vector<float> k{0.1f, 0.5f, 0.8f};
  const auto [x, slope] = f(of(k));
  const std::vector<float> values = rt.to_host<float>(x), slopes = rt.to_host<float>(slope);
  for (std::size_t i = 0; i < k.size(); ++i) {
    double c = 0.5;
    for (int n = 0; n < 300; ++n) c = std::cos(k[i] * c);
    EXPECT_NEAR(values[i], c, 1e-4);
    EXPECT_NEAR(slopes[i], -c * std::sin(k[i] * c) / (1 + k[i] * std::sin(k[i] * c)), 1e-3);
  }
}

TEST_F(TransformsOnDevice, CallsSpeak) {
  std::vector<std::string> lines;
  rt.on_print([&](std::string_view line) { lines.emplace_back(line); });
  auto f = jit(rt, [](const Array& x) {
    const auto loud = custom_jvp(
        [](const Array& v) {
          debug::print("value {}", v);
          return v * v;
        },
        [](const Array& v, const Array&, const Array& dv) {
          debug::print("rule {}", v);
          return 2 * v * dv;
        });
    return jvp(loud, x, ones_like(x)).second;
  });
  EXPECT_EQ(rt.to_host<float>(f(of({3})))[0], 6);
  EXPECT_THAT(lines, ::testing::UnorderedElementsAre("value [3.]", "rule [3.]"));
}

}  // namespace
}  // namespace gnomon::testing
