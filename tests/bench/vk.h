// tests/bench/vk.h -- bare Vulkan for the opponents: one device, buffers, kernels, recorded runs.
//
// It does what a careful person does by hand and no more, so that an opponent's time is the
// driver's: command buffers are recorded once, a run is one submit and one fence wait.
#pragma once

#include <volk.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bench::vk {

struct DeviceInfo {
  std::string name;
  std::string driver;
  std::string api;
  uint32_t max_texels = 0;
  uint32_t max_groups = 0;
  bool int64 = false;  // kernels may use 64-bit integers
  bool cpu = false;
};

/// Instance, physical device and one compute queue. The device is the one that GNOMON_DEVICE names
/// (index or part of the name, any case), otherwise the first of the best kind: discrete,
/// integrated, virtual, CPU.
///
/// Throws std::runtime_error, with what there is, if no device fits.
class Device {
 public:
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceInfo& info() const { return info_; }
  VkDevice handle() const { return device_; }
  VkQueue queue() const { return queue_; }
  VkCommandPool pool() const { return pool_; }
  VkPhysicalDevice physical() const { return physical_; }
  VkInstance instance() const { return instance_; }
  uint32_t family() const { return family_; }

 private:
  void choose();

  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  DeviceInfo info_;
};

/// Device-local memory that the host sees, mapped for its whole life, with a texel view of
/// `texels` where the device's texel limit allows one.
class Buffer {
 public:
  Buffer(const Device& device, size_t floats, VkFormat texels = VK_FORMAT_R32G32B32A32_SFLOAT);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<float> host() const { return {mapped_, floats_}; }
  VkBuffer handle() const { return buffer_; }
  VkBufferView texels() const { return texels_; }
  VkBufferUsageFlags usage() const { return usage_; }

 private:
  const Device& device_;
  size_t floats_;
  VkBufferUsageFlags usage_ = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkBufferView texels_ = VK_NULL_HANDLE;
  float* mapped_ = nullptr;
};

/// How a kernel sees a buffer: as storage, as a read-only texel buffer, or as a block of constants.
enum class Access { Storage, Texels, Uniform };

struct KernelSpec {
  std::span<const uint32_t> spirv;
  std::vector<Access> bindings;
  uint32_t push_bytes = 0;
  /// The value of specialization constant 0, the group size of kernels that leave it open.
  uint32_t group_size = 64;
};

/// One compute pipeline with its layouts.
class Kernel {
 public:
  Kernel(const Device& device, const KernelSpec& spec);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  VkPipeline pipeline() const { return pipeline_; }
  VkPipelineLayout layout() const { return layout_; }
  VkDescriptorSetLayout set_layout() const { return set_layout_; }
  const std::vector<Access>& bindings() const { return bindings_; }

 private:
  const Device& device_;
  std::vector<Access> bindings_;
  VkShaderModule module_ = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

/// One dispatch of a recorded run.
struct Dispatch {
  const Kernel* kernel = nullptr;
  std::vector<const Buffer*> buffers;
  std::vector<uint32_t> push;
  uint32_t groups_x = 1;
  uint32_t groups_y = 1;
};

/// Groups of `size` for `items`, folded into two axes where one is too short. Kernels compute the
/// flat index and leave when it is past the end.
struct Groups {
  uint32_t x = 1;
  uint32_t y = 1;
};
Groups fold_groups(const Device& device, uint32_t items, uint32_t size);

/// Dispatches recorded once into a command buffer, a full compute barrier between neighbours and a
/// barrier to the host at the end.
class Recording {
 public:
  Recording(const Device& device, const std::vector<Dispatch>& dispatches);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Submits once and waits for the fence.
  void run();

 private:
  const Device& device_;
  VkDescriptorPool sets_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

/// The bits of floats, for push constants.
uint32_t bits(float value);

}  // namespace bench::vk
