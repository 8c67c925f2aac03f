// tests/vulkan/faults_test.cpp -- every call of Vulkan that a small run makes fails once, each by
// an error of its own: it is said, nothing is left over, and what can go on goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "tests/vulkan/app.h"
#include "tests/vulkan/faults.h"
// What may be used of Vulkan has to be known before.
#include "gnomon/gnomon.h"

namespace gnomon::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

RuntimeOptions small() {
  RuntimeOptions o;
  o.force_staging = true;  // copies may fail, too
  o.block_bytes = 1 << 20;
  o.cache = "off";
  o.on_log = [](std::string_view) {};
  return o;
}

float once(Runtime& rt) {
  const Array x = rt.from_host(std::vector<float>(300, 2.0f));
  const auto f = jit(rt, [](const Array& a) { return sum(a * a); });
  return rt.item<float>(f(x));
}

/// A loop of which the device decides the length, in several submissions.
constexpr std::size_t lanes = 65536;
float loops(Runtime& rt) {
  const auto f = jit(rt, [](const Array& v) {
    const Array grown = while_loop([](const Array& u) { return sum(u) < 1e6f; },
                                   [](const Array& u) { return u + sum(u) * (1.0f / lanes); }, v,
                                   {.max_steps = 4000});
    return sum(grown);
  });
  return rt.item<float>(f(rt.from_host(std::vector<float>(lanes, 1.0f / lanes))));
}

constexpr float grown = 1048576;  // 1, doubled until it is a million

class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() {
    faults().reset();
    faults().instance = nullptr;
    faults().queue = VK_NULL_HANDLE;
  }

  /// Runs `f` on a Runtime of `make`, where call k fails; `again` has to work on what is left.
  template <class Make, class F>
  void fail_once(int k, Make make, F f, float right, const std::string& of = "",
                 std::optional<VkResult> error = std::nullopt) {
    faults().arm(k, of, error);
    std::optional<Runtime> rt;
    std::string said;
    bool lost = false;
    try {
      rt.emplace(make());
      EXPECT_EQ(f(*rt), right) << k;
    } catch (const DeviceError& e) {
      said = e.what();
      lost = dynamic_cast<const DeviceLost*>(&e) != nullptr;
    }
    failed.insert(faults().failed);
    const std::string which = "call " + std::to_string(k) + " " + faults().failed;
    if (!said.empty()) {
      EXPECT_THAT(said, AnyOf(HasSubstr("failed: VK_ERROR"), HasSubstr("out of device memory"),
                              HasSubstr("no usable GPU")))
          << which;
      EXPECT_EQ(lost, faults().said == VK_ERROR_DEVICE_LOST) << which << ": " << said;
    }
    faults().rest();
    if (rt) {
      if (lost) expect_lost(*rt, said, which);
      try {
        if (lost && !adopted) rt->recover();
        if (!lost || !adopted) {
          EXPECT_EQ(f(*rt), right) << which;
        }
      } catch (const Error& e) {
        ADD_FAILURE() << which << ": " << said << "; afterwards: " << e.what();
      }
      rt->clear_programs();
      EXPECT_EQ(rt->memory().live_ranges, 0u) << which;
      rt.reset();
    }
    EXPECT_EQ(faults().objects(), 0) << which << faults().text();
    faults().live.clear();
  }

  // Nothing fails any more, but a device that is lost stays so, and says the same again and again.
  void expect_lost(Runtime& rt, const std::string& said, const std::string& which) {
    for (int again = 0; again < 2; ++again) {
      try {
        once(rt);
        ADD_FAILURE() << which << " computes on a lost device";
      } catch (const DeviceLost& e) {
        EXPECT_EQ(e.what(), said) << which;
      }
    }
    EXPECT_THAT(said, HasSubstr(adopted ? "adopt the new device" : "Runtime::recover()")) << which;
  }

  template <class Make, class F>
  int calls_of(Make make, F f, float right, const std::string& of = "") {
    faults().reset();
    faults().arm(-1, of);
    {
      Runtime rt = make();
      EXPECT_EQ(f(rt), right);
    }
    EXPECT_EQ(faults().objects(), 0) << faults().text();
    return faults().calls;
  }

  std::set<std::string> failed;
  bool adopted = false;
};

Runtime own() {
  RuntimeOptions o = small();
  o.vulkan_loader = reinterpret_cast<void (*)()>(&failing_function);
  return Runtime(o);
}

TEST_F(FaultsTest, EveryCallFailsOnceOnAnApplicationsDevice) {
  adopted = true;
  App app({.validate = false});
  VulkanDevice device = app.described();
  faults().instance = device.get_instance_proc_addr;
  faults().queue = device.queue;
  device.get_instance_proc_addr = &failing_function;
  const auto make = [&] { return Runtime::adopt(device, small()); };
  const int calls = calls_of(make, once, 1200.0f);
  EXPECT_GT(calls, 20);
  for (int k = 0; k < calls; ++k) fail_once(k, make, once, 1200.0f);
  for (const char* name : {"vkAllocateMemory", "vkQueueSubmit", "vkCreateComputePipelines",
                           "vkWaitForFences", "vkAllocateDescriptorSets", "vkMapMemory"})
    EXPECT_EQ(failed.count(name), 1u) << name;
  EXPECT_EQ(failed.count("vkCreateDevice"), 0u) << "no device is made";
}

TEST_F(FaultsTest, EveryCallFailsOnceFromTheInstanceOn) {
  const int calls = calls_of(own, once, 1200.0f);
  EXPECT_GT(calls, 30);
  for (int k = 0; k < calls; ++k) fail_once(k, own, once, 1200.0f);
  for (const char* name :
       {"vkCreateInstance", "vkEnumeratePhysicalDevices", "vkCreateDevice",
        "vkEnumerateInstanceVersion", "vkEnumerateDeviceExtensionProperties", "vkAllocateMemory",
        "vkQueueSubmit", "vkWaitForFences", "vkCreateCommandPool", "vkEndCommandBuffer"}) {
    // A device that is asked whether it is ready is asked more often in one run than in the next.
    if (!failed.contains(name)) fail_once(0, own, once, 1200.0f, name);
    EXPECT_EQ(failed.count(name), 1u) << name;
  }
}

TEST_F(FaultsTest, LossIsNoticedWhereverItIsSaid) {
  for (const char* name : {"vkQueueSubmit", "vkWaitForFences", "vkGetFenceStatus", "vkMapMemory"}) {
    const int calls = calls_of(own, loops, grown, name);
    for (int k = 0; k < calls; ++k) fail_once(k, own, loops, grown, name, VK_ERROR_DEVICE_LOST);
  }
}

TEST_F(FaultsTest, OutOfMemoryAtEachAllocation) {
  for (const VkResult error :
       {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_TOO_MANY_OBJECTS}) {
    const int calls = calls_of(own, once, 1200.0f, "vkAllocateMemory");
    EXPECT_GE(calls, 3);
    for (int k = 0; k < calls; ++k) fail_once(k, own, once, 1200.0f, "vkAllocateMemory", error);
  }
}

TEST_F(FaultsTest, SubmissionsFailAndTheDeviceIsStillThere) {
  for (const VkResult error : {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY}) {
    const int calls = calls_of(own, loops, grown, "vkQueueSubmit");
    EXPECT_GE(calls, 4);
    for (int k = 0; k < calls; ++k) fail_once(k, own, loops, grown, "vkQueueSubmit", error);
  }
}

}  // namespace
}  // namespace gnomon::testing
