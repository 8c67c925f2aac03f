// tests/shaders/kernel_builder_test.cpp -- folding, value numbering, placement and typing in the
// builder.
#include "shaders/kernel/builder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

/// A builder with one u32, one i32 and one f32 value that nothing is known about.
struct BuilderTest : testing::Test {
  Builder b{"test"};
  std::uint32_t words = b.buffer({DType::u32, Access::read_write, false, false, "words"});
  std::uint32_t reals = b.buffer({DType::f32, Access::read_write, false, false, "reals"});
  Value lane = b.source(Op::lane);
  Value n = b.load(words, lane);
  Value i = b.bitcast(n, DType::i32);
  Value x = b.load(reals, lane);

  std::size_t size() { return b.kernel().body.body.size(); }
  float float_of(Value v) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(b.constant_bits(v)));
  }
};

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const InternalError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST_F(BuilderTest, BitsThatDoNotMeetAreLookedAtApart) {
  const Value four = b.binary(Op::shl, n, b.u32(2)), third = b.add(four, b.u32(3));
  // (4 n + 3) / 8 is n / 2, its remainder that of 4 n and 3.
  EXPECT_EQ(b.binary(Op::shr, third, b.u32(3)), b.binary(Op::shr, four, b.u32(3)));
  EXPECT_EQ(b.binary(Op::band, third, b.u32(255)),
            b.add(b.binary(Op::band, four, b.u32(255)), b.u32(3)));
  EXPECT_EQ(b.binary(Op::band, third, b.u32(3)), b.u32(3));
  // A multiple of four however it is made.
  const Value multiple = b.add(b.binary(Op::band, four, b.u32(255)), b.mul(n, b.u32(24)));
  const Value second = b.add(multiple, b.u32(2));
  EXPECT_EQ(b.binary(Op::shr, second, b.u32(6)), b.binary(Op::shr, multiple, b.u32(6)));
  EXPECT_EQ(b.binary(Op::band, second, b.u32(63)),
            b.add(b.binary(Op::band, multiple, b.u32(63)), b.u32(2)));
  // What is added reaches into n, or what is shifted out begins below it.
  const Value carries = b.add(four, b.u32(4));
  EXPECT_NE(b.binary(Op::shr, carries, b.u32(3)), b.binary(Op::shr, four, b.u32(3)));
  const std::size_t before = size();
  b.binary(Op::shr, third, b.u32(1));
  EXPECT_EQ(size(), before + 1);
}

TEST_F(BuilderTest, KeepsWhatItCannotFold) {
  const std::size_t before = size();
  b.add(n, b.u32(3));
  b.add(x, b.f32(0));
  b.mul(x, b.f32(0));
  b.div(x, x);
  EXPECT_EQ(size(), before + 4);
}

TEST_F(BuilderTest, ConstantsAreUniqueAndComeFirst) {
  EXPECT_EQ(b.u32(7), b.u32(7));
  EXPECT_NE(b.u32(7), b.i32(7));
  EXPECT_NE(b.f32(0.0f), b.f32(-0.0f));
  b.if_(
      b.compare(Op::lt, n, b.u32(9)), [&] { return Values{b.f32(2)}; },
      [&] { return Values{b.f32(3)}; });
  const Kernel k = b.take();
  std::size_t constants = 0;
  for (const Instruction& instruction : k.body.body) constants += instruction.op == Op::constant;
  for (std::size_t at = 0; at < constants; ++at) EXPECT_EQ(k.body.body[at].op, Op::constant);
}

TEST_F(BuilderTest, FoldsIntegersWithTheSemanticsOfTheIr) {
  EXPECT_EQ(b.add(b.u32(~0u), b.u32(2)), b.u32(1));
  EXPECT_EQ(b.div(b.u32(5), b.u32(0)), b.u32(~0u));
  EXPECT_EQ(b.rem(b.u32(5), b.u32(0)), b.u32(5));
  EXPECT_EQ(b.div(b.i32(-7), b.i32(2)), b.i32(-3));
  EXPECT_EQ(b.rem(b.i32(-7), b.i32(2)), b.i32(-1));
  const int lowest = std::numeric_limits<int>::min();
  EXPECT_EQ(b.div(b.i32(lowest), b.i32(-1)), b.i32(lowest));
  EXPECT_EQ(b.rem(b.i32(lowest), b.i32(-1)), b.i32(0));
  EXPECT_EQ(b.binary(Op::shl, b.u32(1), b.u32(33)), b.u32(2));
  EXPECT_EQ(b.binary(Op::shr, b.i32(-8), b.i32(1)), b.i32(-4));
  EXPECT_EQ(b.binary(Op::mul_high, b.u32(0x80000000u), b.u32(6)), b.u32(3));
  EXPECT_EQ(b.unary(Op::popcount, b.u32(0xf1)), b.u32(5));
}

