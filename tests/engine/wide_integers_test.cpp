// tests/engine/wide_integers_test.cpp -- integers that i32 does not hold, where positions and
// counts are i32.
#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using I64 = std::vector<std::int64_t>;
using U64 = std::vector<std::uint64_t>;
using U32 = std::vector<std::uint32_t>;
using U8 = std::vector<std::uint8_t>;
using I32 = std::vector<std::int32_t>;

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

}  // namespace
}  // namespace gnomon::testing
