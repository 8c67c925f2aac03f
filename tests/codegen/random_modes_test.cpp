// tests/codegen/random_modes_test.cpp -- both modes of keys against known answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "gnomon/transform.h"
#include "tests/codegen/made_arrays.h"

namespace gnomon {
namespace {

using made::integers;
using made::Numbers;
using made::numbers;
using made::value;
using random::Mode;

TEST(RandomMode, OriginalBitsOfEveryWidth) {
  const auto bits = [](DType t) {
    return integers([=] { return random::bits(random::key(1701, Mode::original), {3}, t); });
  };
  using Words = std::vector<std::int64_t>;
  EXPECT_EQ(bits(DType::u8), (Words{216, 115, 43}));
  EXPECT_EQ(bits(DType::u16), (Words{41682, 1300, 55017}));
  EXPECT_EQ(bits(DType::u32), (Words{56197195, 4200222568, 961309823}));
  EXPECT_EQ(bits(DType::u64),
            (Words{3982329540505020460, static_cast<std::int64_t>(16822122385914693683u),
                   7882654074788531506}));
}

TEST(RandomMode, OriginalSplits) {
  EXPECT_EQ(integers([] { return random::split(random::key(0, Mode::original), 4).words(); }),
            (std::vector<std::int64_t>{2285895361, 1501764800, 1518642379, 4090693311, 433833334,
                                       4221794875, 839183663, 3740430601}));
  EXPECT_EQ(integers([] { return random::split(random::key(42, Mode::original)).words(); }),
            (std::vector<std::int64_t>{2465931498, 3679230171, 255383827, 267815257}));
  for (Mode m : {Mode::original, Mode::partitionable})
    EXPECT_EQ(integers([=] { return random::fold_in(random::key(0, m), 4).words(); }),
              (std::vector<std::int64_t>{2285895361, 433833334}));
}

TEST(RandomMode, OriginalDraws) {
  EXPECT_EQ(integers([] {
              return random::randint(random::key(0, Mode::original), {3, 3}, 0, 8);
            }),
            (std::vector<std::int64_t>{2, 1, 3, 6, 1, 5, 6, 3, 4}));
  EXPECT_EQ(integers([] {
              return random::randint(random::key(0, Mode::original), {3, 3}, 0, 8, DType::i64);
            }),
            (std::vector<std::int64_t>{7, 2, 6, 2, 1, 0, 6, 7, 7}));
  const Numbers uniform =
      numbers(value([] { return random::uniform(random::key(0, Mode::original), {6}); }));
  const Numbers normal =
      numbers(value([] { return random::normal(random::key(0, Mode::original), {6}); }));
  const Numbers u{.57450044, .09968603, .74196589, .89417827, .59656656, .45325184};
  const Numbers n{.18784384, -1.28334260, .64941812, 1.24905932, .24447003, -.11744965};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(uniform[i], u[i], 6e-9 + 6e-8 * std::fabs(u[i]));
    EXPECT_NEAR(normal[i], n[i], 1e-6);
  }
}

TEST(RandomMode, BelongsToTheKeyThroughLoopsMapsAndSplits) {
  const Numbers direct = numbers(value([] {
    const Keys keys = random::split(random::key(3, Mode::original), 4);
    std::vector<Array> rows;
    for (Dim i = 0; i < 4; ++i) rows.push_back(random::normal(keys[i], {3}));
    return stack(rows);
  }));
  EXPECT_EQ(numbers(value([] {
              return vmap([](const Key& k) { return random::normal(k.clone(), {3}); })(
                  random::split(random::key(3, Mode::original), 4));
            })),
            direct);
  EXPECT_EQ(numbers(value([] {
              return scan(
                         [](Array n, const Key& k) {
                           return std::pair{n, random::normal(k.clone(), {3})};
                         },
                         0, random::split(random::key(3, Mode::original), 4))
                  .second;
            })),
            direct);
}

TEST(Keys, ComeOutOfMapsAndScansAsKeys) {
  const std::function<Array(const Keys&)> draw = [](const Keys& keys) {
    return random::normal(random::split(keys[2])[1], {2});
  };
  const Numbers direct = numbers(value([] {
    return random::normal(random::split(random::fold_in(random::split(random::key(1), 4)[2], 9))[1],
                          {2});
  }));
  EXPECT_EQ(numbers(value([&] {
              const Keys mapped = vmap([](const Key& k) { return random::fold_in(k, 9); })(
                  random::split(random::key(1), 4));
              return draw(mapped);
            })),
            direct);
  EXPECT_EQ(numbers(value([&] {
              const auto [carry, keys] = scan(
                  [](Array n, const Key& k) {
                    return std::pair{n, random::fold_in(k, 9)};
                  },
                  0, random::split(random::key(1), 4));
              static_assert(std::is_same_v<std::remove_cvref_t<decltype(keys)>, Keys>);
              return draw(keys);
            })),
            direct);
  // Next to other arrays.
  EXPECT_EQ(numbers(value([] {
              const auto xs = std::tuple{random::split(random::key(1), 4), arange(4)};
              return scan(
                         [](Array n, const std::tuple<Key, Array>& x) {
                           return std::pair{
                               n,
                               random::normal(random::fold_in(std::get<0>(x), std::get<1>(x)), {})};
                         },
                         0, xs)
                  .second;
            })),
            numbers(value([] {
              const Keys keys = random::split(random::key(1), 4);
              std::vector<Array> all;
              for (int i = 0; i < 4; ++i)
                all.push_back(random::normal(random::fold_in(keys[i], i), {}));
              return stack(all);
            })));
}
}  // namespace
}  // namespace gnomon