TEST_F(BuilderTest, FoldsIntegerIdentities) {
  EXPECT_EQ(b.add(n, b.u32(0)), n);
  EXPECT_EQ(b.add(b.u32(0), n), n);
  EXPECT_EQ(b.sub(n, n), b.u32(0));
  EXPECT_EQ(b.mul(n, b.u32(0)), b.u32(0));
  EXPECT_EQ(b.mul(n, b.u32(1)), n);
  EXPECT_EQ(b.mul(n, b.u32(8)), b.binary(Op::shl, n, b.u32(3)));
  EXPECT_EQ(b.div(n, b.u32(8)), b.binary(Op::shr, n, b.u32(3)));
  EXPECT_EQ(b.rem(n, b.u32(8)), b.land(n, b.u32(7)));
  EXPECT_EQ(b.rem(i, b.i32(1)), b.i32(0));
  EXPECT_EQ(b.add(b.add(n, b.u32(3)), b.u32(4)), b.add(n, b.u32(7)));
  EXPECT_EQ(b.sub(b.add(n, b.u32(3)), b.u32(3)), n);
  EXPECT_EQ(b.binary(Op::minimum, b.binary(Op::minimum, n, b.u32(5)), b.u32(3)),
            b.binary(Op::minimum, n, b.u32(3)));
  EXPECT_EQ(b.binary(Op::maximum, n, b.u32(0)), n);
  EXPECT_EQ(b.binary(Op::bxor, n, b.u32(~0u)), b.unary(Op::bnot, n));
  EXPECT_EQ(b.compare(Op::ge, n, b.u32(0)), b.boolean(true));
  EXPECT_EQ(b.compare(Op::lt, i, i), b.boolean(false));
}

TEST_F(BuilderTest, PutsAPositionTogetherAgain) {
  for (const std::uint32_t c : {3u, 8u}) {
    const Value d = b.u32(c);
    const Value multiple = b.mul(b.div(n, d), d), rest = b.rem(n, d);
    EXPECT_EQ(b.add(multiple, rest), n);
    EXPECT_EQ(b.add(rest, multiple), n);
    EXPECT_NE(b.add(multiple, b.rem(lane, d)), n);
    EXPECT_NE(b.add(multiple, b.rem(n, b.u32(c + 1))), n);
    EXPECT_NE(b.add(b.mul(b.div(n, b.u32(2 * c)), d), rest), n);
  }
}

TEST_F(BuilderTest, FoldsFloatsOnlyWhereEveryDeviceAgrees) {
  EXPECT_EQ(float_of(b.add(b.f32(0.1f), b.f32(0.2f))), 0.1f + 0.2f);
  EXPECT_EQ(b.mul(x, b.f32(1)), x);
  EXPECT_EQ(b.sub(x, b.f32(0)), x);
  EXPECT_FALSE(b.is_constant(b.div(b.f32(1), b.f32(3))));
  EXPECT_FALSE(b.is_constant(b.unary(Op::exp, b.f32(1))));
  EXPECT_FALSE(b.is_constant(b.mul(b.f32(1e-30f), b.f32(1e-10f))))
      << "a subnormal result may be flushed";
  EXPECT_TRUE(std::isnan(float_of(b.sub(b.f32(INFINITY), b.f32(INFINITY)))));
  EXPECT_EQ(b.unary(Op::neg, b.unary(Op::neg, x)), x);
}

TEST_F(BuilderTest, KnowsThatAProductWithZeroExceedsNoMagnitude) {
  const Value product = b.mul(x, b.f32(0)), other = b.load(reals, b.add(lane, b.u32(1)));
  const Value magnitude = b.unary(Op::abs, other);
  for (const Value small : {product, b.mul(b.f32(-0.0f), x), b.unary(Op::abs, product),
                            b.unary(Op::neg, product), b.f32(0), b.f32(-0.0f), b.f32(-1)})
    for (const Value large : {magnitude, b.mul(other, other), b.f32(2)}) {
      EXPECT_EQ(b.compare(Op::gt, small, large), b.boolean(false));
      EXPECT_EQ(b.compare(Op::lt, large, small), b.boolean(false));
      // Equal zeros, and NaN, which is no less either.
      for (const Op open : {Op::lt, Op::le, Op::ge, Op::eq, Op::ne})
        EXPECT_EQ(b.is_constant(b.compare(open, small, large)),
                  b.is_constant(small) && b.is_constant(large));
    }
  EXPECT_FALSE(b.is_constant(b.compare(Op::gt, b.mul(x, b.f32(2)), magnitude)));
  EXPECT_FALSE(b.is_constant(b.compare(Op::gt, b.unary(Op::abs, x), magnitude)));
  EXPECT_FALSE(b.is_constant(b.compare(Op::gt, product, other)));
  EXPECT_FALSE(b.is_constant(b.compare(Op::lt, b.f32(NAN), magnitude)));
}

