// tests/vulkan/watched_memory.h -- between a Runtime and the driver: what is asked of memory that
// others have, and answers of drivers that are not at hand.
#pragma once
#include "engine/vulkan/functions.h"
// What may be used of Vulkan has to be known before.
#include <cstdint>
#include <vector>

namespace gnomon::testing {

/// Functions of Vulkan have no room for an object, so there is one.
struct WatchedMemory {
  // What the device says of itself.
  bool fd = true, win32 = false;  // extensions
  VkExternalMemoryFeatureFlags features =
      VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
  bool requires_dedicated = false;
  std::uint64_t extra_bytes = 0;     // that buffers take beyond their own
  VkResult allocating = VK_SUCCESS;  // what imports give
  bool no_views = false;             // no view of a buffer can be created

  // What it was asked, where it was about memory of others.
  struct Asked {
    VkExternalMemoryHandleTypeFlags buffer_types = 0, exported_types = 0, imported_type = 0;
    int fd = -1;
    void* win32 = nullptr;
    const wchar_t* name = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t memory_type = 0;
    bool dedicated = false, dedicated_to_the_buffer = false, addressable = false;
  };
  std::vector<Asked> asked;
  std::vector<VkBufferUsageFlags> usages;  // of queries
  void* exported = nullptr;                // the handle of Windows that it gives
};
WatchedMemory& watched_memory();

/// vkGetInstanceProcAddr of the platform's loader, watched.
PFN_vkVoidFunction VKAPI_PTR watching_function(VkInstance, const char* name);

}  // namespace gnomon::testing
