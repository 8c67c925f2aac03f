// engine/vulkan/functions.h -- Vulkan's functions as tables: one of the loader, one for each
// instance, one for each device. Nothing of them is global, so that devices of different loaders
// and instances live side by side.
#pragma once
// Prototypes would be functions to link with.
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

namespace gnomon::vulkan {

// clang-format off
/// All that is asked of a device.
#define GNOMON_DEVICE_FUNCTIONS(X) \
  X(vkAllocateCommandBuffers) X(vkAllocateDescriptorSets) X(vkAllocateMemory) \
  X(vkBeginCommandBuffer) X(vkBindBufferMemory) X(vkCmdBindDescriptorSets) X(vkCmdBindPipeline) \
  X(vkCmdCopyBuffer) X(vkCmdDispatch) X(vkCmdDispatchIndirect) X(vkCmdPipelineBarrier) \
  X(vkCmdPushConstants) X(vkCmdResetQueryPool) X(vkCmdUpdateBuffer) X(vkCmdWriteTimestamp) \
  X(vkCreateBuffer) \
  X(vkCreateBufferView) X(vkCreateCommandPool) X(vkCreateComputePipelines) \
  X(vkCreateDescriptorPool) X(vkCreateDescriptorSetLayout) X(vkCreateFence) \
  X(vkCreatePipelineCache) X(vkCreatePipelineLayout) X(vkCreateQueryPool) \
  X(vkCreateShaderModule) X(vkDestroyBuffer) X(vkDestroyBufferView) X(vkDestroyCommandPool) \
  X(vkDestroyDescriptorPool) X(vkDestroyDescriptorSetLayout) X(vkDestroyDevice) \
  X(vkDestroyFence) X(vkDestroyPipeline) X(vkDestroyPipelineCache) X(vkDestroyPipelineLayout) \
  X(vkDestroyQueryPool) X(vkDestroyShaderModule) X(vkEndCommandBuffer) X(vkFreeMemory) \
  X(vkGetBufferMemoryRequirements) X(vkGetBufferMemoryRequirements2) X(vkGetDeviceQueue) \
  X(vkGetFenceStatus) X(vkGetPipelineCacheData) X(vkGetQueryPoolResults) X(vkMapMemory) X(vkQueueSubmit) \
  X(vkResetFences) X(vkUpdateDescriptorSets) X(vkWaitForFences)
// clang-format on

/// Of vulkan_win32.h, which needs the headers of Windows: the same layouts.
struct ImportWin32HandleInfo {
  VkStructureType sType;
  const void* pNext;
  VkExternalMemoryHandleTypeFlagBits handleType;
  void* handle;
  const wchar_t* name;
};
struct GetWin32HandleInfo {
  VkStructureType sType;
  const void* pNext;
  VkDeviceMemory memory;
  VkExternalMemoryHandleTypeFlagBits handleType;
};
using GetMemoryWin32Handle = VkResult(VKAPI_PTR*)(VkDevice, const GetWin32HandleInfo*, void**);

struct DeviceTable {
#define GNOMON_FUNCTION(name) PFN_##name name = nullptr;
  GNOMON_DEVICE_FUNCTIONS(GNOMON_FUNCTION)
#undef GNOMON_FUNCTION
  PFN_vkGetBufferDeviceAddress vkGetBufferDeviceAddress = nullptr;  // of 1.2, or the extension's
  PFN_vkGetMemoryFdKHR vkGetMemoryFdKHR = nullptr;                  // null without the extension
  GetMemoryWin32Handle vkGetMemoryWin32HandleKHR = nullptr;         // likewise
  // Null where the instance has VK_EXT_debug_utils not enabled.
  PFN_vkCmdBeginDebugUtilsLabelEXT vkCmdBeginDebugUtilsLabelEXT = nullptr;
  PFN_vkCmdEndDebugUtilsLabelEXT vkCmdEndDebugUtilsLabelEXT = nullptr;
  PFN_vkSetDebugUtilsObjectNameEXT vkSetDebugUtilsObjectNameEXT = nullptr;
};

/// What the loader offers without an instance.
struct LoaderTable {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  PFN_vkCreateInstance create_instance = nullptr;
  PFN_vkEnumerateInstanceExtensionProperties extensions = nullptr;
  PFN_vkEnumerateInstanceLayerProperties layers = nullptr;
  PFN_vkEnumerateInstanceVersion version = nullptr;  // null where the loader knows 1.0 only
};

/// The platform's loader, which stays in the process from then on. Null when there is none.
PFN_vkGetInstanceProcAddr find_loader();
/// Throws DeviceError when there is no loader.
LoaderTable load_loader(PFN_vkGetInstanceProcAddr);

}  // namespace gnomon::vulkan
