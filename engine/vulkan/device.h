// engine/vulkan/device.h -- one logical device with one compute queue; what every other part of
// this folder needs.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/program/target.h"
#include "engine/vulkan/functions.h"
#include "engine/vulkan/instance.h"

namespace gnomon::vulkan {

struct DeviceOptions {
  std::string wanted;              // index, part of a name, or empty
  bool validate = false;           // validation layer with synchronization checks
  std::shared_ptr<const Log> log;  // its messages; null: nowhere
  bool minimum_target =
      false;  // compile for Vulkan's guaranteed minimum, whatever the device offers
  bool force_staging = false;  // behave as if the host could not map device memory (tests)
  std::uint64_t memory_limit =
      0;  // bytes the pool may take from the device; 0: what the device gives
  std::uint64_t block_bytes = std::uint64_t{128} << 20;  // what the pool takes at once
  std::uint64_t window_bytes = 0;      // what a window shows at most; 0: what the device allows
  bool fixed_blocks = false;           // blocks do not grow with what is in use
  std::shared_ptr<const Log> notices;  // gets a line when the device is lost; null: nowhere
  bool labels = false;                 // tools see names
  // Somebody else's device instead of a new one.
  std::shared_ptr<const AdoptedDevice> adopted = nullptr;
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;  // null: the platform's loader
};

/// Only ever counts up. Read by tests and by Runtime::counters().
struct DeviceCounters {
  std::atomic<std::uint64_t> objects{
      0};  // Vulkan objects created: buffers, pipelines, sets, command buffers, ...
  std::atomic<std::uint64_t> allocations{0};  // vkAllocateMemory
  std::atomic<std::uint64_t> pipelines{0};
  std::atomic<std::uint64_t> new_pipelines{0};  // see Counters
  std::atomic<std::uint64_t> found_pipelines{0};
  std::atomic<std::uint64_t> submissions{0};
  std::atomic<std::uint64_t> pipeline_nanoseconds{0};  // spent in the driver's pipeline compiler
};

enum class MemoryKind : std::uint8_t {
  device,   // fastest for kernels; host-visible where the device shares its memory with the host
  upload,   // written by the host, read by kernels: parameter blocks
  staging,  // copied from and to by the host
};

class Device {
 public:
  /// Throws DeviceError: no usable device with the reasons, or the driver's own refusal.
  explicit Device(const DeviceOptions&);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceTable& vk() const { return vk_; }
  VkDevice handle() const { return device_; }
  VkPhysicalDevice physical() const { return physical_.handle; }
  VkQueue queue() const { return queue_; }
  /// Held while something is done with the queue, which the owner of an adopted one shares.
  class QueueLock {
   public:
    explicit QueueLock(const Device& device)
        : owner_(device.adopted() ? &device.options_.adopted->device : nullptr) {
      if (owner_ != nullptr && owner_->lock_queue) owner_->lock_queue();
    }
    ~QueueLock() {
      if (owner_ != nullptr && owner_->unlock_queue) owner_->unlock_queue();
    }
    QueueLock(const QueueLock&) = delete;
    QueueLock& operator=(const QueueLock&) = delete;

   private:
    const VulkanDevice* owner_;
  };
  bool adopted() const { return options_.adopted != nullptr; }

  /// As vulkan::check, and remembers when the device is lost: it says so once in the log, and from
  /// then on everything throws the same DeviceLost, which names the remedy. Any thread.
  void check(VkResult result, const char* call) {
    if (result < 0) failed(result, call);
  }
  [[noreturn]] void failed(VkResult, const char* call);
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// Throws when the device is lost.
  void require() const {
    if (lost()) refuse();
  }
  /// Destroys the device, of which nothing may be left, and makes it again from the same physical
  /// device with the same features. It stays lost until `revived`. Throws DeviceError; then there
  /// is no device, and this may be called again. Nobody else may use it meanwhile.
  void make_again();
  void revived() { lost_.store(false, std::memory_order_release); }
  /// Back to what it was before `revived`.
  void lose_again() { lost_.store(true, std::memory_order_release); }
  std::uint32_t queue_family() const { return physical_.queue_family; }
  const DeviceDescription& description() const { return physical_.description; }
  const Target& target() const { return target_; }
  /// What its kernels have to round themselves from now on.
  void refine(kernel::RefineOptions what) { target_.refine = what; }
  const DeviceOptions& options() const { return options_; }
  const Instance& instance() const { return instance_; }
  DeviceCounters& counters() const { return counters_; }

  /// Every kernel has the binding scheme of shaders/spirv/emit.h, so there is one layout.
  VkDescriptorSetLayout set_layout() const { return set_layout_; }
  VkPipelineLayout pipeline_layout() const { return pipeline_layout_; }

  /// Whether kernels' memory is host memory too, mapped for its whole life.
  bool unified() const { return unified_; }
  /// Largest buffer that one window can show.
  std::uint64_t max_window_bytes() const { return max_window_bytes_; }
  /// Largest buffer altogether; what no window shows is reached by address.
  std::uint64_t max_block_bytes() const { return max_block_bytes_; }
  /// Bits that timestamps of the queue have; 0: it has none. And nanoseconds from one to the next.
  std::uint32_t timestamp_bits() const { return timestamp_bits_; }
  double timestamp_ns() const { return timestamp_ns_; }
  /// Whether dispatches are to have labels for tools, and can.
  bool labels() const { return labels_; }
  /// The name of an object in tools; nothing where there are no labels.
  void name(VkObjectType, std::uint64_t object, const char* name) const;
  /// Where kernels find a buffer; needs `Features::addresses`.
  std::uint64_t address(VkBuffer) const;
  /// Index of the best memory type among `allowed`; ~0u when none fits.
  std::uint32_t memory_type(std::uint32_t allowed, MemoryKind) const;
  VkMemoryPropertyFlags memory_flags(std::uint32_t type) const {
    return memory_.memoryTypes[type].propertyFlags;
  }

 private:
  void choose();
  /// Whether both the instance and the device have Vulkan 1.`minor`.
  bool has_version(std::uint32_t minor) const;
  /// Beside what its version of Vulkan includes.
  std::vector<const char*> wanted_extensions() const;
  void create_device();
  void look_at_queue();
  void create_layouts();
  void destroy() noexcept;
  [[noreturn]] void refuse() const;

  DeviceOptions options_;
  Instance instance_;
  Instance::PhysicalDevice physical_;
  Target target_;
  VkPhysicalDeviceMemoryProperties memory_{};
  DeviceTable vk_{};
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout pipeline_layout_ = VK_NULL_HANDLE;
  bool unified_ = false, labels_ = false;
  std::uint32_t timestamp_bits_ = 0;
  double timestamp_ns_ = 1;
  std::uint64_t max_window_bytes_ = 0, max_block_bytes_ = 0;
  mutable DeviceCounters counters_;
  std::atomic<bool> lost_{false};
  mutable std::mutex lost_mutex_;  // of the text
  std::string lost_text_;
};

}  // namespace gnomon::vulkan
