// tests/vulkan/adopted_test.cpp -- a Runtime on an application's device: buffers,
// semaphores, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "engine/runtime/state.h"
#include "gnomon/gnomon.h"
#include "tests/support/message.h"
#include "tests/vulkan/adopted.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Adopted, ComputesWithItsOwnArraysAsAnyRuntime) {
  const auto f = jit(*rt, [](const Array& x) { return sum(x * x + 1.0f); });
  EXPECT_EQ(rt->item<float>(f(rt->from_host({1.0f, 2.0f, 3.0f}))), 17.0f);
}

TEST_F(Adopted, ReadsAndGivesOutBuffers) {
  const VulkanBuffer b = floats(2048, [](auto i) { return static_cast<float>(i % 7); });
  const Array x = array_in(*rt, b, 4096, f32_1024);
  const Array y = jit(*rt, [](const Array& a) { return a * 2.0f + 1.0f; })(x);
  const std::vector<float> host = rt->to_host<float>(y);
  for (std::size_t i = 0; i < 1024; ++i)
    ASSERT_EQ(host[i], static_cast<float>((i + 1024) % 7) * 2 + 1) << i;
  EXPECT_EQ(buffer_of(*rt, x).buffer, b.buffer);
  EXPECT_EQ(buffer_of(*rt, x).offset, 4096u);
  EXPECT_EQ(buffer_of(*rt, x).bytes, 4096u);
  EXPECT_NE(buffer_of(*rt, y).buffer, b.buffer);
}

TEST_F(Adopted, ReadsABufferThatIsNotMapped) {
  VulkanBuffer b = floats(1024, [](auto i) { return static_cast<float>(i); });
  b.mapped = nullptr;
  const std::vector<float> host = rt->to_host<float>(array_in(*rt, b, 0, f32_1024));
  EXPECT_EQ(host[1023], 1023.0f);
}

TEST_F(Adopted, WaitsForAndSignalsBinarySemaphores) {
  const VulkanBuffer b = floats(1024, [](auto) { return 3.0f; });
  const Array x = array_in(*rt, b, 0, f32_1024);
  const auto f = jit(*rt, [](const Array& v) { return v * 2.0f; });
  const VkSemaphore before = app.semaphore(false), after = app.semaphore(false);
  app.submit(VK_NULL_HANDLE, {}, {&before, 1});
  wait_for(*rt, {before});
  const Array y = f(x);
  signal(*rt, {after});
  app.submit(VK_NULL_HANDLE, {&after, 1}, {});
  app.wait_idle();
  EXPECT_EQ(rt->to_host<float>(y)[5], 6.0f);
}

class Timelines : public Adopted {
 protected:
  Timelines() : Adopted({.timeline = true}) {}
};

TEST_F(Timelines, OrderCallsOnTheDevice) {
  if (!app.has_timeline()) GTEST_SKIP() << rt->device_name() << " has no timeline semaphores";
  const VkSemaphore line = app.semaphore(true);
  const Array x = rt->from_host(std::vector<float>(1024, 3.0f));
  const auto f = jit(*rt, [](const Array& v) { return v * 2.0f; });
  f(x);
  rt->wait();
  wait_for(*rt, {line, 1});
  const Array y = f(x);
  signal(*rt, {line, 2});
  EXPECT_FALSE(y.is_ready()) << "nobody has signalled 1";
  app.signal(line, 1);
  const std::uint64_t two = 2;
  VkSemaphoreWaitInfo wait{};
  wait.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  wait.semaphoreCount = 1;
  wait.pSemaphores = &line;
  wait.pValues = &two;
  EXPECT_EQ(
      app.function<PFN_vkWaitSemaphores>("vkWaitSemaphores")(app.device(), &wait, 10'000'000'000),
      VK_SUCCESS);
  EXPECT_EQ(rt->to_host<float>(y)[5], 6.0f);
}

TEST_F(Timelines, WhatIsUnderWayKeepsItsParametersWhenItsRecordingIsGone) {
  if (!app.has_timeline()) GTEST_SKIP() << rt->device_name() << " has no timeline semaphores";
  // More calls than are remembered, and more than may be under way without a fence.
  constexpr int calls = 70;
  const auto f = jit(*rt, [](const Array& v) { return v * 2.0f; });
  const VulkanBuffer from =
      floats(calls * 1024, [](auto i) { return static_cast<float>(i / 1024); });
  const VulkanBuffer to = floats(calls * 1024, [](auto) { return -1.0f; });
  std::vector<Array> x, y;
  for (std::uint64_t k = 0; k < calls; ++k) {
    x.push_back(array_in(*rt, from, 4096 * k, f32_1024));
    y.push_back(array_in(*rt, to, 4096 * k, f32_1024));
  }
  f(x[0]);  // compiled before anything waits
  const VkSemaphore line = app.semaphore(true);
  wait_for(*rt, {line, 1});
  for (int k = 0; k < calls; ++k) {
    const VkCommandBuffer commands = app.begin();
    record(commands, y[k], f, x[k]);
    app.end(commands);
    app.submit(commands);
  }
  EXPECT_FALSE(y[0].is_ready()) << "nobody has signalled 1";
  app.signal(line, 1);
  for (int k = 0; k < calls; ++k)
    for (const float value : rt->to_host<float>(y[k])) ASSERT_EQ(value, 2.0f * k) << k;
}

TEST(AdoptedFrames, MemoryThatIsWrittenUnderWayIsNobodyElses) {
  // Layers of 2023 take a fence that somebody waits for while the host signals for an error.
  App app({.timeline = true, .validate = false});
  Runtime rt = Runtime::adopt(app.described());
  if (!app.has_timeline()) GTEST_SKIP() << rt.device_name() << " has no timeline semaphores";
  const auto f = jit(rt, [](const Array& v) { return v * 2.0f; });
  const std::vector<float> ones(1024, 1.0f);
  const Array x = rt.from_host(ones);
  f(x);
  rt.wait();
  const VkSemaphore line = app.semaphore(true);
  wait_for(rt, {line, 1});
  {
    Array y;
    const VkCommandBuffer commands = app.begin();
    const Recording call = record(commands, y, f, x);
    app.end(commands);
    app.submit(commands);
  }
  // Whoever writes where y was has to wait.
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    app.signal(line, 1);
  });
  const Array z = rt.from_host(ones);
  later.join();
  app.wait_idle();
  EXPECT_EQ(rt.to_host<float>(z), ones);
}

