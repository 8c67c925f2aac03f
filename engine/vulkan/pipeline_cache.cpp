// engine/vulkan/pipeline_cache.cpp -- SPIR-V words to pipelines.
#include "engine/vulkan/pipeline_cache.h"

#include <algorithm>
#include <chrono>

#include "engine/vulkan/result.h"

namespace gnomon::vulkan {
namespace {

// FNV-1a over words; a collision costs a comparison, nothing else.
std::uint64_t hash_words(std::span<const std::uint32_t> words) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 0x100000001b3u;
  return hash;
}

}  // namespace

PipelineCache::PipelineCache(Device& device) : device_(device) {
  const VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, nullptr, 0, 0,
                                       nullptr};
  check(device_.vk().vkCreatePipelineCache(device_.handle(), &info, nullptr, &cache_),
        "vkCreatePipelineCache");
  ++device_.counters().objects;
}

PipelineCache::~PipelineCache() {
  for (const auto& [hash, entry] : entries_) {
    device_.vk().vkDestroyPipeline(device_.handle(), entry.pipeline, nullptr);
  }
  device_.vk().vkDestroyPipelineCache(device_.handle(), cache_, nullptr);
}

VkPipeline PipelineCache::pipeline(std::span<const std::uint32_t> words, const std::string& name) {
  const VolkDeviceTable& vk = device_.vk();
  const std::uint64_t hash = hash_words(words);
  const std::lock_guard lock(mutex_);
  const auto [first, last] = entries_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (std::equal(words.begin(), words.end(), it->second.words.begin(), it->second.words.end())) {
      return it->second.pipeline;
    }
  }
  const auto entry = entries_.emplace(hash, Entry{{words.begin(), words.end()}, VK_NULL_HANDLE});
  const auto start = std::chrono::steady_clock::now();
  auto module_info = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  module_info.codeSize = words.size_bytes();
  module_info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult result = vk.vkCreateShaderModule(device_.handle(), &module_info, nullptr, &module);
  if (result == VK_SUCCESS) {
    auto info = make<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = device_.pipeline_layout();
    result = vk.vkCreateComputePipelines(device_.handle(), cache_, 1, &info, nullptr,
                                         &entry->second.pipeline);
    vk.vkDestroyShaderModule(device_.handle(), module, nullptr);
  }
  if (result != VK_SUCCESS) {
    entries_.erase(entry);
    fail(result, ("vkCreateComputePipelines of kernel `" + name + "`").c_str());
  }
  const auto spent = std::chrono::steady_clock::now() - start;
  device_.counters().objects += 2;
  ++device_.counters().pipelines;
  device_.counters().pipeline_nanoseconds += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
  return entry->second.pipeline;
}

}  // namespace gnomon::vulkan
