// tests/engine/runtime_test.cpp -- transfer, memory, errors, and life beyond the Runtime.
#include "gnomon/runtime.h"

#include <gmock/gmock.h>

#include <functional>
#include <numeric>
#include <optional>

#include "gnomon/jit.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing of that type was thrown";
}

class Runtimes : public DeviceTest {};

TEST_F(Runtimes, TakeAndGiveBackEveryType) {
  EXPECT_EQ(rt.to_host<float>(rt.from_host({1.5f, -2.0f}, {2})), (std::vector<float>{1.5f, -2.0f}));
  EXPECT_EQ(rt.to_host<double>(rt.from_host({1.5, -2.0}, {2})), (std::vector<double>{1.5, -2.0}));
  EXPECT_EQ(rt.to_host<std::int32_t>(rt.from_host({1, -2}, {2, 1})),
            (std::vector<std::int32_t>{1, -2}));
  EXPECT_EQ(rt.to_host<std::uint8_t>(rt.from_host(std::vector<std::uint8_t>{1, 255, 7})),
            (std::vector<std::uint8_t>{1, 255, 7}));
  EXPECT_EQ(rt.to_host<std::int64_t>(rt.from_host(std::vector<std::int64_t>{-1})),
            (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(rt.item<float>(rt.from_host(2.5f)), 2.5f);
}

TEST_F(Runtimes, KeepBoolsAsBytes) {
  const std::vector<bool> values = {true, false, true};
  const Array a = rt.from_host(values);
  EXPECT_EQ(a.dtype(), DType::boolean);
  EXPECT_EQ(rt.to_host<bool>(a), values);
  std::vector<std::uint8_t> bytes(3);
  rt.to_bytes(a, std::as_writable_bytes(std::span(bytes)));
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{1, 0, 1}));
}

TEST_F(Runtimes, HoldArraysWithoutElements) {
  const Array a = rt.from_host(std::vector<float>{}, {0, 3});
  EXPECT_TRUE(rt.to_host<float>(a).empty());
}

TEST_F(Runtimes, RefuseTheWrongNumberOfElements) {
  EXPECT_THAT(message_of<UsageError>([&] {
                rt.from_host(std::vector<float>(5), {2, 3});
              }),
              HasSubstr("gnomon::from_host: 5 elements were given for f32[2,3], which has 6"));
}

TEST_F(Runtimes, RefuseTheWrongType) {
  const Array a = rt.from_host({1.0f}, {1});
  EXPECT_THAT(message_of<UsageError>([&] { rt.to_host<int>(a); }),
              HasSubstr("the array is f32[1] and i32 elements were asked for"));
  EXPECT_THAT(message_of<UsageError>([&] { rt.to_host<float>(Array()); }),
              HasSubstr("the array is empty"));
}

TEST_F(Runtimes, CountMemory) {
  const auto before = rt.memory();
  {
    const Array a = rt.from_host(std::vector<float>(1000));
    EXPECT_EQ(rt.memory().live_bytes, before.live_bytes + 4096);
    EXPECT_EQ(rt.memory().live_ranges, before.live_ranges + 1);
  }
  EXPECT_EQ(rt.memory().live_bytes, before.live_bytes);
  EXPECT_GE(rt.memory().peak_bytes, before.live_bytes + 4096);
}

TEST_F(Runtimes, RememberWhoUsesMemoryThroughOwnersThatDoNot) {
  vulkan::BufferPool& pool = context()->arrays;
  vulkan::Request request;
  request.bytes = 4096;
  const vulkan::Range below = pool.allocate(request), hole = pool.allocate(request),
                      above = pool.allocate(request);
  const vulkan::Ticket pending = context()->queue.upcoming();
  pool.release(hole, pending);
  const vulkan::Range unused = pool.allocate(request);
  EXPECT_EQ(unused.offset, hole.offset);
  pool.release(unused, 0);
  request.host_writes = true;
  const vulkan::Range written = pool.allocate(request);
  EXPECT_TRUE(written.offset != hole.offset || context()->queue.ended(pending));
  for (const vulkan::Range& r : {below, above, written}) pool.release(r, pending);
}

TEST_F(Runtimes, RefuseAnArrayLargerThanABlock) {
  const std::uint64_t limit = context()->device.max_block_bytes();
  const Aval aval{DType::f32, Shape(static_cast<Dim>(limit / 4 + 64))};
  Program program;
  program.outputs = {aval};
  EXPECT_THAT(message_of<DeviceError>([&] { run(program, {}); }),
              HasSubstr("an output " + to_string(aval.dtype, aval.shape) + " needs"));
  EXPECT_THAT(message_of<DeviceError>([&] { run(program, {}); }), HasSubstr("binds at most"));
}

TEST_F(Runtimes, KeepArraysAliveWhenTheyAreGone) {
  Array a;
  {
    Runtime mine(validated());
    a = mine.from_host({1.0f}, {1});
  }
  EXPECT_TRUE(a.concrete());
}

TEST_F(Runtimes, SayThatTheyWereMovedFrom) {
  Runtime from(validated());
  const Array x = from.from_host(1.0f);
  Runtime to(std::move(from));
  // NOLINTBEGIN: what a moved Runtime does.
  const std::function<void()> uses[] = {
      [&] {
        from.from_host({1.0f, 2.0f});
      },
      [&] { from.to_host<float>(x); },
      [&] { from.item<float>(x); },
      [&] { from.key(1); },
      [&] { from.wait(); },
      [&] { from.wait(x); },
      [&] { from.recover(); },
      [&] { from.on_print({}); },
      [&] { from.on_step({}); },
      [&] { from.cancel_with(std::nullopt); },
      [&] { from.device_name(); },
      [&] { from.driver(); },
      [&] { from.api(); },
      [&] { from.target(); },
      [&] { from.memory(); },
      [&] { from.counters(); },
      [&] { from.clear_programs(); },
      [&] { from.validation_messages(); },
      [&] { to_string(from, x); },
      [&] { jit(from, [](const Array& a) { return a; }); },
  };
  for (const auto& use : uses)
    EXPECT_THAT(message_of<UsageError>(use), HasSubstr("this Runtime was moved from"));
  from = std::move(to);
  EXPECT_EQ(from.item<float>(x), 1.0f);
  // NOLINTEND
}

