// tests/vulkan/faults_test.cpp -- every call of Vulkan that a small run makes fails once, each by
// an error of its own: it is said, nothing is left over, and what can go on goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "gnomon/gnomon.h"
#include "tests/vulkan/app.h"

namespace gnomon::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

/// Between the Runtime and the driver. Functions have no room for an object, so there is one.
struct Faults {
  PFN_vkGetInstanceProcAddr instance = nullptr;
  PFN_vkGetDeviceProcAddr device = nullptr;
  PFN_vkQueueWaitIdle wait_idle = nullptr;
  VkQueue queue = VK_NULL_HANDLE;
  int calls = 0;       // that may fail, so far
  int failing = -1;    // the number of the one that does
  std::string failed;  // its name
  VkResult error = VK_SUCCESS;
  std::map<std::string, int> live;  // objects by kind
} faults;

VkResult error_of(const std::string& name) {
  if (name == "vkQueueSubmit" || name == "vkWaitForFences" || name == "vkGetFenceStatus")
    return VK_ERROR_DEVICE_LOST;
  if (name == "vkMapMemory") return VK_ERROR_MEMORY_MAP_FAILED;
  if (name == "vkAllocateDescriptorSets") return VK_ERROR_FRAGMENTED_POOL;
  return faults.calls % 2 == 0 ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

template <int N, class F>
struct Wrapped;
template <int N, class R, class... A>
struct Wrapped<N, R(VKAPI_PTR*)(A...)> {
  static inline R(VKAPI_PTR* real)(A...) = nullptr;
  static inline std::string name;

  static R VKAPI_PTR call(A... a) {
    if constexpr (std::is_same_v<R, VkResult>) {
      if (faults.calls++ == faults.failing) {
        faults.failed = name;
        faults.error = error_of(name);
        // A device that is lost runs nothing any more.
        if (faults.error == VK_ERROR_DEVICE_LOST) faults.wait_idle(faults.queue);
        return faults.error;
      }
      const VkResult result = real(a...);
      if (result == VK_SUCCESS) count("vkCreate", "vkAllocateMemory", 1);
      return result;
    } else {
      if constexpr (sizeof...(A) == 3) {
        // vkDestroyX(device, object, callbacks), and an object may be null.
        if (std::get<1>(std::tuple<A...>(a...)) != A2{}) count("vkDestroy", "vkFreeMemory", -1);
      }
      return real(a...);
    }
  }
  using A2 = std::conditional_t<(sizeof...(A) > 1),
                                std::tuple_element_t<1, std::tuple<A..., int, int>>, int>;

  static void count(const char* prefix, const char* other, int by) {
    if (name == other) faults.live["Memory"] += by;
    if (!name.starts_with(prefix)) return;
    std::string kind = name.substr(std::strlen(prefix));
    if (kind == "ComputePipelines") kind = "Pipeline";
    faults.live[kind] += by;
  }
};

PFN_vkVoidFunction VKAPI_PTR device_function(VkDevice device, const char* name) {
  const PFN_vkVoidFunction real = faults.device(device, name);
#define GNOMON_FUNCTION(function)                          \
  if (std::strcmp(name, #function) == 0) {                 \
    using W = Wrapped<__COUNTER__, PFN_##function>;        \
    W::real = reinterpret_cast<PFN_##function>(real);      \
    W::name = name;                                        \
    return reinterpret_cast<PFN_vkVoidFunction>(&W::call); \
  }
  GNOMON_DEVICE_FUNCTIONS(GNOMON_FUNCTION)
#undef GNOMON_FUNCTION
  return real;
}

PFN_vkVoidFunction VKAPI_PTR instance_function(VkInstance instance, const char* name) {
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(&device_function);
  return faults.instance(instance, name);
}

class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() : app({.validate = false}), device(app.described()) {
    faults = {};
    faults.instance = device.get_instance_proc_addr;
    faults.device = app.function<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr");
    faults.wait_idle = app.function<PFN_vkQueueWaitIdle>("vkQueueWaitIdle");
    faults.queue = device.queue;
    device.get_instance_proc_addr = &instance_function;
  }
  RuntimeOptions options() const {
    RuntimeOptions o;
    o.force_staging = true;  // copies may fail, too
    o.block_bytes = 1 << 20;
    return o;
  }
  static int live() {
    int sum = 0;
    for (const auto& [kind, count] : faults.live) sum += count;
    return sum;
  }

  App app;
  VulkanDevice device;
};

float once(Runtime& rt) {
  const Array x = rt.from_host(std::vector<float>(300, 2.0f));
  const auto f = jit(rt, [](const Array& a) { return sum(a * a); });
  return rt.item<float>(f(x));
}

TEST_F(FaultsTest, EveryCallFailsOnce) {
  {
    Runtime rt = Runtime::adopt(device, options());
    EXPECT_EQ(once(rt), 1200.0f);
  }
  EXPECT_EQ(live(), 0);
  const int calls = faults.calls;
  EXPECT_GT(calls, 20);
  std::set<std::string> failed;
  for (int k = 0; k < calls; ++k) {
    faults.calls = 0;
    faults.failing = k;
    faults.failed.clear();
    std::optional<Runtime> rt;
    std::string said;
    try {
      rt.emplace(Runtime::adopt(device, options()));
      EXPECT_EQ(once(*rt), 1200.0f) << k;
    } catch (const DeviceError& e) {
      said = e.what();
    }
    failed.insert(faults.failed);
    const std::string which = "call " + std::to_string(k) + " " + faults.failed;
    if (!said.empty()) {
      EXPECT_THAT(said, AnyOf(HasSubstr("failed: VK_ERROR"), HasSubstr("out of device memory")))
          << which;
    }
    if (!rt) {
      EXPECT_EQ(live(), 0) << which;
      continue;
    }
    // Nothing fails any more, but a device that is lost stays so.
    faults.failing = -1;
    if (faults.error == VK_ERROR_DEVICE_LOST && !said.empty()) {
      for (int again = 0; again < 2; ++again) {
        try {
          once(*rt);
          ADD_FAILURE() << which << " computes on a lost device";
        } catch (const DeviceError& e) {
          EXPECT_THAT(e.what(), HasSubstr("VK_ERROR_DEVICE_LOST")) << which;
        }
      }
    } else {
      try {
        EXPECT_EQ(once(*rt), 1200.0f) << which;
      } catch (const Error& e) {
        ADD_FAILURE() << which << ": " << said << "; afterwards: " << e.what();
      }
    }
    rt->clear_programs();
    if (faults.error != VK_ERROR_DEVICE_LOST) {
      EXPECT_EQ(rt->memory().live_ranges, 0u) << which;
    }
    rt.reset();
    EXPECT_EQ(live(), 0) << which;
    faults.live.clear();
  }
  for (const char* name : {"vkAllocateMemory", "vkQueueSubmit", "vkCreateComputePipelines",
                           "vkWaitForFences", "vkAllocateDescriptorSets", "vkMapMemory"})
    EXPECT_EQ(failed.count(name), 1u) << name;
}

}  // namespace
}  // namespace gnomon::testing
