// tests/vulkan/faults.cpp -- wrappers of all functions that a Runtime calls.
#include "tests/vulkan/faults.h"

#include <cstring>
#include <tuple>
#include <type_traits>

namespace gnomon::testing {

Faults& faults() {
  static Faults one;
  return one;
}

void Faults::reset() {
  function.clear();
  error.reset();
  failing = -1;
  calls = 0;
  commands = 0;
  failed.clear();
  said = VK_SUCCESS;
  live.clear();
}

void Faults::arm(int n, const std::string& of, std::optional<VkResult> by) {
  const std::lock_guard lock(mutex);
  calls = 0;
  commands = 0;
  failing = n;
  function = of;
  error = by;
  failed.clear();
  said = VK_SUCCESS;
}

void Faults::rest() {
  const std::lock_guard lock(mutex);
  failing = -1;
}

int Faults::objects() const {
  int sum = 0;
  for (const auto& [kind, count] : live) sum += count;
  return sum;
}

std::string Faults::text() const {
  std::string text;
  for (const auto& [kind, count] : live)
    if (count != 0) text += " " + std::to_string(count) + " " + kind;
  return text;
}

namespace {

VkResult error_of(const std::string& name) {
  if (name == "vkQueueSubmit" || name == "vkWaitForFences" || name == "vkGetFenceStatus")
    return VK_ERROR_DEVICE_LOST;
  if (name == "vkMapMemory") return VK_ERROR_MEMORY_MAP_FAILED;
  if (name == "vkAllocateDescriptorSets") return VK_ERROR_FRAGMENTED_POOL;
  if (name == "vkCreateInstance") return VK_ERROR_INCOMPATIBLE_DRIVER;
  if (name == "vkCreateDevice") return VK_ERROR_INITIALIZATION_FAILED;
  return faults().calls % 2 == 0 ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

template <int N, class F>
struct Wrapped;
template <int N, class R, class... A>
struct Wrapped<N, R(VKAPI_PTR*)(A...)> {
  static inline R(VKAPI_PTR* real)(A...) = nullptr;
  static inline std::string name;

  static R VKAPI_PTR call(A... a) {
    Faults& f = faults();
    std::unique_lock lock(f.mutex);
    if constexpr (std::is_same_v<R, VkResult>) {
      if ((f.function.empty() || f.function == name) && f.calls++ == f.failing) {
        f.failed = name;
        f.said = f.error.value_or(error_of(name));
        // A device that is lost runs nothing any more.
        if (f.said == VK_ERROR_DEVICE_LOST && f.queue != VK_NULL_HANDLE) f.wait_idle(f.queue);
        return f.said;
      }
      if constexpr (std::is_same_v<std::tuple<A...>, std::tuple<VkQueue, std::uint32_t,
                                                                const VkSubmitInfo*, VkFence>>)
        f.commands += std::get<2>(std::tuple<A...>(a...))->commandBufferCount;
      lock.unlock();
      const VkResult result = real(a...);
      lock.lock();
      if (result == VK_SUCCESS) count("vkCreate", "vkAllocateMemory", 1);
      return result;
    } else {
      const std::tuple<A...> all(a...);
      if (name.starts_with("vkDestroy") || name == "vkFreeMemory") {
        // vkDestroyX(device, object, callbacks), and an object may be null; or vkDestroyX(object,
        // callbacks).
        constexpr std::size_t which = sizeof...(A) == 3 ? 1 : 0;
        if (std::get<which>(all) != std::tuple_element_t<which, std::tuple<A...>>{})
          count("vkDestroy", "vkFreeMemory", -1);
      }
      real(a...);
      if constexpr (std::is_same_v<std::tuple<A...>,
                                   std::tuple<VkDevice, std::uint32_t, std::uint32_t, VkQueue*>>)
        f.queue = *std::get<3>(all);
    }
  }

  static void count(const char* prefix, const char* other, int by) {
    auto& live = faults().live;
    if (name == other) live["Memory"] += by;
    if (!name.starts_with(prefix)) return;
    std::string kind = name.substr(std::strlen(prefix));
    if (kind == "ComputePipelines") kind = "Pipeline";
    live[kind] += by;
  }
};

#define GNOMON_WRAP(function)                              \
  if (std::strcmp(name, #function) == 0) {                 \
    using W = Wrapped<__COUNTER__, PFN_##function>;        \
    W::real = reinterpret_cast<PFN_##function>(real);      \
    W::name = name;                                        \
    return reinterpret_cast<PFN_vkVoidFunction>(&W::call); \
  }

PFN_vkVoidFunction VKAPI_PTR device_function(VkDevice device, const char* name) {
  const std::lock_guard lock(faults().mutex);
  const PFN_vkVoidFunction real = faults().device(device, name);
  if (std::strcmp(name, "vkQueueSubmit") == 0)
    faults().wait_idle =
        reinterpret_cast<PFN_vkQueueWaitIdle>(faults().device(device, "vkQueueWaitIdle"));
  GNOMON_DEVICE_FUNCTIONS(GNOMON_WRAP)
  return real;
}

}  // namespace

PFN_vkVoidFunction VKAPI_PTR failing_function(VkInstance instance, const char* name) {
  const std::lock_guard lock(faults().mutex);
  if (faults().instance == nullptr) faults().instance = vulkan::find_loader();
  const PFN_vkVoidFunction real = faults().instance(instance, name);
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) {
    faults().device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
    return reinterpret_cast<PFN_vkVoidFunction>(&device_function);
  }
  if (real == nullptr) return real;
  GNOMON_WRAP(vkCreateInstance)
  GNOMON_WRAP(vkDestroyInstance)
  GNOMON_WRAP(vkEnumerateInstanceVersion)
  GNOMON_WRAP(vkEnumerateInstanceExtensionProperties)
  GNOMON_WRAP(vkEnumerateInstanceLayerProperties)
  GNOMON_WRAP(vkEnumeratePhysicalDevices)
  GNOMON_WRAP(vkEnumerateDeviceExtensionProperties)
  GNOMON_WRAP(vkCreateDevice)
  return real;
}

}  // namespace gnomon::testing
