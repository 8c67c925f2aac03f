// tests/engine/rounding_test.cpp -- the probe for loose division, and kernels that round by
// themselves.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "codegen/modules/module.h"
#include "codegen/modules/rounding_kernel.h"
#include "engine/vulkan/rounding_probe.h"
#include "gnomon/control.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/support/subnormals.h"

namespace gnomon {
namespace {

using Rounding = testing::DeviceTest;

std::vector<float> quotients(const vulkan::RoundingOperands& o) {
  std::vector<float> r;
  for (std::size_t i = 0; i < o.x.size(); ++i) r.push_back(o.x[i] / o.y[i]);
  return r;
}
std::vector<float> roots(const vulkan::RoundingOperands& o) {
  std::vector<float> r;
  for (float x : o.x) r.push_back(std::sqrt(std::fabs(x)));
  return r;
}

TEST(RoundingProbe, FindsWhatIsWrong) {
  const vulkan::RoundingOperands o = vulkan::rounding_operands();
  const std::vector<float> q = quotients(o), s = roots(o);
  const auto right = vulkan::judge_rounding(o, q, s);
  EXPECT_FALSE(right.any());
  std::vector<float> off = q;
  off[7] = std::nextafter(off[7], 0.0f);
  EXPECT_TRUE(vulkan::judge_rounding(o, off, s).division);
  EXPECT_FALSE(vulkan::judge_rounding(o, off, s).root);
  off = s;
  off.back() = std::nanf("");
  EXPECT_FALSE(vulkan::judge_rounding(o, q, off).division);
  EXPECT_TRUE(vulkan::judge_rounding(o, q, off).root);
}

TEST(RoundingProbe, SeesThroughUsualWaysToDivide) {
  const vulkan::RoundingOperands o = vulkan::rounding_operands();
  // By a rounded inverse, by that and one correction, and roots by a rounded inverse root.
  std::vector<float> by_inverse, corrected, by_inverse_root;
  for (std::size_t i = 0; i < o.x.size(); ++i) {
    const float inverse = 1 / o.y[i], q = o.x[i] * inverse;
    by_inverse.push_back(q);
    corrected.push_back(std::fma(std::fma(-q, o.y[i], o.x[i]), inverse, q));
    const float size = std::fabs(o.x[i]);
    by_inverse_root.push_back(size * (1 / std::sqrt(size)));
  }
  EXPECT_TRUE(vulkan::judge_rounding(o, by_inverse, roots(o)).division);
  EXPECT_TRUE(vulkan::judge_rounding(o, corrected, roots(o)).division);
  EXPECT_TRUE(vulkan::judge_rounding(o, quotients(o), by_inverse_root).root);
}

TEST_F(Rounding, ProbeFindsTheCpuDriversCorrect) {
  if (rt.state()->context->device.description().kind != vulkan::DeviceDescription::Kind::cpu)
    GTEST_SKIP() << rt.device_name() << " is no CPU driver, whose rounding is known beforehand";
  const auto wrong = [&] {
    const kernel::Kernel kernel = rounding_kernel();
    const std::vector<std::uint8_t> windows(kernel.buffers.size(), 0);
    return vulkan::probe_rounding(context()->device, context()->queue,
                                  module_words(kernel, rt.target(), windows, {}),
                                  kernel.group_size);
  }();
  EXPECT_FALSE(wrong.division);
  EXPECT_FALSE(wrong.root);
}

/// A device that is said to round nothing correctly.
class Refined : public testing::DeviceTest {
 protected:
  Refined() { context()->device.refine({.division = true, .root = true}); }
};

/// Bit for bit, but for subnormal numbers where the device does not keep them.
void expect_bits(const std::vector<float>& got, const std::vector<float>& want,
                 const std::vector<float>& x, const std::vector<float>& y, bool subnormals) {
  const auto is_subnormal = [](float v) { return std::fpclassify(v) == FP_SUBNORMAL; };
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]) && std::isnan(got[i])) continue;
    if (!subnormals && (is_subnormal(x[i]) || is_subnormal(y[i]) || is_subnormal(want[i])))
      continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i]))
        << std::hexfloat << x[i] << ", " << y[i] << " gives " << got[i] << ", not " << want[i];
  }
}

