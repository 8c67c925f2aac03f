// engine/vulkan/pipeline_cache.h -- one pipeline per distinct SPIR-V module.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/vulkan/device.h"
#include "engine/vulkan/functions.h"

namespace gnomon::vulkan {

/// What a driver keeps of a module: enough to make its pipeline again without compiling.
using DriverData = std::vector<std::byte>;

/// The pipeline of a module. It goes with the last one who holds it, and the Device must still be
/// there then.
class Pipeline {
 public:
  Pipeline(Device& device, std::vector<std::uint32_t> words)
      : device_(device), words_(std::move(words)) {}
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  VkPipeline handle() const { return pipeline_; }
  const std::vector<std::uint32_t>& words() const { return words_; }
  /// Of this driver, for another process; empty unless PipelineCache was told to collect it.
  const DriverData& driver_data() const { return data_; }

 private:
  friend class PipelineCache;
  void destroy() noexcept;

  Device& device_;
  std::vector<std::uint32_t> words_;
  mutable std::mutex mutex_;  // the first who comes makes it, the others wait
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  DriverData data_;
};

/// Equal modules share a pipeline while somebody holds it. All members may be called from any
/// thread, and pipelines of different modules are made side by side.
class PipelineCache {
 public:
  /// With `collect_data` every pipeline has its driver data.
  explicit PipelineCache(Device&, bool collect_data = false);
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  /// The pipeline of a module. `stored` is what this driver left of it for an earlier process, null
  /// when none of it is known. Throws DeviceError.
  std::shared_ptr<const Pipeline> pipeline(std::vector<std::uint32_t> words,
                                           const std::string& name,
                                           const DriverData* stored = nullptr);

  /// For a device that is to be made again, while nobody else uses pipelines: destroys them all.
  /// Those that somebody holds come back by `restore`.
  void forget() noexcept;
  void make_again();
  /// What `forget` has left of a pipeline, on the new device. Any thread. Throws DeviceError.
  void restore(const Pipeline&, const std::string& name);

 private:
  std::shared_ptr<Pipeline> slot(std::vector<std::uint32_t> words);
  void make_pipeline(Pipeline&, const std::string& name, const DriverData* stored, bool again);

  Device& device_;
  bool collect_data_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::weak_ptr<Pipeline>> slots_;  // the words decide
  std::size_t purge_at_ = 64;  // slots, when those that nobody holds are dropped
};

}  // namespace gnomon::vulkan
