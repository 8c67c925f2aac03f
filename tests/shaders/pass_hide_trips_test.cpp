// tests/shaders/pass_hide_trips_test.cpp -- short loops over private arrays have no constant bound.
#include "shaders/passes/hide_trips.h"

#include <gtest/gtest.h>

#include <vector>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/builder.h"
#include "shaders/kernel/text.h"

namespace gnomon::kernel {
namespace {

/// Fills an array in a loop, and adds it up in another; `trips` each.
Kernel filled(std::uint32_t trips) {
  Builder b("filled");
  const std::uint32_t out = b.buffer({DType::u32, Access::write, false, false, "y"});
  const std::uint32_t array = b.private_array({DType::u32, trips});
  const Value me = b.source(Op::invocation), init[] = {b.u32(0)};
  b.kernel().group_size = 4;
  b.count_loop(b.u32(trips), trips, {}, [&](Value i, std::span<const Value>) {
    b.private_store(array, i, b.mul(i, me));
    return Values{};
  });
  const Values sum =
      b.count_loop(b.u32(trips), trips, init, [&](Value i, std::span<const Value> s) {
        return Values{b.add(s[0], b.private_load(array, i))};
      });
  b.store(out, me, sum[0]);
  return b.take();
}

std::vector<std::uint32_t> run(const Kernel& k) {
  std::vector<std::uint32_t> y(4);
  std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(y))};
  const std::uint32_t parameters[5] = {0, 1, 0, 0, 0};
  interpret(k, 1, parameters, buffers);
  return y;
}

TEST(HideTrips, TheKernelDoesTheSame) {
  const Kernel plain = filled(16), hidden = hide_trips(plain, {32});
  EXPECT_NE(print(hidden), print(plain));
  EXPECT_EQ(worst_case_trips(hidden), worst_case_trips(plain));
  EXPECT_EQ(run(hidden), run(plain));
  EXPECT_EQ(run(hidden), (std::vector<std::uint32_t>{0, 120, 240, 360}));
}

TEST(HideTrips, LeavesLongLoopsAlone) {
  const Kernel k = filled(33);
  EXPECT_EQ(print(hide_trips(k, {32})), print(k));
  EXPECT_EQ(print(hide_trips(k, {})), print(k));
}

TEST(HideTrips, LeavesLoopsWithoutArraysAlone) {
  Builder b("sum");
  const std::uint32_t out = b.buffer({DType::u32, Access::write, false, false, "y"});
  b.private_array({DType::u32, 4});
  b.kernel().group_size = 4;
  const Value init[] = {b.u32(0)};
  const Values sum = b.count_loop(
      b.u32(8), 8, init, [&](Value i, std::span<const Value> s) { return Values{b.add(s[0], i)}; });
  b.store(out, b.source(Op::invocation), sum[0]);
  const Kernel k = b.take();
  EXPECT_EQ(print(hide_trips(k, {32})), print(k));
}

}  // namespace
}  // namespace gnomon::kernel
