// tests/engine/wide_integers_test.cpp -- integers that i32 does not hold, where positions and
// counts are i32.
#include <cmath>
#include <limits>

#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using I64 = std::vector<std::int64_t>;
using U64 = std::vector<std::uint64_t>;
using U32 = std::vector<std::uint32_t>;
using U8 = std::vector<std::uint8_t>;
using I32 = std::vector<std::int32_t>;
constexpr std::int32_t largest = std::numeric_limits<std::int32_t>::max();

class WideIntegers : public DeviceTest {};

TEST_F(WideIntegers, IndexAsIfTheyWereNotCut) {
  const Array x = rt.from_host({10, 20, 30}, {3});
  const auto read = jit(rt, [](const Array& a, const Array& i) { return a[i]; });
  const std::int64_t beyond = std::int64_t{1} << 32;
  EXPECT_EQ(rt.to_host<int>(read(x, rt.from_host(I64{beyond, beyond + 1, 1 - beyond, -1}))),
            (I32{30, 30, 10, 30}));
  EXPECT_EQ(rt.to_host<int>(read(x, rt.from_host(U64{std::uint64_t{1} << 63, 1u}))), (I32{30, 20}));
  EXPECT_EQ(rt.to_host<int>(read(x, rt.from_host(U32{~0u, 1u << 31, 1u}))), (I32{30, 30, 20}));
}

TEST_F(WideIntegers, CountAsIfTheyWereNotCut) {
  const std::int64_t beyond = std::int64_t{1} << 32;
  EXPECT_EQ(rt.to_host<int>(bincount(rt.from_host(I64{beyond, 1, 1 - beyond, beyond + 1}), 2)),
            (I32{1, 1}));
  EXPECT_EQ(rt.to_host<int>(bincount(rt.from_host(U32{~0u, 1u << 31, 1u}), 2)), (I32{0, 1}));
  for (const std::uint32_t n : {2u, 1u << 31, ~0u})
    EXPECT_EQ(rt.to_host<bool>(first_valid(rt.from_host(n), 3)),
              (std::vector<bool>{true, true, n > 2}));
}

TEST_F(WideIntegers, AreOneOfMoreClassesThanTheirTypeCounts) {
  const std::vector<float> row = rt.to_host<float>(one_hot(rt.from_host(U8{3}), 300));
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i], i == 3 ? 1 : 0) << i;
}

TEST_F(WideIntegers, AreTheMostThatIsDrawn) {
  // Draw 103,009 of this key is 0, whose logarithm is infinite.
  const Shape many{200000};
  const std::vector<float> u = rt.to_host<float>(random::uniform(rt.key(7), many));
  ASSERT_EQ(u[103009], 0);
  const auto draw =
      jit(rt, [=](const Key& k, const Array& p) { return random::geometric(k.clone(), p, many); });
  for (const float p : {0.2f, 1e-9f}) {
    const std::vector<int> got = rt.to_host<int>(draw(rt.key(7), rt.from_host(p)));
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double want = std::floor(std::log(double(u[i])) / std::log1p(-double(p))) + 1;
      if (want >= largest)
        ASSERT_EQ(got[i], largest) << u[i];
      else
        ASSERT_NEAR(got[i], want, 1 + 1e-6 * want) << u[i];
    }
  }
  for (const int got : rt.to_host<int>(draw(rt.key(7), rt.from_host(1.0f)))) ASSERT_EQ(got, 1);

  const auto events = jit(
      rt, [](const Key& k, const Array& rate) { return random::poisson(k.clone(), rate, {100}); });
  for (const int got : rt.to_host<int>(events(rt.key(1), rt.from_host(1e12f))))
    ASSERT_EQ(got, largest);
  for (const int got : rt.to_host<int>(events(rt.key(1), rt.from_host(2e9f))))
    ASSERT_NEAR(got, 2e9, 8 * std::sqrt(2e9));
}

}  // namespace
}  // namespace gnomon::testing