TEST_F(Refined, QuotientsAndRootsAreThoseOfTheHost) {
  vulkan::RoundingOperands o = vulkan::rounding_operands();
  // Results around and below the smallest normal number, beyond the largest, and no numbers.
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (float x : {0.0f, -0.0f, 1.0f, -3.0f, 0x1p-126f, 0x1.fffffep127f, 0x1p-149f, inf, -inf})
    for (float y : {0.0f, -0.0f, 1.0f, 0x1.fffffep0f, 7.0f, 0x1p-1f, 0x1p127f, 0x1p-149f, inf})
      o.x.push_back(x), o.y.push_back(y);
  for (int k = 0; k < 400; ++k) {
    o.x.push_back(std::ldexp(1.0f + static_cast<float>(k * 20771 % 8388608) * 0x1p-23f, -k / 3));
    o.y.push_back(std::ldexp(1.0f + static_cast<float>(k * 99991 % 8388608) * 0x1p-23f, 30));
  }
  const auto f = jit(rt, [](const Array& x, const Array& y) {
    return std::pair{x / y, sqrt(abs(x))};
  });
  const auto [q, s] = f(rt.from_host(o.x), rt.from_host(o.y));
  EXPECT_EQ(f.text("kernel").find(" = fma "), std::string::npos);
  const bool subnormals = testing::keeps_subnormals<float>(rt);
  expect_bits(rt.to_host<float>(q), quotients(o), o.x, o.y, subnormals);
  expect_bits(rt.to_host<float>(s), roots(o), o.x, o.y, subnormals);
}

TEST_F(Refined, LoopsAndDecisionsUseThemToo) {
  // Newton's method for the root of every x, until two steps agree: a loop with divisions in its
  // body and in its condition, per lane and of a whole array.
  const std::vector<float> x{2.0f, 3.0f, 10.0f, 12345.0f};
  const auto lanes = jit(rt, [](const Array& a) {
    return vmap([](const Array& v) {
      return while_loop([&](const Array& r) { return abs(r - v / r) > r * 1e-6f; },
                        [&](const Array& r) { return (r + v / r) * 0.5f; }, v, {.max_steps = 60});
    })(a);
  });
  const std::vector<float> r = rt.to_host<float>(lanes(rt.from_host(x)));
  const auto whole = jit(rt, [](const Array& a) {
    return while_loop([&](const Array& v) { return any(abs(v - a / v) > v * 1e-6f); },
                      [&](const Array& v) { return (v + a / v) * 0.5f; }, a, {.max_steps = 60});
  });
  const std::vector<float> w = rt.to_host<float>(whole(rt.from_host(x)));
  for (std::size_t i = 0; i < x.size(); ++i) {
    float v = x[i];
    while (std::fabs(v - x[i] / v) > v * 1e-6f) v = (v + x[i] / v) * 0.5f;
    EXPECT_EQ(r[i], v);
    EXPECT_NEAR(w[i], std::sqrt(x[i]), 1e-6f * w[i]);
  }
}

TEST_F(Refined, FastMathTakesTheDevicesOwn) {
  const auto f = [](const Array& x) { return 1.0f / x; };
  const auto exact = jit(rt, f), fast = jit(rt, f, {.fast_math = true});
  const Array x = rt.from_host(std::vector<float>{3.0f});
  EXPECT_EQ(rt.to_host<float>(exact(x))[0], 1.0f / 3.0f);
  EXPECT_NEAR(rt.to_host<float>(fast(x))[0], 1.0f / 3.0f, 1e-6f);
  EXPECT_GT(exact.text("kernel").size(), 2 * fast.text("kernel").size());
}

}  // namespace
}  // namespace gnomon
