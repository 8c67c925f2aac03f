// tests/shaders/pass_refine_test.cpp -- quotients and roots of a device that is wrong by many
// units, refined, against those of the host.
#include "shaders/passes/refine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/builder.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/coarsen.h"
#include "shaders/passes/rewrite.h"
#include "shaders/passes/simplify.h"
#include "shaders/passes/vectorize.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint32_t lanes = 4096;

/// A device whose f32 quotients and roots are up to 15 units off, as their bits say.
class Loose : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  void visit(const Instruction& i) override {
    Rewriter::visit(i);
    if (i.op != Op::div && i.op != Op::sqrt) return;
    const Value exact = mapped(i.results[0]);
    const Type t = out_.type(exact);
    if (t.scalar != DType::f32) return;
    const Type word{DType::u32, t.width};
    const Value bits = out_.bitcast(exact, DType::u32);
    const Value mixed = out_.binary(Op::shr, out_.mul(bits, out_.constant(word, 2654435769u)),
                                    out_.constant(word, 27));
    const Value off = out_.sub(out_.add(bits, mixed), out_.constant(word, 15));
    const Value zero = out_.compare(Op::eq, exact, out_.constant(t, 0));
    map(i.results[0], out_.select(zero, exact, out_.bitcast(off, DType::f32)));
  }
};

Kernel loosened(const Kernel& k) {
  Builder out(k.name);
  copy_header(k, out);
  Loose(k, out).copy(k.body);
  return out.take();
}

/// z = x / y, or sqrt(x).
Kernel sketch(Op op) {
  Builder b("sketch");
  b.kernel().lanes = lanes;
  const Value lane = b.source(Op::lane);
  const auto x = b.buffer({DType::f32, Access::read, false, false, "x"});
  const auto y = b.buffer({DType::f32, Access::read, false, false, "y"});
  const auto z = b.buffer({DType::f32, Access::write, false, false, "z"});
  const Value first = b.load(x, lane), second = b.load(y, lane);
  b.store(z, lane, op == Op::div ? b.div(first, second) : b.unary(Op::sqrt, first));
  return b.take();
}

std::vector<float> run(const Kernel& k, std::uint32_t width, std::vector<float> x,
                       std::vector<float> y) {
  verify(k);
  std::vector<float> z(lanes);
  std::vector<std::span<std::byte>> buffers{std::as_writable_bytes(std::span(x)),
                                            std::as_writable_bytes(std::span(y)),
                                            std::as_writable_bytes(std::span(z))};
  const std::vector<std::uint32_t> parameters(parameter_header_words + buffers.size(), 0);
  interpret(k, (invocations(lanes, width) + 63) / 64, parameters, buffers);
  return z;
}

bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// Operands of all kinds: edges, any bits, results of every exponent, and significands next to
/// where rounding turns.
void operands(std::uint32_t seed, std::vector<float>& x, std::vector<float>& y) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float edges[] = {0.0f,
                         -0.0f,
                         inf,
                         -inf,
                         1.0f,
                         -1.0f,
                         2.0f,
                         3.0f,
                         10.0f,
                         0x1p-126f,
                         0x1p-149f,
                         -0x1.8p-148f,
                         0x1.fffffcp-127f,
                         0x1.fffffep127f,
                         0x1p127f,
                         0x1p-127f,
                         0x1.fffffep0f,
                         0x1.000002p0f,
                         0x1p24f,
                         std::nanf("")};
  constexpr std::size_t count = std::size(edges);
  std::mt19937 random(seed);
  for (std::uint32_t i = 0; i < lanes; ++i) {
    x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    y[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (i < count * count) {
      x[i] = edges[i / count], y[i] = edges[i % count];
    } else if (i % 4 == 0) {  // quotients around the ends of the normal and subnormal numbers
      const int exponent = i % 8 == 0 ? -126 - static_cast<int>(random() % 26) : 127;
      const float q =
          std::ldexp(1.0f + static_cast<float>(random() % (1u << 23)) * 0x1p-23f, exponent);
      y[i] = 1.0f + static_cast<float>(random() % (1u << 23)) * 0x1p-23f;
      x[i] = q * y[i];
    } else if (i % 4 == 1) {  // products of short numbers and their neighbours: ties, or nearly
      const auto a = static_cast<float>(random() % 4096 + 4096);
      const auto b = static_cast<float>(random() % 4096 + 4096);
      x[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(a * b) +
                                  static_cast<std::uint32_t>(random() % 3) - 1);
      y[i] = b;
    }
  }
}

void expect_rounded(Op op, float (*host)(float, float)) {
  const RefineOptions options{.division = op == Op::div, .root = op == Op::sqrt};
  std::vector<float> x(lanes), y(lanes);
  for (const std::uint32_t width : {1u, 4u}) {
    const Kernel wide = vectorize(refine(coarsen(sketch(op), {width, 64}), options), {});
    const Kernel loose = simplify(loosened(simplify(wide)));
    const Kernel exact = simplify(wide);
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      operands(seed, x, y);
      if (op == Op::sqrt && seed % 2 == 0)
        for (std::uint32_t i = 0; i < lanes; ++i) {  // squares and their neighbours
          const float root = std::fabs(y[i]);
          const std::uint32_t bits = std::bit_cast<std::uint32_t>(root * root);
          x[i] = std::bit_cast<float>(bits + i % 3 - 1);
        }
      for (const Kernel* k : {&exact, &loose}) {
        const std::vector<float> z = run(*k, width, x, y);
        for (std::uint32_t i = 0; i < lanes; ++i)
          ASSERT_TRUE(same(z[i], host(x[i], y[i])))
              << std::hexfloat << x[i] << ", " << y[i] << " gives " << z[i] << ", not "
              << host(x[i], y[i]) << (k == &loose ? " on a loose device" : "");
      }
    }
  }
}

TEST(Refine, ReturnsAKernelAsItIsWithoutOptions) {
  const Kernel k = coarsen(sketch(Op::div), {4, 64});
  EXPECT_EQ(print(refine(k, {})), print(k));
}

TEST(Refine, LeavesOtherTypesAlone) {
  Builder b("other");
  b.kernel().lanes = lanes;
  const Value lane = b.source(Op::lane);
  const auto x = b.buffer({DType::i32, Access::read, false, false, "x"});
  const auto y = b.buffer({DType::f64, Access::read_write, false, false, "y"});
  const Value quotient = b.div(b.load(x, lane), b.i32(7));
  b.store(y, lane, b.div(b.load(y, lane), b.convert(quotient, DType::f64)));
  const Kernel k = coarsen(b.take(), {4, 64});
  EXPECT_EQ(print(refine(k, {.division = true, .root = true})), print(k));
}

TEST(Refine, QuotientsAreRoundedCorrectly) {
  expect_rounded(Op::div, [](float x, float y) { return x / y; });
}

TEST(Refine, RootsAreRoundedCorrectly) {
  expect_rounded(Op::sqrt, [](float x, float) { return std::sqrt(x); });
}

TEST(Refine, ALooseDeviceIsWrongWithoutIt) {
  std::vector<float> x(lanes), y(lanes);
  operands(1, x, y);
  const Kernel k = loosened(coarsen(sketch(Op::div), {1, 64}));
  const std::vector<float> z = run(k, 1, x, y);
  int wrong = 0;
  for (std::uint32_t i = 0; i < lanes; ++i) wrong += !same(z[i], x[i] / y[i]);
  EXPECT_GT(wrong, static_cast<int>(lanes) / 2);
}

}  // namespace
}  // namespace gnomon::kernel
