// engine/vulkan/result.cpp -- names and meanings of Vulkan's result codes.
#include "engine/vulkan/result.h"

#include "gnomon/device_lost.h"

namespace gnomon::vulkan {

std::string describe(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY (the host is out of memory)";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY (the device is out of memory)";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED (the driver could not start)";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST (the driver reset the device, often after a dispatch that ran "
             "too long)";
    case VK_ERROR_MEMORY_MAP_FAILED:
      return "VK_ERROR_MEMORY_MAP_FAILED (device memory could not be mapped)";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT (a validation layer is not installed)";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT (an extension is missing)";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT (a feature is missing)";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER (no Vulkan driver works here; install one, "
             "mesa-vulkan-drivers for example)";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "VK_ERROR_TOO_MANY_OBJECTS (the driver's limit of allocations is reached)";
    case VK_ERROR_FRAGMENTED_POOL:
      return "VK_ERROR_FRAGMENTED_POOL (a descriptor pool is fragmented)";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      return "VK_ERROR_OUT_OF_POOL_MEMORY (a descriptor pool is full)";
    case VK_ERROR_INVALID_SHADER_NV:
      return "VK_ERROR_INVALID_SHADER (the driver refused a shader)";
    case VK_ERROR_UNKNOWN:
      return "VK_ERROR_UNKNOWN (the driver does not say why)";
    default:
      return "VkResult " + std::to_string(static_cast<int>(result));
  }
}

void fail(VkResult result, const char* call) {
  const std::string text = "gnomon::Runtime: " + std::string(call) + " failed: " + describe(result);
  if (result == VK_ERROR_DEVICE_LOST) throw DeviceLost(text);
  throw DeviceError(text);
}

}  // namespace gnomon::vulkan