TEST_F(BuilderTest, FoldsSelectsAndBooleans) {
  const Value p = b.compare(Op::lt, n, b.u32(9));
  EXPECT_EQ(b.select(p, n, n), n);
  EXPECT_EQ(b.select(b.boolean(false), n, b.u32(1)), b.u32(1));
  EXPECT_EQ(b.select(b.unary(Op::bnot, p), n, b.u32(1)), b.select(p, b.u32(1), n));
  EXPECT_EQ(b.select(p, b.boolean(true), b.boolean(false)), p);
  EXPECT_EQ(b.land(p, b.boolean(true)), p);
  EXPECT_EQ(b.lor(p, b.boolean(true)), b.boolean(true));
  EXPECT_EQ(b.unary(Op::bnot, b.unary(Op::bnot, p)), p);
}

TEST_F(BuilderTest, FoldsConversionsInRange) {
  EXPECT_EQ(b.convert(b.i32(-3), DType::f32), b.f32(-3));
  EXPECT_EQ(b.convert(b.f32(-3.7f), DType::i32), b.i32(-3));
  EXPECT_FALSE(b.is_constant(b.convert(b.f32(-3.7f), DType::u32)));
  EXPECT_FALSE(b.is_constant(b.convert(b.f32(1e20f), DType::i32)));
  EXPECT_EQ(b.convert(b.f32(0.5f), DType::boolean), b.boolean(true));
  EXPECT_EQ(b.bitcast(b.f32(1), DType::u32), b.u32(0x3f800000u));
  EXPECT_EQ(b.bitcast(i, DType::u32), n);
  const Value pi = b.number(DType::f64, 3.141592653589793);
  EXPECT_EQ(b.high_word(pi), b.u32(0x400921fbu));
  EXPECT_EQ(b.from_words(b.u32(0x54442d18u), b.u32(0x400921fbu), DType::f64), pi);
  const Value joined = b.from_words(n, b.u32(7), DType::f64);
  EXPECT_EQ(b.low_word(joined), n);
  EXPECT_EQ(b.from_words(b.low_word(joined), b.high_word(joined), DType::f64), joined);
  EXPECT_EQ(b.number(DType::u8, 300), b.constant({DType::u8, 1}, 255));
  EXPECT_EQ(b.number(DType::f16, 1), b.constant({DType::f16, 1}, 0x3c00));
}

TEST_F(BuilderTest, FoldsWidthChanges) {
  const Value wide = b.load(reals, lane, 4);
  const Values parts{b.extract(wide, 0), b.extract(wide, 1), b.extract(wide, 2),
                     b.extract(wide, 3)};
  EXPECT_EQ(b.construct(parts), wide);
  EXPECT_EQ(b.extract(b.splat(x, 4), 2), x);
  EXPECT_EQ(b.add(b.splat(b.u32(1), 4), b.splat(b.u32(2), 4)), b.constant({DType::u32, 4}, 3));
  const Value p = b.compare(Op::lt, n, b.u32(9));
  EXPECT_EQ(b.any(b.splat(p, 4)), p);
  EXPECT_EQ(b.construct(Values{x, x}), b.splat(x, 2));
}

TEST_F(BuilderTest, NumbersValuesButNotLoads) {
  EXPECT_EQ(b.add(x, x), b.add(x, x));
  EXPECT_NE(b.load(reals, lane), b.load(reals, lane));
  Value exact;
  {
    const Builder::Exactly scope(b);
    exact = b.add(x, x);
  }
  EXPECT_NE(exact, b.add(x, x));
  EXPECT_TRUE(b.kernel().body.body[size() - 1].exact);
}

TEST_F(BuilderTest, ForgetsValuesOfClosedRegions) {
  const Value p = b.compare(Op::lt, n, b.u32(9));
  Value inside, other;
  b.if_(
      p,
      [&] {
        inside = b.add(x, x);
        return Values{inside};
      },
      [&] {
        other = b.add(x, x);
        return Values{other};
      });
  EXPECT_NE(inside, other);
  EXPECT_FALSE(b.visible(inside));
  EXPECT_NE(b.add(x, x), inside);
  EXPECT_NE(message([&] { b.add(inside, x); }).find("region is not open"), std::string::npos);
}

