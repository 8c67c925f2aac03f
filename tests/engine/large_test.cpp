// tests/engine/large_test.cpp -- arrays larger than what a kernel can bind at once.
#include <gmock/gmock.h>

#include <numeric>

#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

class LargeArrays : public DeviceTest {
 protected:
  void SetUp() override {
    const vulkan::Device& device = context()->device;
    if (device.max_block_bytes() < bytes)
      GTEST_SKIP() << rt.device_name() << " allocates at most " << device.max_block_bytes()
                   << " bytes at a time";
    // An array that takes all windows leaves none for the result.
    if (!rt.target().features.addresses && device.max_window_bytes() < bytes)
      GTEST_SKIP() << rt.device_name() << " has no buffer device addresses, and windows of "
                   << device.max_window_bytes() << " bytes";
  }

  static constexpr std::uint64_t bytes = std::uint64_t{512} << 20;
  static constexpr Dim rows = 1 << 14, columns = 1 << 13;
};

// x[i, j] = i - j throughout: every element tells where it is.
float expected(Dim i, Dim j) { return static_cast<float>(i - j); }

TEST_F(LargeArrays, AreMadeReducedShiftedAndIndexed) {
  auto make = jit(rt, [&] {
    const Shape shape{rows, columns};
    return cast(iota(shape, 0) - iota(shape, 1), DType::f32);
  });
  const Array x = make();
  ASSERT_EQ(x.size() * 4, static_cast<Dim>(bytes));

  struct Parts {
    Array row_sums, column_max, shifted_corner, gathered, transposed_row;
  };
  auto look = jit(rt, [&](const Array& a, const Array& where) {
    return Parts{sum(a % 16.0f, 1), max(a, 0),
                 slice(a + 1.0f, {rows - 3, columns - 3}, {rows, columns}), take(ravel(a), where),
                 transpose(a)[columns - 1]};
  });
  const std::vector<std::int32_t> where = {0, 1 << 25, (1 << 26) + 5, (1 << 27) - 1, -1};
  const Parts parts = look(x, rt.from_host(where));

  const auto row_sums = rt.to_host<float>(parts.row_sums);
  for (float row_sum : row_sums) ASSERT_EQ(row_sum, columns / 16 * 120);
  const auto column_max = rt.to_host<float>(parts.column_max);
  for (Dim j = 0; j < columns; ++j)
    ASSERT_EQ(column_max[static_cast<std::size_t>(j)], expected(rows - 1, j)) << j;
  const auto corner = rt.to_host<float>(parts.shifted_corner);
  for (Dim i = 0; i < 3; ++i)
    for (Dim j = 0; j < 3; ++j)
      EXPECT_EQ(corner[static_cast<std::size_t>(3 * i + j)],
                expected(rows - 3 + i, columns - 3 + j) + 1);
  const auto gathered = rt.to_host<float>(parts.gathered);
  for (std::size_t k = 0; k < where.size(); ++k) {
    const Dim flat = where[k] < 0 ? rows * columns + where[k] : where[k];
    EXPECT_EQ(gathered[k], expected(flat / columns, flat % columns)) << where[k];
  }
  const auto row = rt.to_host<float>(parts.transposed_row);
  for (Dim i = 0; i < rows; ++i)
    ASSERT_EQ(row[static_cast<std::size_t>(i)], expected(i, columns - 1)) << i;
}

