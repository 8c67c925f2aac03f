// tests/vulkan/faults.h -- between a Runtime and the driver: calls that fail when they are told to,
// and a count of what is there.
#pragma once
#include "engine/vulkan/functions.h"
// What may be used of Vulkan has to be known before.
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace gnomon::testing {

/// Functions of Vulkan have no room for an object, so there is one.
struct Faults {
  /// Only calls of this function count and fail; empty: all that return a VkResult.
  std::string function;
  /// What fails; none: an error that suits the function.
  std::optional<VkResult> error;
  int failing = -1;            // the number of the call that fails
  int calls = 0;               // so far
  std::uint64_t commands = 0;  // command buffers that were submitted, since the last `arm`

  std::string failed;  // the name of the call that did
  VkResult said = VK_SUCCESS;
  std::map<std::string, int> live;  // objects by kind

  /// Nothing fails from now on.
  void rest();
  /// The n-th call from now on fails.
  void arm(int n, const std::string& of = "", std::optional<VkResult> by = std::nullopt);
  int objects() const;
  /// What is there, for messages.
  std::string text() const;

  // The driver's.
  PFN_vkGetInstanceProcAddr instance = nullptr;
  PFN_vkGetDeviceProcAddr device = nullptr;
  PFN_vkQueueWaitIdle wait_idle = nullptr;
  VkQueue queue = VK_NULL_HANDLE;
  std::recursive_mutex mutex;

  /// Forgets everything but the driver's functions.
  void reset();
};
Faults& faults();

/// vkGetInstanceProcAddr of a driver that fails as `faults()` says; that is the platform's loader,
/// or where `faults().instance` was set before, that.
PFN_vkVoidFunction VKAPI_PTR failing_function(VkInstance, const char* name);

}  // namespace gnomon::testing
