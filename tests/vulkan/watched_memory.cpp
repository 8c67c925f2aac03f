// tests/vulkan/watched_memory.cpp -- wrappers of the functions that memory of others is made by.
// Handles of Windows are made up: their memory is the driver's, of nobody else.
#include "tests/vulkan/watched_memory.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace gnomon::testing {

WatchedMemory& watched_memory() {
  static WatchedMemory one;
  return one;
}

namespace {

constexpr const char* win32_name = "VK_KHR_external_memory_win32";

/// The driver's own.
template <auto Wrapper, class F>
struct Real {
  static inline F call = nullptr;
};
#define GNOMON_REAL(function) Real<&function, PFN_vk##function>::call

template <class T>
const T* find(const void* chain, VkStructureType type) {
  for (auto* s = static_cast<const VkBaseInStructure*>(chain); s != nullptr; s = s->pNext)
    if (s->sType == type) return reinterpret_cast<const T*>(s);
  return nullptr;
}

PFN_vkGetInstanceProcAddr loader() {
  static const PFN_vkGetInstanceProcAddr one = vulkan::find_loader();
  return one;
}
PFN_vkGetDeviceProcAddr next_device = nullptr;

VkResult VKAPI_PTR EnumerateDeviceExtensionProperties(VkPhysicalDevice, const char*, std::uint32_t*,
                                                      VkExtensionProperties*);
VkResult VKAPI_PTR CreateDevice(VkPhysicalDevice, const VkDeviceCreateInfo*,
                                const VkAllocationCallbacks*, VkDevice*);
void VKAPI_PTR GetPhysicalDeviceExternalBufferProperties(VkPhysicalDevice,
                                                         const VkPhysicalDeviceExternalBufferInfo*,
                                                         VkExternalBufferProperties*);
VkResult VKAPI_PTR CreateBuffer(VkDevice, const VkBufferCreateInfo*, const VkAllocationCallbacks*,
                                VkBuffer*);
VkResult VKAPI_PTR CreateBufferView(VkDevice, const VkBufferViewCreateInfo*,
                                    const VkAllocationCallbacks*, VkBufferView*);
void VKAPI_PTR GetBufferMemoryRequirements2(VkDevice, const VkBufferMemoryRequirementsInfo2*,
                                            VkMemoryRequirements2*);
VkResult VKAPI_PTR AllocateMemory(VkDevice, const VkMemoryAllocateInfo*,
                                  const VkAllocationCallbacks*, VkDeviceMemory*);

VkBuffer last_buffer = VK_NULL_HANDLE;  // for others
VkExternalMemoryHandleTypeFlags last_types = 0;

VkResult VKAPI_PTR EnumerateDeviceExtensionProperties(VkPhysicalDevice device, const char* layer,
                                                      std::uint32_t* count,
                                                      VkExtensionProperties* list) {
  const auto real = GNOMON_REAL(EnumerateDeviceExtensionProperties);
  std::uint32_t most = 0;
  VkResult result = real(device, layer, &most, nullptr);
  if (result != VK_SUCCESS) return result;
  std::vector<VkExtensionProperties> all(most);
  result = real(device, layer, &most, all.data());
  if (result != VK_SUCCESS) return result;
  if (layer == nullptr) {
    if (!watched_memory().fd)
      std::erase_if(all, [](const VkExtensionProperties& e) {
        return std::string_view(e.extensionName) == VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
      });
    if (watched_memory().win32) {
      VkExtensionProperties e{};
      std::strcpy(e.extensionName, win32_name);
      all.push_back(e);
    }
  }
  if (list != nullptr) std::copy(all.begin(), all.end(), list);
  *count = static_cast<std::uint32_t>(all.size());
  return VK_SUCCESS;
}

VkResult VKAPI_PTR CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                const VkAllocationCallbacks* callbacks, VkDevice* device) {
  std::vector<const char*> names;
  for (std::uint32_t i = 0; i < info->enabledExtensionCount; ++i)
    if (std::string_view(info->ppEnabledExtensionNames[i]) != win32_name)
      names.push_back(info->ppEnabledExtensionNames[i]);
  VkDeviceCreateInfo own = *info;
  own.enabledExtensionCount = static_cast<std::uint32_t>(names.size());
  own.ppEnabledExtensionNames = names.data();
  return GNOMON_REAL(CreateDevice)(physical, &own, callbacks, device);
}

void VKAPI_PTR GetPhysicalDeviceExternalBufferProperties(
    VkPhysicalDevice, const VkPhysicalDeviceExternalBufferInfo* info,
    VkExternalBufferProperties* properties) {
  watched_memory().usages.push_back(info->usage);
  properties->externalMemoryProperties = {watched_memory().features, 0, info->handleType};
}

