// engine/include/gnomon/memory_handle.h -- what memory is known by outside of its process, for
// gnomon/external_memory.h.
#pragma once
#include <array>
#include <cstdint>

#pragma GCC visibility push(default)
namespace gnomon {

enum class HandleKind : std::uint8_t { opaque_fd, opaque_win32 };
#ifdef _WIN32
inline constexpr HandleKind native_handles = HandleKind::opaque_win32;
#else
inline constexpr HandleKind native_handles = HandleKind::opaque_fd;
#endif

/// Memory as others know it. Between processes the handle is passed by what the system has for that
/// (SCM_RIGHTS, DuplicateHandle), and the rest as it is.
struct MemoryHandle {
  static constexpr std::uint32_t any_type = ~0u;

  HandleKind kind = native_handles;
  int fd = -1;            // of opaque_fd
  void* win32 = nullptr;  // HANDLE, of opaque_win32
  /// VkMemoryAllocateInfo::allocationSize and memoryTypeIndex of who has allocated it. `any_type`:
  /// what the importing device takes for such a buffer, which is the same where both are Gnomon's.
  std::uint64_t bytes = 0;
  std::uint32_t memory_type = any_type;
  /// Whether it was allocated for one buffer alone (VkMemoryDedicatedAllocateInfo).
  bool dedicated = false;
  /// deviceUUID and driverUUID of whom it comes from (VkPhysicalDeviceIDProperties), which have to
  /// be the importing device's. Zeros: unchecked.
  std::array<std::uint8_t, 32> device{};
};

}  // namespace gnomon
#pragma GCC visibility pop
