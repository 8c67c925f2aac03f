// engine/vulkan/recorder.h -- command buffers that are recorded once and submitted many times.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/vulkan/buffer_pool.h"
#include "engine/vulkan/device.h"
#include "engine/vulkan/functions.h"

namespace gnomon::vulkan {

/// The blocks that one dispatch sees as its windows; null past the last one.
using Windows = std::array<const Block*, spirv::max_windows>;

/// One vkCmdDispatch, or vkCmdDispatchIndirect.
struct Dispatch {
  VkPipeline pipeline = VK_NULL_HANDLE;
  std::uint32_t windows = 0;  // index into the recording's window tuples
  std::uint32_t parameter_offset =
      0;  // bytes from the start of an instance's parameters; aligned for uniform buffers
  std::uint32_t groups_x = 1, groups_y = 1;
  const Block* counts = nullptr;  // where the number of groups lies, if the device decides it
  std::uint64_t counts_offset = 0;
  bool barrier_before = false;
};

/// One transfer of bytes between two buffers.
struct BufferCopy {
  VkBuffer from = VK_NULL_HANDLE, to = VK_NULL_HANDLE;
  std::uint64_t from_offset = 0, to_offset = 0, bytes = 0;
};

/// What is recorded once and may be submitted again and again.
struct Stretches {
  std::vector<std::vector<Dispatch>> stretches;
  std::vector<BufferCopy> transfers;  // of what the host and the device tell each other
};

/// Dispatches with their descriptor sets. Several *instances*, each with command buffers and
/// parameter memory of its own, can be in flight at once; instances share everything
/// else. Not thread safe.
class Recording {
 public:
  static constexpr std::uint32_t max_instances = 4;

  /// `parameters` has room for `max_instances` times `parameter_bytes`; `parameter_range` is what a
  /// dispatch sees. The recording neither owns nor releases it.
  Recording(Device& device, std::vector<Windows> windows, Stretches stretches,
            const Range& parameters, std::uint32_t parameter_bytes, std::uint32_t parameter_range,
            bool drop_barriers)
      : Recording(device, std::move(windows), std::make_shared<Stretches>(std::move(stretches)),
                  parameters, parameter_bytes, parameter_range, drop_barriers) {}
  Recording(Device&, std::vector<Windows>, std::shared_ptr<const Stretches>,
            const Range& parameters, std::uint32_t parameter_bytes, std::uint32_t parameter_range,
            bool drop_barriers);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Records the next instance. Throws DeviceError.
  void add_instance();
  std::uint32_t instances() const { return static_cast<std::uint32_t>(commands_.size()); }
  VkCommandBuffer commands(std::uint32_t instance, std::uint32_t stretch) const {
    return commands_[instance][stretch];
  }
  VkCommandBuffer transfer(std::uint32_t which) const { return transfers_[which]; }

  /// The same dispatches with parameter memory of their own, for somebody else's command buffers:
  /// room for one instance, which is not recorded.
  std::unique_ptr<Recording> apart(const Range& parameters) const;
  std::size_t dispatches(std::uint32_t stretch) const {
    return stretches_->stretches[stretch].size();
  }
  /// Appends a stretch of the first instance to a command buffer that is being recorded, ordered
  /// after everything in front of it that computes or copies.
  void append(VkCommandBuffer, std::uint32_t stretch) const;
  /// Appends a word that is written, ordered like a stretch.
  void append(VkCommandBuffer, const Block&, std::uint64_t offset, std::uint32_t value) const;

 private:
  VkCommandBuffer record(const std::vector<Dispatch>&, std::uint32_t start);
  void write(VkCommandBuffer, const std::vector<Dispatch>&, std::uint32_t start) const;
  void create_sets(const Range& parameters, std::uint32_t parameter_range);
  void destroy() noexcept;

  Device& device_;
  std::vector<Windows> windows_;
  std::shared_ptr<const Stretches> stretches_;
  std::uint32_t parameter_range_ = 0;
  std::uint32_t parameter_start_ = 0;
  std::uint32_t parameter_bytes_ = 0;
  bool drop_barriers_ = false;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets_;
  std::vector<std::vector<VkCommandBuffer>> commands_;  // per instance, per stretch
  std::vector<VkCommandBuffer> transfers_;
};

/// Command buffers for transfers between host-visible and device memory, one in flight at a time.
/// Not thread safe.
class CopyRecorder {
 public:
  explicit CopyRecorder(Device& device) : device_(device) {}
  ~CopyRecorder();
  CopyRecorder(const CopyRecorder&) = delete;
  CopyRecorder& operator=(const CopyRecorder&) = delete;

  /// A command buffer that makes one copy, ordered after everything submitted before and visible to
  /// the host after. Valid until the next call, which must not come before the submission has
  /// finished.
  VkCommandBuffer record(const BufferCopy&);
  /// Lets go of what it has of the device; the next call makes it again.
  void forget() noexcept;

 private:
  Device& device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

}  // namespace gnomon::vulkan
