// engine/vulkan/recorder.h -- command buffers that are recorded once and submitted many times.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
  bool writes_counts = false;  // numbers of groups of later dispatches
  bool joined = false;         // its module wants push constants; see shaders/spirv/emit.h
  std::uint32_t step = 0;      // what it is a part of: for profiles and labels
};

/// Throw DeviceError.
VkCommandPool create_command_pool(Device&, VkCommandPoolCreateFlags);
VkCommandBuffer allocate_commands(Device&, VkCommandPool);
/// A barrier: what computes or copies behind it sees what did so in front.
void after_everything(const DeviceTable&, VkCommandBuffer);
/// Ends a command buffer; the host sees what it wrote. Throws DeviceError.
void end_for_host(const DeviceTable&, VkCommandBuffer);

/// One transfer of bytes between two buffers.
struct BufferCopy {
  VkBuffer from = VK_NULL_HANDLE, to = VK_NULL_HANDLE;
  std::uint64_t from_offset = 0, to_offset = 0, bytes = 0;
};

/// What is recorded once and may be submitted again and again.
struct Stretches {
  std::vector<std::vector<Dispatch>> stretches;
  std::vector<BufferCopy> transfers;  // of what the host and the device tell each other
  /// By Dispatch::step, for tools; empty: dispatches have none.
  std::vector<std::string> labels = {};
};

/// A stretch whose parameters are known, as one list of all that its commands take. Frames write it
/// again and again, and by the next one caches have forgotten whatever else it could be put
/// together from: to read that took as long as half of the commands.
class BoundStretch {
 public:
  BoundStretch() = default;
  /// Appends it to a command buffer that is being recorded, ordered after everything in front of it
  /// that computes or copies.
  void append(VkCommandBuffer commands) const { write(commands, true); }
  explicit operator bool() const { return vk_ != nullptr; }

 private:
  friend class Recording;
  /// Of one dispatch.
  struct Command {
    VkPipeline pipeline = VK_NULL_HANDLE;  // null: it is bound
    VkDescriptorSet set = VK_NULL_HANDLE;
    std::uint32_t parameters = 0;  // where they begin in the block that the set shows
    std::uint32_t groups_x = 1, groups_y = 1;
    bool barrier_before = false, joined = false;
    bool barrier_for_counts = false;  // which were written since the last such barrier
    bool plain = true;                // nothing but its parameters and its groups
    const char* label = nullptr;
    VkBuffer counts = VK_NULL_HANDLE;  // null: the number of groups is known
    std::uint64_t counts_offset = 0;
  };
  BoundStretch(const Device& device, bool barriers)
      : barrier_(device.vk().vkCmdPipelineBarrier),
        bind_pipeline_(device.vk().vkCmdBindPipeline),
        bind_sets_(device.vk().vkCmdBindDescriptorSets),
        dispatch_(device.vk().vkCmdDispatch),
        layout_(device.pipeline_layout()),
        barriers_(barriers),
        vk_(&device.vk()) {}
  void write(VkCommandBuffer, bool after_all) const;
  void write_all(VkCommandBuffer, const Command&) const;

  PFN_vkCmdPipelineBarrier barrier_ = nullptr;
  PFN_vkCmdBindPipeline bind_pipeline_ = nullptr;
  PFN_vkCmdBindDescriptorSets bind_sets_ = nullptr;
  PFN_vkCmdDispatch dispatch_ = nullptr;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  bool barriers_ = false;
  bool indirect_ = false;  // some numbers of groups are the device's
  std::vector<Command> commands_;
  const DeviceTable* vk_ = nullptr;  // for what is rare
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

  /// Parameters of an instance as dispatches find them.
  struct Parameters {
    const VkDescriptorSet* sets = nullptr;  // one per tuple of windows
    std::uint32_t start = 0;                // where they begin in the block that the sets show
  };
  /// Of an instance that is written into somebody else's command buffers; `range` has room for one.
  /// Creates descriptor sets for the first range of a block. Throws DeviceError.
  Parameters parameters_in(const Range& range);
  /// Of an instance that is recorded here.
  Parameters parameters(std::uint32_t instance) const {
    return {sets_.front()->sets.data(), parameter_start_ + parameter_bytes_ * instance};
  }
  std::uint32_t stretches() const {
    return static_cast<std::uint32_t>(stretches_.stretches.size());
  }
  const std::vector<Dispatch>& dispatches(std::uint32_t stretch) const {
    return stretches_.stretches[stretch];
  }
  /// A stretch with the parameters of an instance. Valid as long as this.
  BoundStretch bind(const Parameters&, std::uint32_t stretch) const;
  /// Appends one dispatch to a command buffer that is being recorded, not ordered.
  void append(VkCommandBuffer, const Parameters&, const Dispatch&) const;
  /// Appends a word that is written, ordered like a stretch.
  void append(VkCommandBuffer, const Block&, std::uint64_t offset, std::uint32_t value) const;

 private:
  /// Descriptor sets that show the parameters in one block.
  struct Sets {
    std::uint32_t block = 0;  // its id
    VkDescriptorPool pool = VK_NULL_HANDLE;
    std::vector<VkDescriptorSet> sets;
  };
  VkCommandBuffer record(std::uint32_t stretch, std::uint32_t start);
  BoundStretch::Command bind(const Parameters&, const Dispatch&) const;
  const Sets& sets_for(const Block& parameters);
  void fill(const Sets&, VkBuffer parameters) const;
  void destroy() noexcept;

  Device& device_;
  std::vector<Windows> windows_;
  Stretches stretches_;
  std::uint32_t parameter_range_ = 0;
  std::uint32_t parameter_start_ = 0;
  std::uint32_t parameter_bytes_ = 0;
  bool drop_barriers_ = false;
  std::vector<std::unique_ptr<const Sets>> sets_;  // the first ones are those of the instances
  VkCommandPool pool_ = VK_NULL_HANDLE;
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
