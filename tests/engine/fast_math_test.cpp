// tests/engine/fast_math_test.cpp -- the driver's own functions, on request and only then.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "tests/engine/fixture.h"

namespace gnomon {
namespace {

using Fast = testing::DeviceTest;

Array waves(const Array& x) { return sin(x) * exp(-square(x)) + pow(exp(x), x) + tanh(x); }

TEST_F(Fast, MathUsesTheDriversFunctionsAndIsRoughlyRight) {
  const std::vector<float> x{-1.5f, -0.3f, 0.2f, 0.9f, 2.0f};
  const auto exact = jit(rt, waves), fast = jit(rt, waves, {.fast_math = true});
  const std::vector<float> y = rt.to_host<float>(exact(rt.from_host(x)));
  const std::vector<float> z = rt.to_host<float>(fast(rt.from_host(x)));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double right = std::sin(v) * std::exp(-v * v) + std::exp(v * v) + std::tanh(v);
    EXPECT_NEAR(y[i], right, 1e-6 * std::fabs(right) + 1e-7);
    EXPECT_NEAR(z[i], right, 1e-2 * std::fabs(right) + 1e-2);
  }
  const std::string slow_text = exact.text("kernel"), fast_text = fast.text("kernel");
  for (const char* instruction : {" = sin ", " = exp ", " = pow ", " = tanh "}) {
    EXPECT_EQ(slow_text.find(instruction), std::string::npos) << instruction;
    EXPECT_NE(fast_text.find(instruction), std::string::npos) << instruction;
  }
}

TEST_F(Fast, MathHasProgramsOfItsOwn) {
  const Array x = rt.from_host(std::vector<float>{1.0f});
  const std::uint64_t before = rt.counters().programs_compiled;
  jit(rt, waves)(x);
  jit(rt, waves, {.fast_math = true})(x);
  EXPECT_EQ(rt.counters().programs_compiled, before + 2);
  jit(rt, waves, {.fast_math = true})(x);
  EXPECT_EQ(rt.counters().programs_compiled, before + 2);
}

}  // namespace
}  // namespace gnomon
