// engine/vulkan/pipeline_cache.h -- one pipeline per distinct SPIR-V module.
#pragma once
#include <volk.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/vulkan/device.h"

namespace gnomon::vulkan {

/// All members may be called from any thread.
class PipelineCache {
 public:
  explicit PipelineCache(Device&);
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  /// The pipeline of a module, made when the same words were not seen before. Throws DeviceError.
  VkPipeline pipeline(std::span<const std::uint32_t> words, const std::string& name);

 private:
  struct Entry {
    std::vector<std::uint32_t> words;
    VkPipeline pipeline = VK_NULL_HANDLE;
  };

  Device& device_;
  std::mutex mutex_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::unordered_multimap<std::uint64_t, Entry> entries_;  // by hash of the words; the words decide
};

}  // namespace gnomon::vulkan
