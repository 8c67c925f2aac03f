// engine/include/gnomon/vulkan_device.h -- a Vulkan device of the application's, for
// Runtime::adopt.
//
// Needs the headers of Vulkan, none of its functions.
#pragma once
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>

#include "gnomon/handler.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// A device of the application's, for Runtime::adopt and adopt_without_compiler. All of it stays
/// the application's, and lives until the Runtime, its arrays, its functions and its Recordings are
/// gone.
///
/// Nothing is used that is not named here as enabled. Everything may be left out: 64-bit types are
/// then computed as pairs of words, f64 not at all, and arrays beyond the largest storage buffer
/// are refused.
struct VulkanDevice {
  /// The loader's, or whatever else the application calls Vulkan through.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  /// Of a family that computes; where commands are recorded for it, the family of their pool.
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;
  /// VkApplicationInfo::apiVersion, at least 1.1.
  std::uint32_t api_version = VK_API_VERSION_1_1;
  /// Device extensions that were enabled.
  std::span<const char* const> extensions = {};
  /// What was enabled: VkDeviceCreateInfo::pNext with its VkPhysicalDeviceFeatures2, and the
  /// structures of features behind or before it. Read by `adopt` only.
  const void* features = nullptr;
  /// Called around every use of the queue where other threads use it as well; may be empty.
  Handler<void()> lock_queue = {}, unlock_queue = {};
};

}  // namespace gnomon
#pragma GCC visibility pop
