// engine/vulkan/result.h -- Vulkan result codes as DeviceError, and structures that know their
// type.
#pragma once
#include <string>

#include "engine/vulkan/functions.h"

namespace gnomon::vulkan {

/// "VK_ERROR_TOO_MANY_OBJECTS (the driver's limit of allocations is reached)".
std::string describe(VkResult);
/// Throws DeviceError: "gnomon::Runtime: <call> failed: <result>"; DeviceLost where that is what it
/// says. What a device says is Device::check's, which remembers a loss.
[[noreturn]] void fail(VkResult, const char* call);
/// Error codes are negative; VK_TIMEOUT and VK_NOT_READY pass.
inline void check(VkResult result, const char* call) {
  if (result < 0) fail(result, call);
}

/// A structure with its type tag and zeros.
template <class T>
T make(VkStructureType type) {
  T value{};
  value.sType = type;
  return value;
}

}  // namespace gnomon::vulkan
