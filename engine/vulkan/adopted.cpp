// engine/vulkan/adopted.cpp -- from what a device offers to what its owner has enabled.
#include "engine/vulkan/adopted.h"

#include <algorithm>

namespace gnomon::vulkan {
namespace {

struct Enabled {
  bool int8 = false, int16 = false, int64 = false, float16 = false, float64 = false;
  bool storage8 = false, storage16 = false, addresses = false;
};

// Every feature may be named by a structure of its own, or by the one of a Vulkan version.
Enabled features_of(const void* chain) {
  Enabled e;
  for (auto* next = static_cast<const VkBaseInStructure*>(chain); next != nullptr;
       next = next->pNext) {
    switch (next->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2: {
        const auto& f = reinterpret_cast<const VkPhysicalDeviceFeatures2*>(next)->features;
        e.int16 |= f.shaderInt16 == VK_TRUE;
        e.int64 |= f.shaderInt64 == VK_TRUE;
        e.float64 |= f.shaderFloat64 == VK_TRUE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        e.storage16 |= reinterpret_cast<const VkPhysicalDevice16BitStorageFeatures*>(next)
                           ->storageBuffer16BitAccess == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
        e.storage16 |= reinterpret_cast<const VkPhysicalDeviceVulkan11Features*>(next)
                           ->storageBuffer16BitAccess == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
        e.storage8 |= reinterpret_cast<const VkPhysicalDevice8BitStorageFeatures*>(next)
                          ->storageBuffer8BitAccess == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES: {
        const auto& f = *reinterpret_cast<const VkPhysicalDeviceShaderFloat16Int8Features*>(next);
        e.float16 |= f.shaderFloat16 == VK_TRUE;
        e.int8 |= f.shaderInt8 == VK_TRUE;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
        e.addresses |= reinterpret_cast<const VkPhysicalDeviceBufferDeviceAddressFeatures*>(next)
                           ->bufferDeviceAddress == VK_TRUE;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
        const auto& f = *reinterpret_cast<const VkPhysicalDeviceVulkan12Features*>(next);
        e.storage8 |= f.storageBuffer8BitAccess == VK_TRUE;
        e.float16 |= f.shaderFloat16 == VK_TRUE;
        e.int8 |= f.shaderInt8 == VK_TRUE;
        e.addresses |= f.bufferDeviceAddress == VK_TRUE;
        break;
      }
      default:
        break;
    }
  }
  return e;
}

}  // namespace

DeviceDescription enabled(DeviceDescription d, const AdoptedDevice& from) {
  const std::uint32_t major = VK_API_VERSION_MAJOR(from.device.api_version);
  const std::uint32_t minor = VK_API_VERSION_MINOR(from.device.api_version);
  if (d.api_major > major || (d.api_major == major && d.api_minor > minor)) {
    d.api_major = major;
    d.api_minor = minor;
  }
  const auto named = [&](const char* extension) {
    return std::find(from.extensions.begin(), from.extensions.end(), extension) !=
           from.extensions.end();
  };
  const auto since = [&](std::uint32_t wanted, const char* extension) {
    return d.api_major > 1 || d.api_minor >= wanted || named(extension);
  };
  const Enabled e = features_of(from.device.features);
  d.int8 &= e.int8;
  d.int16 &= e.int16;
  d.int64 &= e.int64;
  d.float16 &= e.float16;
  d.float64 &= e.float64;
  d.storage8 &= e.storage8;
  d.storage16 &= e.storage16;
  d.addresses &= e.addresses && since(2, VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
  d.external_fd &= named(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  d.external_win32 &= named("VK_KHR_external_memory_win32");
  d.float_controls &= since(2, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  d.creation_feedback &= since(3, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
  return d;
}

}  // namespace gnomon::vulkan