TEST_F(LargeArrays, TravelAndPassThroughKernelsWhole) {
  std::vector<std::uint32_t> host(bytes / 4);
  for (std::size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<std::uint32_t>(i * 2654435761u);
  auto f = jit(rt, [](const Array& a) { return flip(a) ^ 0x5a5a; });
  const auto back = rt.to_host<std::uint32_t>(f(rt.from_host(host)));
  for (std::size_t i = 0; i < host.size(); ++i)
    ASSERT_EQ(back[i], host[host.size() - 1 - i] ^ 0x5a5au) << i;
}

/// As on a device without addresses whose windows show 4 KiB.
class SeveralWindows : public DeviceTest {
 protected:
  SeveralWindows()
      : DeviceTest([] {
          RuntimeOptions options = validated();
          options.minimum_target = true;
          options.window_bytes = 4096;
          return options;
        }()) {}
};

TEST_F(SeveralWindows, ShowOneArray) {
  std::vector<std::uint32_t> host(2000);
  for (std::size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<std::uint32_t>(i * 2654435761u);
  auto turned = jit(rt, [](const Array& a) { return flip(a) ^ 0x5a5a; });
  const auto back = rt.to_host<std::uint32_t>(turned(rt.from_host(host)));
  for (std::size_t i = 0; i < host.size(); ++i)
    ASSERT_EQ(back[i], host[host.size() - 1 - i] ^ 0x5a5au) << i;
  // Three windows are read, one is written: every row in one kernel, with wide loads.
  std::vector<float> x(3000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 101);
  auto sums = jit(rt, [](const Array& a) { return sum(reshape(a, {30, 100}), 1); });
  const auto total = rt.to_host<float>(sums(rt.from_host(x)));
  for (std::size_t r = 0; r < 30; ++r)
    ASSERT_EQ(total[r],
              std::accumulate(x.begin() + static_cast<std::ptrdiff_t>(100 * r),
                              x.begin() + static_cast<std::ptrdiff_t>(100 * r + 100), 0.0f));
}

TEST_F(SeveralWindows, AreWrittenByteByByteByAtomics) {
  std::vector<std::int32_t> where(500);
  for (std::size_t i = 0; i < where.size(); ++i) where[i] = static_cast<std::int32_t>(i * 16 + 3);
  auto set = jit(rt, [](const Array& i) { return at_set(zeros({8000}, DType::u8), i, 5); });
  const auto back = rt.to_host<std::uint8_t>(set(rt.from_host(where)));
  for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], i % 16 == 3 ? 5 : 0) << i;
}

TEST_F(SeveralWindows, RefuseWhatIsLargerThanAllOfThem) {
  try {
    rt.from_host(std::vector<float>(4097));
    FAIL() << "an array larger than four windows was taken";
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("this device binds at most 16.0 KiB at once"));
  }
  auto sum = jit(rt, [](const Array& a, const Array& b) { return a + b; });
  const Array large = rt.from_host(std::vector<float>(2000)),
              other = rt.from_host(std::vector<float>(2000));
  try {
    sum(large, other);
    FAIL() << "six windows were taken";
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("needs 6 windows to its arrays and a kernel has 4"));
  }
}

// Each lane looks into a table of its own as far as the graph says, 2^31 elements of all of them
// together, and there is one.
TEST_F(DeviceTest, ATableThatLanesShareIsNoArrayForEachOfThem) {
  constexpr Dim n = 70000;
  auto look = jit(rt, [](const Array& table, const Array& first) {
    return vmap([&](const Array& i) {
      using Sum = std::pair<Array, Array>;
      return while_loop([&](const Sum& s) { return s.first < n; },
                        [&](Sum s) {
                          const Array next = s.first * 2 + 1;
                          return Sum{next, s.second + take(table, s.first)};
                        },
                        Sum{i, zeros({}, DType::i32)}, {.max_steps = 32})
          .second;
    })(first);
  });
  std::vector<std::int32_t> table(n), first(n);
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::int32_t>(i % 1000);
    first[i] = static_cast<std::int32_t>(i);
  }
  const auto sums = rt.to_host<std::int32_t>(look(rt.from_host(table), rt.from_host(first)));
  for (std::size_t i = 0; i < table.size(); i += 977) {
    std::int32_t sum = 0;
    for (std::size_t k = i; k < table.size(); k = 2 * k + 1) sum += table[k];
    EXPECT_EQ(sums[i], sum) << i;
  }
}

}  // namespace
}  // namespace gnomon::testing