TEST_F(BuilderTest, EmitsToAnOuterRegionInFrontOfTheOpenOne) {
  Value hoisted;
  const Value init[] = {x};
  b.loop(
      init, 10, [&](std::span<const Value> c) { return b.compare(Op::lt, c[0], b.f32(1)); },
      [&](std::span<const Value> c) {
        EXPECT_EQ(b.depth(), 1u);
        b.at_depth(0, [&] {
          EXPECT_FALSE(b.visible(c[0]));
          hoisted = b.mul(x, x);
        });
        EXPECT_EQ(b.depth_of(hoisted), 0u);
        EXPECT_TRUE(b.visible(c[0]));
        EXPECT_EQ(b.mul(x, x), hoisted);
        return Values{b.add(c[0], hoisted)};
      });
  const std::vector<Instruction>& body = b.kernel().body.body;
  ASSERT_EQ(body.back().op, Op::loop);
  EXPECT_EQ(body[body.size() - 2].results, Values{hoisted});
}

TEST_F(BuilderTest, RestoresItsPositionWhenACallbackThrows) {
  const Value p = b.compare(Op::lt, n, b.u32(9));
  EXPECT_THROW(b.if_(
                   p,
                   [&]() -> Values {
                     b.at_depth(0, [] { throw std::runtime_error("stop"); });
                     return {};
                   },
                   [] { return Values{}; }),
               std::runtime_error);
  EXPECT_EQ(b.depth(), 0u);
  EXPECT_TRUE(b.visible(x));
}

TEST_F(BuilderTest, CountLoopFoldsForZeroAndOne) {
  const Value init[] = {x};
  const auto body = [&](Value k, std::span<const Value> c) {
    return Values{b.add(c[0], b.convert(k, DType::f32))};
  };
  EXPECT_EQ(b.count_loop(b.u32(0), 0, init, body)[0], x);
  EXPECT_EQ(b.count_loop(b.u32(1), 0, init, body)[0], b.add(x, b.f32(0)));
  b.count_loop(b.u32(5), 0, init, body);
  EXPECT_EQ(b.kernel().body.body.back().op, Op::loop);
  EXPECT_EQ(b.kernel().body.body.back().immediate, 5u);
}

TEST_F(BuilderTest, BranchOnAConstantRunsOneSide) {
  const Values results = b.if_(
      b.boolean(true), [&] { return Values{x}; },
      [&]() -> Values {
        ADD_FAILURE();
        return {};
      });
  EXPECT_EQ(results, Values{x});
}

TEST_F(BuilderTest, MismatchedTypesNameBoth) {
  const std::string text = message([&] { b.add(n, x); });
  EXPECT_NE(text.find("`add` has operands of types u32 and f32"), std::string::npos) << text;
  const std::string width = message([&] { b.add(x, b.splat(x, 4)); });
  EXPECT_NE(width.find("f32 and f32x4"), std::string::npos) << width;
  const std::string carried = message([&] {
    const Value init[] = {x};
    b.loop(
        init, 1, [&](std::span<const Value>) { return b.boolean(true); },
        [&](std::span<const Value>) { return Values{n}; });
  });
  EXPECT_NE(carried.find("enters a loop's body as f32 but leaves it as u32"), std::string::npos)
      << carried;
  EXPECT_NE(message([&] { b.land(x, x); }).find("not defined for f32"), std::string::npos);
}

TEST_F(BuilderTest, CountsTheWorstCaseOfTrips) {
  const Value init[] = {x};
  b.count_loop(b.u32(10), 0, init, [&](Value, std::span<const Value> c) {
    return b.count_loop(b.u32(20), 0, c,
                        [&](Value, std::span<const Value> d) { return Values{b.mul(d[0], x)}; });
  });
  b.count_loop(n, 100, init,
               [&](Value, std::span<const Value> d) { return Values{b.mul(d[0], x)}; });
  EXPECT_EQ(worst_case_trips(b.kernel()), (10u * (1 + 21) + 1) + 101);
  b.count_loop(n, 0, init, [&](Value, std::span<const Value> d) { return Values{b.mul(d[0], x)}; });
  EXPECT_EQ(worst_case_trips(b.kernel()), ~0ull);
}

TEST_F(BuilderTest, RecordsSourceLines) {
  b.at_line("demo.cpp", 4);
  const Value y = b.add(x, x);
  b.at_line("demo.cpp", 5);
  b.at_line("demo.cpp", 4);
  const Kernel k = b.take();
  EXPECT_EQ(k.lines.size(), 2u);
  EXPECT_EQ(k.lines[k.body.body.back().line - 1].line, 4);
  EXPECT_EQ(k.body.body.back().results, Values{y});
}

}  // namespace
}  // namespace gnomon::kernel
