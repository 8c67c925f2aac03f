// engine/vulkan/external_memory.h -- buffers over memory that others have as well.
#pragma once
#include <cstddef>
#include <cstdint>

#include "engine/vulkan/device.h"
#include "engine/vulkan/functions.h"
// What may be used of Vulkan has to be known before.
#include "gnomon/array.h"
#include "gnomon/memory_handle.h"

namespace gnomon::vulkan {

/// A buffer and its memory, destroyed with this where nobody has taken them.
struct ExternalBuffer {
  explicit ExternalBuffer(const Device& of) : device(&of) {}
  ~ExternalBuffer();
  ExternalBuffer(const ExternalBuffer&) = delete;
  ExternalBuffer& operator=(const ExternalBuffer&) = delete;

  const Device* device;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::uint64_t bytes = 0;  // of the buffer, a multiple of 256
  std::byte* mapped = nullptr;
  MemoryHandle handle;  // but for the handle itself
};

/// What a buffer is for.
struct ExternalUse {
  VkBufferUsageFlags usage = 0;
  bool addressable = false;
};

/// Makes memory of at least `bytes` that can be exported. Throws as SharedMemory's constructor
/// does.
void make_external(Device&, const ExternalUse&, std::uint64_t bytes, HandleKind, Loc,
                   ExternalBuffer& made);
/// Imports memory. The handle stays the caller's: `take` ends that for a file descriptor. Throws as
/// SharedMemory's constructor does.
void import_external(Device&, const ExternalUse&, const MemoryHandle&, Loc, ExternalBuffer& made);
void take(const MemoryHandle&) noexcept;
/// Fills in a new handle to exportable memory. Throws DeviceError.
void export_handle(Device&, VkDeviceMemory, MemoryHandle&);

/// Commands that hand a buffer over to whoever else has its memory, and take it back. Recorded
/// once, submitted any number of times.
class Handover {
 public:
  /// Throws DeviceError.
  Handover(Device&, VkBuffer);
  /// Unchecked: the device is done with them.
  ~Handover() { forget(); }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  VkCommandBuffer release() const { return release_; }
  VkCommandBuffer acquire() const { return acquire_; }
  /// For a device that goes.
  void forget() noexcept;

 private:
  VkCommandBuffer record(VkBuffer, bool release);

  Device& device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer release_ = VK_NULL_HANDLE, acquire_ = VK_NULL_HANDLE;
};

}  // namespace gnomon::vulkan
