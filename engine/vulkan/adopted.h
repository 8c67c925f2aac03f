// engine/vulkan/adopted.h -- a device of somebody else's, and what of it may be used.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/vulkan/functions.h"
#include "engine/vulkan/selection.h"
#include "gnomon/handler.h"

namespace gnomon::vulkan {

/// What VulkanDevice (gnomon/vulkan.h) says.
struct AdoptedDevice {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;
  std::uint32_t api_version = VK_API_VERSION_1_1;
  std::vector<std::string> extensions;
  const void* features = nullptr;  // chain of structures; read when the Device is made
  Handler<void()> lock_queue, unlock_queue;
};

/// `offered` without what was not enabled. Pure.
DeviceDescription enabled(DeviceDescription offered, const AdoptedDevice&);

}  // namespace gnomon::vulkan
