// tests/shaders/pass_affine_test.cpp -- strides and alignments.
#include "shaders/passes/affine.h"

#include <gtest/gtest.h>

#include <functional>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {
namespace {

/// What the analysis finds for the value that `f` builds from the lane.
Affine fact(std::uint32_t span, const std::function<Value(Builder&, Value)>& f) {
  Builder b("k");
  b.buffer({DType::u32, Access::read, false, false, "x"});
  const Value v = f(b, b.source(Op::lane));
  b.kernel().lanes = 1024;
  const Kernel k = b.take();
  return analyse(k, {Op::lane, span})[v];
}

constexpr Affine varying(std::uint8_t alignment = 0) { return {true, 0, alignment}; }
constexpr Affine affine(std::int32_t stride, std::uint8_t alignment) {
  return {false, stride, alignment};
}

TEST(Affine, TheLaneCountsByOneFromAMultipleOfTheSpan) {
  EXPECT_EQ(fact(4, [](Builder&, Value lane) { return lane; }), affine(1, 2));
  EXPECT_EQ(fact(1, [](Builder&, Value lane) { return lane; }), affine(0, 0));
}

TEST(Affine, SumsProductsAndShiftsKeepAStride) {
  EXPECT_EQ(fact(4, [](Builder& b, Value l) { return b.add(b.mul(l, b.u32(12)), b.u32(2)); }),
            affine(12, 1));
  EXPECT_EQ(fact(8, [](Builder& b, Value l) { return b.sub(b.u32(16), l); }), affine(-1, 3));
  EXPECT_EQ(fact(4, [](Builder& b, Value l) { return b.mul(l, l); }), varying(0));
  EXPECT_EQ(fact(4,
                 [](Builder& b, Value l) {
                   const Value base = b.mul(b.load(0, b.u32(0)), b.u32(8));
                   return b.add(base, l);
                 }),
            affine(1, 2));
}

TEST(Affine, DivisionByAMultipleOfTheSpanIsUniform) {
  const auto divided = [](Op op, std::uint32_t by) {
    return [=](Builder& b, Value l) { return b.binary(op, l, b.u32(by)); };
  };
  EXPECT_EQ(fact(4, divided(Op::div, 12)), affine(0, 0));
  EXPECT_EQ(fact(4, divided(Op::rem, 12)), affine(1, 2));
  EXPECT_EQ(fact(4, divided(Op::div, 64)), affine(0, 0));
  EXPECT_EQ(fact(4, divided(Op::rem, 64)), affine(1, 2));
  EXPECT_EQ(fact(8, divided(Op::div, 12)), varying(0));
  EXPECT_EQ(fact(8, divided(Op::rem, 12)), varying(0));
  EXPECT_EQ(fact(4, divided(Op::div, 10)), varying(0));
}

TEST(Affine, AShiftOfAMultipleIsExact) {
  EXPECT_EQ(fact(4,
                 [](Builder& b, Value l) {
                   const Value row = b.binary(Op::band, l, b.u32(15));
                   return b.binary(Op::shr, b.mul(row, b.u32(8)), b.u32(1));
                 }),
            affine(4, 4));
  EXPECT_EQ(
      fact(2, [](Builder& b, Value l) { return b.binary(Op::shr, b.mul(l, b.u32(2)), b.u32(1)); }),
      affine(1, 1));
}

TEST(Affine, ACounterOfALoopIsUniformAmongTheLanesThatAreStillInIt) {
  Builder b("k");
  b.buffer({DType::u32, Access::read, false, false, "x"});
  const Value lane = b.source(Op::lane);
  const Value count = b.load(0, lane);
  Value counter, column;
  const Value init[] = {b.u32(0), lane};
  const Values results = b.loop(
      init, 100, [&](std::span<const Value> c) { return b.compare(Op::lt, c[0], count); },
      [&](std::span<const Value> c) {
        counter = c[0];
        column = c[1];
        return Values{b.add(c[0], b.u32(1)), b.add(c[1], b.u32(6))};
      });
  b.kernel().lanes = 64;
  const Kernel k = b.take();
  const AffineFacts facts = analyse(k, {Op::lane, 4});
  EXPECT_EQ(facts[counter], affine(0, 0));
  EXPECT_EQ(facts[column], affine(1, 1));
  EXPECT_EQ(facts[results[0]], varying(0));
  EXPECT_EQ(facts[results[1]], varying(0));
}

TEST(Affine, APrivateArrayVariesOnceOneLaneAloneWritesIt) {
  const auto varies = [](const std::function<void(Builder&, Value)>& f) {
    Builder b("k");
    b.private_array({DType::u32, 8});
    f(b, b.source(Op::lane));
    b.kernel().lanes = 64;
    const Kernel k = b.take();
    return static_cast<bool>(analyse(k, {Op::lane, 4}).private_varies[0]);
  };
  EXPECT_FALSE(varies([](Builder& b, Value) { b.private_store(0, b.u32(1), b.u32(2)); }));
  EXPECT_TRUE(varies([](Builder& b, Value l) { b.private_store(0, b.u32(1), l); }));
  EXPECT_TRUE(varies([](Builder& b, Value l) { b.private_load(0, l); }));
  EXPECT_TRUE(varies([](Builder& b, Value l) {
    b.if_(
        b.compare(Op::lt, l, b.u32(7)),
        [&] {
          b.private_store(0, b.u32(1), b.u32(2));
          return Values{};
        },
        [] { return Values{}; });
  }));
}

}  // namespace
}  // namespace gnomon::kernel
