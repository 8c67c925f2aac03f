// tests/shaders/pass_hide_zeros_test.cpp -- zeros that are added, multiplied or divided by are no
// constants.
#include "shaders/passes/hide_zeros.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/builder.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"

namespace gnomon::kernel {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity(),
                nan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> arguments{3, -1, 0, -0.0f, inf, nan};

using Function = Value (*)(Builder&, Value x, Value zero);

/// f(x, 0) of elements side by side.
Kernel kernel_of(Function f, std::uint8_t width) {
  Builder b("zeros");
  const std::uint32_t in = b.buffer({DType::f32, Access::read, false, false, "x"});
  const std::uint32_t out = b.buffer({DType::f32, Access::write, false, false, "y"});
  b.kernel().group_size = 1;
  const Value at = b.mul(b.source(Op::invocation), b.u32(width));
  const Value zero = b.number(DType::f32, 0);
  b.store(out, at, f(b, b.load(in, at, width), width == 1 ? zero : b.splat(zero, width)));
  return b.take();
}

std::vector<float> run(const Kernel& k, std::uint32_t groups) {
  verify(k);
  std::vector<float> x = arguments, y(x.size(), 77);
  std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(x)),
                                    std::as_writable_bytes(std::span(y))};
  const std::uint32_t parameters[6] = {0, groups, 0, 0, 0, 0};
  interpret(k, groups, parameters, buffers);
  return y;
}

constexpr Function functions[] = {
    [](Builder& b, Value x, Value zero) { return b.add(x, zero); },
    [](Builder& b, Value x, Value zero) { return b.sub(zero, x); },
    [](Builder& b, Value x, Value zero) { return b.mul(zero, x); },
    [](Builder& b, Value x, Value zero) { return b.div(x, zero); },
    [](Builder& b, Value x, Value zero) { return b.div(zero, x); },
    [](Builder& b, Value x, Value zero) { return b.fma(x, zero, zero); },
};

TEST(HideZeros, TheKernelDoesTheSame) {
  for (const Function f : functions)
    for (const std::uint8_t width : {1, 2}) {
      const Kernel plain = kernel_of(f, width), hidden = hide_zeros(plain);
      EXPECT_NE(print(hidden), print(plain));
      const auto groups = static_cast<std::uint32_t>(arguments.size() / width);
      const std::vector<float> a = run(plain, groups), b = run(hidden, groups);
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i;
        EXPECT_EQ(std::signbit(a[i]) && !std::isnan(a[i]), std::signbit(b[i]) && !std::isnan(b[i]));
      }
    }
}

TEST(HideZeros, LeavesOtherZerosAlone) {
  constexpr Function others[] = {
      [](Builder& b, Value x, Value zero) { return b.binary(Op::maximum, x, zero); },
      [](Builder& b, Value x, Value) { return b.add(x, b.number(DType::f32, 1)); },
      [](Builder& b, Value x, Value zero) { return b.select(b.compare(Op::lt, x, zero), zero, x); },
  };
  for (const Function f : others) {
    const Kernel k = kernel_of(f, 1);
    EXPECT_EQ(print(hide_zeros(k)), print(k));
  }
}

}  // namespace
}  // namespace gnomon::kernel
