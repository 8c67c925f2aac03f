// tests/codegen/ops_random_test.cpp -- keys and draws against known answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "codegen/operations/table.h"
#include "codegen/transforms/vmap.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "gnomon/tree.h"
#include "tests/codegen/made_arrays.h"

namespace gnomon {
namespace {

using made::Integers;
using made::integers;
using made::message;
using made::value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Known answers of the Random123 library.
TEST(Threefry, KnownAnswers) {
  const auto block = [](std::uint32_t k0, std::uint32_t k1, std::uint32_t c0, std::uint32_t c1) {
    std::vector<HostArray> in;
    for (std::uint32_t w : {k0, k1, c0, c1}) {
      in.emplace_back(Aval{DType::u32, {}});
      in.back().set_integer(0, w);
    }
    const std::vector<Aval> out(2, Aval{DType::u32, {}});
    const auto y = threefry2x32_p.reference(Params{}, std::span<const Aval>(out),
                                            std::span<const HostArray>(in));
    return Integers{y[0].integer(0), y[1].integer(0)};
  };
  EXPECT_THAT(block(0, 0, 0, 0), ElementsAre(0x6b200159, 0x99ba4efe));
  EXPECT_THAT(block(~0u, ~0u, ~0u, ~0u), ElementsAre(0x1cb996fc, 0xbb002be7));
  EXPECT_THAT(block(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3),
              ElementsAre(0xc4923a9c, 0x483df7a0));
}

TEST(Random, KeysOfSeeds) {
  EXPECT_THAT(integers([] { return random::key(42).words(); }), ElementsAre(0, 42));
  EXPECT_THAT(integers([] { return random::key(-1).words(); }), ElementsAre(0, 4294967295));
  EXPECT_THAT(integers([] { return random::key((std::int64_t{7} << 32) + 5).words(); }),
              ElementsAre(7, 5));
  EXPECT_THAT(integers([] { return random::key(full({}, -1)).words(); }),
              ElementsAre(0, 4294967295));
}

TEST(Random, SplitAndFoldInGiveJaxKeys) {
  EXPECT_THAT(integers([] { return random::split(random::key(42)).words(); }),
              ElementsAre(1832780943, 270669613, 64467757, 2916123636));
  const Integers four{1797259609, 2579123966, 928981903,  3453687069,
                      4146024105, 2718843009, 2467461003, 3840466878};
  EXPECT_EQ(integers([] { return random::split(random::key(0), 4).words(); }), four);
  for (int i = 0; i < 4; ++i) {
    const auto k = static_cast<std::size_t>(2 * i);
    EXPECT_THAT(integers([=] { return random::fold_in(random::key(0), i).words(); }),
                ElementsAre(four[k], four[k + 1]));
    EXPECT_THAT(integers([=] { return random::split(random::key(0), 4)[i].words(); }),
                ElementsAre(four[k], four[k + 1]));
  }
  EXPECT_THAT(integers([] {
                auto [a, b] = random::split<2>(random::key(42));
                return concatenate({b.words(), a.words()});
              }),
              ElementsAre(64467757, 2916123636, 1832780943, 270669613));
}

TEST(Random, UniformAndNormalGiveJaxDraws) {
  EXPECT_FLOAT_EQ(
      static_cast<float>(value([] { return random::uniform(random::key(42), {}); }).number(0)),
      0.48870957f);
  EXPECT_FLOAT_EQ(
      static_cast<float>(value([] { return random::normal(random::key(42), {}); }).number(0)),
      -0.028304616f);
}

TEST(Random, UniformStaysInItsRange) {
  const HostArray h = value([] { return random::uniform(random::key(1), {1000}, -2.0, 3.0); });
  double sum = 0;
  for (Dim i = 0; i < h.size(); ++i) {
    EXPECT_GE(h.number(i), -2);
    EXPECT_LT(h.number(i), 3);
    sum += h.number(i);
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.2);
  const HostArray wide =
      value([] { return random::uniform(random::key(1), {100}, 0.0, 1.0, DType::f64); });
  for (Dim i = 0; i < wide.size(); ++i) EXPECT_TRUE(wide.number(i) >= 0 && wide.number(i) < 1);
}

TEST(Random, NormalHasItsMoments) {
  for (DType t : {DType::f32, DType::f64}) {
    const HostArray h = value([=] { return random::normal(random::key(3), {4000}, t); });
    double sum = 0, squares = 0;
    for (Dim i = 0; i < h.size(); ++i) {
      sum += h.number(i);
      squares += h.number(i) * h.number(i);
    }
    EXPECT_NEAR(sum / 4000, 0, 0.06);
    EXPECT_NEAR(squares / 4000, 1, 0.08);
  }
}

TEST(Random, RademacherAndBernoulliFollowOneStream) {
  const HostArray signs = value([] { return random::rademacher(random::key(5), {1000}); });
  const HostArray heads = value([] { return random::bernoulli(random::key(5), 0.5, {1000}); });
  double sum = 0;
  for (Dim i = 0; i < signs.size(); ++i) {
    EXPECT_EQ(signs.number(i), heads.integer(i) ? 1 : -1);
    sum += signs.number(i);
  }
  EXPECT_LT(std::fabs(sum), 120);
  EXPECT_EQ(
      to_string(value([] { return random::rademacher(random::key(5), {2}, DType::i8); }).aval),
      "i8[2]");
}

TEST(Random, RandintCoversItsRange) {
  const Integers x = integers([] { return random::randint(random::key(9), {500}, -2, 3); });
  std::vector<int> count(5);
  for (std::int64_t v : x) {
    ASSERT_TRUE(v >= -2 && v < 3) << v;
    ++count[static_cast<std::size_t>(v + 2)];
  }
  for (int c : count) EXPECT_GT(c, 60);
  EXPECT_THAT(integers([] { return random::randint(random::key(9), {2}, 4, 4); }),
              ElementsAre(4, 4));
  // The whole range: nothing is reduced, the low draw comes out as it is.
  const Integers all =
      integers([] { return random::randint(random::key(9), {3}, 0, 4294967296, DType::u32); });
  const Integers low = integers([] { return random::bits(random::split(random::key(9))[1], {3}); });
  EXPECT_EQ(all, low);
}

TEST(Random, VmapOverKeysIsALoopOverKeys) {
  Trace t;
  const Array words = t.input({DType::u32, {2}});
  const Graph one = t.finish({random::normal(Key(words), {3})});
  const std::vector<HostArray> keys{value([] { return random::split(random::key(2), 4).words(); })};
  const HostArray all = evaluate(vmap(one, {0}, 4), keys)[0];
  for (int i = 0; i < 4; ++i) {
    const HostArray mine =
        value([=] { return random::normal(random::split(random::key(2), 4)[i], {3}); });
    for (Dim j = 0; j < 3; ++j) EXPECT_EQ(all.number(3 * i + j), mine.number(j));
  }
}

TEST(Random, KeysAreMoveOnlyTrees) {
  static_assert(!std::is_copy_constructible_v<Key> && std::is_move_constructible_v<Key>);
  static_assert(!std::is_copy_constructible_v<Keys> && std::is_move_constructible_v<Keys>);
  Trace t;
  const Key key = random::key(1);
  EXPECT_EQ(tree::leaves(key).size(), 1u);
  EXPECT_EQ(tree::clone(key).words().value(), key.words().value());
}

TEST(Random, SplitsIntoNoKeys) {
  for (const random::Mode mode : {random::Mode::partitionable, random::Mode::original}) {
    const Keys none = random::split(random::key(1, mode), 0);
    EXPECT_EQ(none.size(), 0);
    EXPECT_EQ(none.words().aval(), (Aval{DType::u32, {0, 2}}));
    EXPECT_EQ(none.mode(), mode);
  }
}

TEST(Random, MisuseSaysWhat) {
  EXPECT_THAT(message([] { return random::split(random::key(1), -1).words(); }),
              HasSubstr("gnomon::random::split: into -1 keys"));
  EXPECT_THAT(message([] { return random::normal(random::key(1), {2}, DType::i32); }),
              HasSubstr("gnomon::random::normal: draws floats, not i32"));
  EXPECT_THAT(message([] { return random::bits(random::key(1), {2}, DType::f32); }),
              HasSubstr("unsigned"));
  EXPECT_THAT(message([] { return Key(zeros({3})).words(); }),
              HasSubstr("is made of u32[2], got f32[3]"));
  EXPECT_THAT(message([] {
                Key used = random::key(1);
                const Key taken = std::move(used);
                return random::uniform(std::move(used), {});
              }),
              HasSubstr("empty Array"));
}

}  // namespace
}  // namespace gnomon