VkResult VKAPI_PTR CreateBuffer(VkDevice device, const VkBufferCreateInfo* info,
                                const VkAllocationCallbacks* callbacks, VkBuffer* buffer) {
  const auto* external = find<VkExternalMemoryBufferCreateInfo>(
      info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  VkBufferCreateInfo own = *info;
  if (external != nullptr && external->handleTypes != VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)
    own.pNext = nullptr;
  const VkResult result = GNOMON_REAL(CreateBuffer)(device, &own, callbacks, buffer);
  if (external != nullptr) last_buffer = *buffer, last_types = external->handleTypes;
  return result;
}

VkResult VKAPI_PTR CreateBufferView(VkDevice device, const VkBufferViewCreateInfo* info,
                                    const VkAllocationCallbacks* callbacks, VkBufferView* view) {
  if (watched_memory().no_views) return VK_ERROR_OUT_OF_HOST_MEMORY;
  return GNOMON_REAL(CreateBufferView)(device, info, callbacks, view);
}

void VKAPI_PTR GetBufferMemoryRequirements2(VkDevice device,
                                            const VkBufferMemoryRequirementsInfo2* info,
                                            VkMemoryRequirements2* needs) {
  GNOMON_REAL(GetBufferMemoryRequirements2)(device, info, needs);
  needs->memoryRequirements.size += watched_memory().extra_bytes;
  for (auto* s = static_cast<VkBaseOutStructure*>(needs->pNext); s != nullptr; s = s->pNext)
    if (s->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS)
      reinterpret_cast<VkMemoryDedicatedRequirements*>(s)->requiresDedicatedAllocation =
          watched_memory().requires_dedicated;
}

VkResult VKAPI_PTR AllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                  const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
  const auto* exported =
      find<VkExportMemoryAllocateInfo>(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
  const auto* by_fd =
      find<VkImportMemoryFdInfoKHR>(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
  const auto* by_win32 = find<vulkan::ImportWin32HandleInfo>(
      info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR);
  if (exported == nullptr && by_fd == nullptr && by_win32 == nullptr)
    return GNOMON_REAL(AllocateMemory)(device, info, callbacks, memory);
  WatchedMemory::Asked a;
  a.bytes = info->allocationSize;
  a.memory_type = info->memoryTypeIndex;
  a.buffer_types = last_types;
  if (exported != nullptr) a.exported_types = exported->handleTypes;
  if (by_fd != nullptr) a.imported_type = by_fd->handleType, a.fd = by_fd->fd;
  if (by_win32 != nullptr) {
    a.imported_type = by_win32->handleType;
    a.win32 = by_win32->handle;
    a.name = by_win32->name;
  }
  const auto* dedicated = find<VkMemoryDedicatedAllocateInfo>(
      info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
  a.dedicated = dedicated != nullptr;
  a.dedicated_to_the_buffer = dedicated != nullptr && dedicated->buffer == last_buffer;
  const auto* flags =
      find<VkMemoryAllocateFlagsInfo>(info->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  a.addressable = flags != nullptr && flags->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  watched_memory().asked.push_back(a);
  if (exported == nullptr && watched_memory().allocating != VK_SUCCESS)
    return watched_memory().allocating;
  // The driver is to give memory of its own where it knows no such handles.
  VkMemoryAllocateFlagsInfo own_flags{};
  own_flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  own_flags.flags = flags != nullptr ? flags->flags : 0;
  VkMemoryAllocateInfo own = *info;
  if (last_types != VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)
    own.pNext = flags != nullptr ? &own_flags : nullptr;
  return GNOMON_REAL(AllocateMemory)(device, &own, callbacks, memory);
}

VkResult VKAPI_PTR get_win32_handle(VkDevice, const vulkan::GetWin32HandleInfo* info,
                                    void** handle) {
  if (info->sType != VK_STRUCTURE_TYPE_MEMORY_GET_WIN32_HANDLE_INFO_KHR ||
      info->handleType != VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT ||
      info->memory == VK_NULL_HANDLE)
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  *handle = watched_memory().exported;
  return VK_SUCCESS;
}

#define GNOMON_WATCH(function)                                        \
  if (real != nullptr && std::strcmp(name, "vk" #function) == 0) {    \
    GNOMON_REAL(function) = reinterpret_cast<PFN_vk##function>(real); \
    return reinterpret_cast<PFN_vkVoidFunction>(&function);           \
  }

PFN_vkVoidFunction VKAPI_PTR device_function(VkDevice device, const char* name) {
  if (watched_memory().win32 && std::strcmp(name, "vkGetMemoryWin32HandleKHR") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(&get_win32_handle);
  const PFN_vkVoidFunction real = next_device(device, name);
  GNOMON_WATCH(CreateBuffer)
  GNOMON_WATCH(CreateBufferView)
  GNOMON_WATCH(GetBufferMemoryRequirements2)
  GNOMON_WATCH(AllocateMemory)
  return real;
}

}  // namespace

PFN_vkVoidFunction VKAPI_PTR watching_function(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction real = loader()(instance, name);
  if (real != nullptr && std::strcmp(name, "vkGetDeviceProcAddr") == 0) {
    next_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
    return reinterpret_cast<PFN_vkVoidFunction>(&device_function);
  }
  GNOMON_WATCH(EnumerateDeviceExtensionProperties)
  GNOMON_WATCH(CreateDevice)
  GNOMON_WATCH(GetPhysicalDeviceExternalBufferProperties)
  return real;
}

}  // namespace gnomon::testing