TEST_F(Runtimes, HaveANameAndAVersion) {
  EXPECT_FALSE(rt.device_name().empty());
  EXPECT_THAT(rt.api(), HasSubstr("1."));
}

TEST(RuntimeOptions, PickADeviceOrSayWhyNot) {
  RuntimeOptions options;
  options.device = "no such device";
  EXPECT_THAT(message_of<DeviceError>([&] { Runtime rt(options); }),
              HasSubstr("is not `no such device`"));
  options.device = "0";
  EXPECT_NO_THROW(Runtime{options});
}

RuntimeOptions minimum_options() {
  RuntimeOptions options = validated();
  options.minimum_target = true;
  return options;
}

class MinimumTarget : public DeviceTest {
 protected:
  MinimumTarget() : DeviceTest(minimum_options()) {}
};

TEST_F(MinimumTarget, CompilesForTheGuaranteedLimits) {
  EXPECT_EQ(rt.target().max_group_invocations, 128u);
  EXPECT_FALSE(rt.target().features.float64);
  EXPECT_FALSE(rt.target().texel_reads);
  Program program;
  program.inputs = {f32(100), f32(100)};
  program.outputs = {f32(100)};
  program.kernels = {add_kernel()};
  program.steps = {dispatch(program, 0, 100, {input(0), input(1), output(0)})};
  const Array x = rt.from_host(std::vector<float>(100, 1.5f));
  EXPECT_EQ(rt.to_host<float>(run(program, {x, x})[0])[99], 3.0f);
}

// ---- staging

RuntimeOptions staged_options() {
  RuntimeOptions options = validated();
  options.force_staging = true;
  return options;
}

class Staging : public DeviceTest {
 protected:
  Staging() : DeviceTest(staged_options()) {}
};

TEST_F(Staging, MovesMoreThanOneChunkBothWays) {
  std::vector<float> values((std::size_t{9} << 20) / 4 + 3);
  std::iota(values.begin(), values.end(), 0.0f);
  const Array a = rt.from_host(values);
  EXPECT_EQ(rt.to_host<float>(a), values);
  EXPECT_EQ(rt.counters().staged_bytes, 8 * values.size());
}

TEST_F(Staging, OrdersCopiesAndKernels) {
  Program program;
  program.inputs = {f32(1000), f32(1000)};
  program.outputs = {f32(1000)};
  program.kernels = {add_kernel()};
  program.steps = {dispatch(program, 0, 1000, {input(0), input(1), output(0)})};
  Executable executable(context(), program);
  for (int i = 0; i < 5; ++i) {
    const Array x = rt.from_host(std::vector<float>(1000, static_cast<float>(i)));
    std::vector<Array> in = {x, x}, out;
    executable.run(in, out);
    EXPECT_EQ(rt.to_host<float>(out[0]), std::vector<float>(1000, 2.0f * static_cast<float>(i)));
  }
}

// ---- out of memory

RuntimeOptions limited_options() {
  RuntimeOptions options = validated();
  options.memory_limit = 1 << 20;
  options.block_bytes = 1 << 20;
  return options;
}

class LimitedMemory : public DeviceTest {
 protected:
  LimitedMemory() : DeviceTest(limited_options()) {}
};

TEST_F(LimitedMemory, NamesTheRequestAndTheLargestArraysAndStaysUsable) {
  Array large = rt.from_host(std::vector<float>(200000));
  const Array small = rt.from_host(std::vector<float>(1000, 2.0f));
  const std::string text =
      message_of<DeviceError>([&] { rt.from_host(std::vector<float>(100000)); });
  EXPECT_THAT(text, HasSubstr("out of device memory: array f32[100000] (390.8 KiB) does not fit"));
  EXPECT_THAT(text, HasSubstr("largest: array f32[200000] (781.2 KiB), array f32[1000]"));
  EXPECT_EQ(rt.to_host<float>(small)[0], 2.0f);
  large = Array();
  EXPECT_NO_THROW(rt.from_host(std::vector<float>(100000)));
}

TEST_F(LimitedMemory, NamesThePlanOfAProgram) {
  Program program;
  program.name = "greedy";
  program.arena_bytes = 2 << 20;
  program.allocations = {{"history", {}, 0, 2 << 20, 0, 1}};
  const std::string text = message_of<DeviceError>([&] { Executable(context(), program); });
  EXPECT_THAT(text, HasSubstr("the arena (2.0 MiB) does not fit"));
  EXPECT_THAT(text, HasSubstr("the plan of `greedy` keeps 2.0 MiB (largest: 2.0 MiB history)"));
}

TEST_F(LimitedMemory, LeavesNothingBehindWhenAnOutputDoesNotFit) {
  Program program;
  program.outputs = {f32(100000), f32(200000)};
  EXPECT_THAT(message_of<DeviceError>([&] { run(program, {}); }),
              HasSubstr("an output f32[200000]"));
  EXPECT_EQ(rt.memory().live_ranges, 0u);
}

}  // namespace
}  // namespace gnomon::testing