class Bare : public Adopted {
 protected:
  Bare() : Adopted({.api_version = VK_API_VERSION_1_1, .features = false}) {}
};

TEST_F(Bare, UsesNothingThatWasNotEnabled) {
  EXPECT_EQ(rt->api(), "1.1");
  EXPECT_FALSE(rt->target().features.int64);
  EXPECT_FALSE(rt->target().features.float64);
  EXPECT_FALSE(rt->target().features.addresses);
  EXPECT_LE(rt->target().features.version, 0x00010300u);
  // 64-bit integers are pairs of words then.
  const Array x = rt->from_host({std::int64_t{1} << 40, std::int64_t{-3}});
  EXPECT_EQ(rt->to_host<std::int64_t>(jit(*rt, [](const Array& v) { return v * v; })(x))[1], 9);
  const VulkanBuffer b = floats(1024, [](auto i) { return static_cast<float>(i); });
  EXPECT_EQ(rt->item<float>(
                jit(*rt, [](const Array& v) { return sum(v); })(array_in(*rt, b, 0, f32_1024))),
            1023.0f * 512);
}

TEST_F(Adopted, LocksTheQueueAroundEveryUse) {
  int locked = 0, depth = 0;
  VulkanDevice device = app.described();
  device.lock_queue = [&] { ++locked, ++depth; };
  device.unlock_queue = [&] { --depth; };
  {
    Runtime other = Runtime::adopt(device, watched());
    const int made = locked;  // asking how it rounds may take a dispatch
    const Array x = other.from_host({1.0f});
    EXPECT_EQ(other.item<float>(jit(other, [](const Array& v) { return v + 1.0f; })(x)), 2.0f);
    EXPECT_GT(locked, made);
  }
  EXPECT_EQ(depth, 0);
}

TEST_F(Adopted, LivesBesideRuntimesOfItsOwnAndOfOtherApplications) {
  App second;
  Runtime theirs = Runtime::adopt(second.described(), watched()), own;
  const auto twice = [](const Array& v) { return v * 2.0f; };
  for (Runtime* each : {&*rt, &theirs, &own})
    EXPECT_EQ(each->item<float>(jit(*each, twice)(each->from_host({21.0f}))), 42.0f);
  EXPECT_THAT(message([&] { jit(*rt, twice)(theirs.from_host({1.0f})); }),
              HasSubstr("another Runtime"));
  EXPECT_TRUE(second.messages().empty());
}

TEST_F(Adopted, SaysWhatIsMissing) {
  const VulkanDevice whole = app.described();
  VulkanDevice d = whole;
  d.queue = VK_NULL_HANDLE;
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("the VulkanDevice has no queue"));
  d = whole, d.get_instance_proc_addr = nullptr;
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("has no get_instance_proc_addr"));
  d = whole, d.api_version = VK_API_VERSION_1_0;
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("made for Vulkan 1.0 and 1.1"));
  d = whole, d.queue_family = 77;
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("none with number 77"));
  d = whole, d.lock_queue = [] {};
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("both or neither"));
}

TEST_F(Adopted, SaysWhatIsWrongWithABuffer) {
  const VulkanBuffer b = floats(1024, [](auto) { return 0.0f; });
  const auto says = [&](const VulkanBuffer& buffer, std::uint64_t offset, const char* what) {
    EXPECT_THAT(message([&] { array_in(*rt, buffer, offset, f32_1024); }), HasSubstr(what));
  };
  says(b, 16, "the offset is 16 and has to be a multiple of 256");
  says(b, 256, "at byte 256 takes 4096 bytes with its padding and the buffer has 4096");
  VulkanBuffer other = b;
  other.usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
  says(other, 0, "without the usage bits");
  says({}, 0, "there is no buffer");
  Runtime own;
  EXPECT_THAT(message([&] { array_in(own, b, 0, f32_1024); }), HasSubstr("Runtime::adopt"));
}

}  // namespace
}  // namespace gnomon::testing
