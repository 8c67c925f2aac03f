// engine/include/gnomon/external_memory.h -- arrays in memory that other APIs or processes have as
// well: exported and imported by a file descriptor, or by a handle of Windows.
//
// Handles are opaque ones (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD and _OPAQUE_WIN32), which one
// driver of one device understands: in Vulkan, and in what the driver offers beside it, OpenGL
// (GL_EXT_memory_object) or CUDA (cudaImportExternalMemory) for instance. Neither this header nor
// who uses it needs Vulkan.
#pragma once
#include <cstdint>
#include <memory>

#include "gnomon/array.h"
#include "gnomon/memory_handle.h"
#include "gnomon/runtime.h"

#pragma GCC visibility push(default)
namespace gnomon {

namespace detail {
struct SharedBlock;
}

/// Memory of a device that others see, too. Copies are the same memory; it is given back when they
/// and its arrays are gone and the device is done, whatever others do with their share of it.
///
/// It belongs to one side at a time. `release` and `acquire` are one side's half of handing it
/// over; that the others are done, or have begun, is told by other means: Runtime::wait behind
/// `release`, or semaphores (gnomon::signal and wait_for, gnomon/vulkan.h). Unchecked: that nobody
/// here uses arrays in it between a `release` and the next `acquire`, and nobody else outside of
/// that.
///
/// It counts neither to Runtime::memory nor to RuntimeOptions::memory_limit, and does not come back
/// with a device that was lost: then it and its arrays throw DeviceLost, and it has to be made or
/// imported again. Members may be called from any thread.
class SharedMemory {
 public:
  /// None; assign another.
  SharedMemory() = default;
  /// New memory of at least `bytes`, which `handle` exports. It begins on this side, with any
  /// elements.
  ///
  /// Throws UsageError where the device does not export such handles (VK_KHR_external_memory_fd or
  /// _win32, which on an adopted device the application enables), and for more bytes than kernels
  /// reach at once; DeviceError when the device has no memory left.
  SharedMemory(Runtime&, std::uint64_t bytes, HandleKind = native_handles, Loc loc = Loc::here());
  /// Memory of somebody else's, which begins on their side: `acquire` comes first.
  ///
  /// A file descriptor is taken: once this has returned it belongs to Vulkan, and the caller must
  /// neither close nor use it. When this throws it is still the caller's. A handle of Windows stays
  /// the caller's, to be closed at any time.
  ///
  /// Throws UsageError where the device does not import such handles, for a handle that is not open
  /// or that the device does not take, one of another device, and where size, memory type or being
  /// dedicated are not what the device asks for such a buffer; DeviceError when the device fails.
  /// Unchecked, since no driver can tell: that the handle has the size and type that it is said to
  /// have.
  SharedMemory(Runtime&, const MemoryHandle&, Loc loc = Loc::here());

  /// What arrays have room in.
  std::uint64_t bytes() const;
  /// A handle to this, for others: a new file descriptor, or handle, which is the caller's to
  /// close or to hand over.
  ///
  /// Throws UsageError for what was imported, DeviceError when the device fails.
  MemoryHandle handle(Loc loc = Loc::here()) const;

  /// An array whose elements are what lies from `offset` on, row by row, without a copy. `offset`
  /// is a multiple of 256, and what the array takes reaches on to the next multiple of 256 behind
  /// its elements: kernels may write up to there. A kernel sees four such memories at most,
  /// Gnomon's own among them; inputs beyond are copied. Results come here by `put`, and without a
  /// copy by gnomon::record.
  ///
  /// Throws UsageError when it does not fit.
  Array array(std::uint64_t offset, const Aval&, Loc loc = Loc::here()) const;
  /// The same with the elements of `from`, of the same Runtime, copied there; waits for that.
  /// Arrays there before have these elements.
  ///
  /// Throws UsageError when it does not fit, for an array without elements, of another Runtime, or
  /// that lies there itself.
  Array put(std::uint64_t offset, const Array& from, Loc loc = Loc::here()) const;

  /// Hands it over to others, behind everything that was started. Waits for nothing.
  /// Throws DeviceError when the device fails.
  void release() const;
  /// Takes it over: what is started from now on sees what others have written. Waits for nothing.
  /// Throws DeviceError when the device fails.
  void acquire() const;

  explicit operator bool() const { return shared_ != nullptr; }

 private:
  detail::SharedBlock& shared(const char* member) const;
  std::shared_ptr<detail::SharedBlock> shared_;
};

}  // namespace gnomon
#pragma GCC visibility pop
