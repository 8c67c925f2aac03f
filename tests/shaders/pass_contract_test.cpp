// tests/shaders/pass_contract_test.cpp -- products and the sums that alone use them are one
// instruction.
#include "shaders/passes/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/builder.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"

namespace gnomon::kernel {
namespace {

using ::testing::HasSubstr;

constexpr float inf = std::numeric_limits<float>::infinity(),
                nan = std::numeric_limits<float>::quiet_NaN();
/// x, y and z side by side.
const std::vector<float> arguments{3,     5,     -15, -1, 2,   2, 0, 4,   -0.0f, inf, 2, 1,
                                   1e30f, 1e30f, inf, 0,  inf, 1, 2, nan, 1e-3f, 7.5, 1, 3};

using Function = Value (*)(Builder&, Value x, Value y, Value z);

Kernel kernel_of(Function f, DType t = DType::f32) {
  Builder b("sums");
  const std::uint32_t in = b.buffer({t, Access::read, false, false, "x"});
  const std::uint32_t out = b.buffer({t, Access::write, false, false, "y"});
  b.kernel().group_size = 1;
  const Value n = b.source(Op::invocation), first = b.mul(n, b.u32(3));
  const auto argument = [&](std::uint32_t i) { return b.load(in, b.add(first, b.u32(i))); };
  const Value x = argument(0), y = argument(1), z = argument(2);
  b.store(out, n, f(b, x, y, z));
  return b.take();
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

std::vector<float> run(const Kernel& k) {
  verify(k);
  std::vector<float> x = arguments, y(x.size() / 3, 77);
  std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(x)),
                                    std::as_writable_bytes(std::span(y))};
  const auto groups = static_cast<std::uint32_t>(y.size());
  const std::uint32_t parameters[6] = {0, groups, 0, 0, 0, 0};
  interpret(k, groups, parameters, buffers);
  return y;
}

TEST(Contract, SumsAndDifferencesTakeTheirProducts) {
  struct Case {
    Function f;
    double sign_of_product, sign_of_rest;
  };
  const Case cases[] = {
      {[](Builder& b, Value x, Value y, Value z) { return b.add(b.mul(x, y), z); }, 1, 1},
      {[](Builder& b, Value x, Value y, Value z) { return b.add(z, b.mul(x, y)); }, 1, 1},
      {[](Builder& b, Value x, Value y, Value z) { return b.sub(b.mul(x, y), z); }, 1, -1},
      {[](Builder& b, Value x, Value y, Value z) { return b.sub(z, b.mul(x, y)); }, -1, 1},
  };
  for (const Case& c : cases) {
    const Kernel contracted = contract(kernel_of(c.f));
    EXPECT_THAT(print(contracted), HasSubstr("fma"));
    const std::vector<float> got = run(contracted);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto x = static_cast<float>(c.sign_of_product) * arguments[3 * i],
                 y = arguments[3 * i + 1],
                 z = static_cast<float>(c.sign_of_rest) * arguments[3 * i + 2];
      // Rounded once or twice.
      EXPECT_TRUE(same(got[i], std::fma(x, y, z)) || same(got[i], x * y + z))
          << got[i] << " for " << x << " * " << y << " + " << z << "\n"
          << print(contracted);
    }
  }
}

TEST(Contract, OneOfTwoProducts) {
  const Kernel k = contract(kernel_of(
      [](Builder& b, Value x, Value y, Value z) { return b.add(b.mul(x, y), b.mul(y, z)); }));
  EXPECT_THAT(print(k), HasSubstr("fma"));
  const std::vector<float> got = run(k);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float x = arguments[3 * i], y = arguments[3 * i + 1], z = arguments[3 * i + 2];
    EXPECT_TRUE(same(got[i], std::fma(x, y, y * z)) || same(got[i], x * y + y * z)) << got[i];
  }
}

TEST(Contract, LeavesTheRestAlone) {
  constexpr Function others[] = {
      // The product is needed by itself.
      [](Builder& b, Value x, Value y, Value z) {
        const Value p = b.mul(x, y);
        return b.mul(b.add(p, z), p);
      },
      [](Builder& b, Value x, Value y, Value z) {
        const Builder::Exactly exactly(b);
        return b.add(b.mul(x, y), z);
      },
      [](Builder& b, Value x, Value y, Value z) {
        const Value p = b.mul(x, y);
        const Builder::Exactly exactly(b);
        return b.add(p, z);
      },
      // What a loop does not change stays in front of it.
      [](Builder& b, Value x, Value y, Value z) {
        const Value p = b.mul(x, y);
        return b.count_loop(b.u32(3), 3, std::vector{z}, [&](Value, std::span<const Value> s) {
          return Values{b.add(p, s[0])};
        })[0];
      },
  };
  for (const Function f : others) {
    const Kernel k = kernel_of(f);
    EXPECT_EQ(print(contract(k)), print(k));
  }
  const Kernel integers = kernel_of(
      [](Builder& b, Value x, Value y, Value z) { return b.add(b.mul(x, y), z); }, DType::i32);
  EXPECT_EQ(print(contract(integers)), print(integers));
}

TEST(Contract, WithinLoopsAndBranches) {
  const Kernel k = kernel_of([](Builder& b, Value x, Value y, Value z) {
    return b.count_loop(b.u32(3), 3, std::vector{z}, [&](Value, std::span<const Value> s) {
      return b.if_(
          b.compare(Op::lt, s[0], x), [&] { return Values{b.add(b.mul(s[0], y), x)}; },
          [&] { return Values{b.sub(s[0], b.mul(s[0], x))}; });
    })[0];
  });
  const Kernel contracted = contract(k);
  const std::vector<float> got = run(contracted);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float x = arguments[3 * i], y = arguments[3 * i + 1];
    float once = arguments[3 * i + 2], twice = once;
    for (int n = 0; n < 3; ++n) {
      once = once < x ? std::fma(once, y, x) : std::fma(-once, x, once);
      twice = twice < x ? twice * y + x : twice - twice * x;
    }
    EXPECT_TRUE(same(got[i], once) || same(got[i], twice)) << got[i] << " for " << once;
  }
}

}  // namespace
}  // namespace gnomon::kernel
