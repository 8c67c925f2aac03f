// engine/vulkan/pipeline_cache.cpp -- SPIR-V words to pipelines.
#include "engine/vulkan/pipeline_cache.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "engine/vulkan/result.h"

namespace gnomon::vulkan {
namespace {

// FNV-1a over words; a collision costs a comparison, nothing else.
std::uint64_t hash_words(std::span<const std::uint32_t> words) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 0x100000001b3u;
  return hash;
}

VkPipelineCache create_cache(Device& device, const DriverData* stored) {
  auto info = make<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  if (stored != nullptr) {
    info.initialDataSize = stored->size();
    info.pInitialData = stored->data();
  }
  VkPipelineCache cache = VK_NULL_HANDLE;
  device.check(device.vk().vkCreatePipelineCache(device.handle(), &info, nullptr, &cache),
               "vkCreatePipelineCache");
  ++device.counters().objects;
  return cache;
}

// Empty when the driver has nothing, or no memory for it.
DriverData data_of(Device& device, VkPipelineCache cache) {
  const auto& vk = device.vk();
  std::size_t bytes = 0;
  if (vk.vkGetPipelineCacheData(device.handle(), cache, &bytes, nullptr) != VK_SUCCESS) return {};
  DriverData data(bytes);
  if (vk.vkGetPipelineCacheData(device.handle(), cache, &bytes, data.data()) != VK_SUCCESS)
    return {};
  data.resize(bytes);
  return data;
}

}  // namespace

Pipeline::~Pipeline() { destroy(); }

void Pipeline::destroy() noexcept {
  if (pipeline_ == VK_NULL_HANDLE) return;  // perhaps of a device that is no more
  device_.vk().vkDestroyPipeline(device_.handle(), pipeline_, nullptr);
  pipeline_ = VK_NULL_HANDLE;
}

PipelineCache::PipelineCache(Device& device, bool collect_data)
    : device_(device),
      collect_data_(collect_data),
      cache_(collect_data ? VK_NULL_HANDLE : create_cache(device, nullptr)) {}

PipelineCache::~PipelineCache() {
  if (cache_ != VK_NULL_HANDLE)
    device_.vk().vkDestroyPipelineCache(device_.handle(), cache_, nullptr);
}

void PipelineCache::forget() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [hash, slot] : slots_) {
    if (const auto held = slot.lock()) held->destroy();
  }
  if (cache_ != VK_NULL_HANDLE)
    device_.vk().vkDestroyPipelineCache(device_.handle(), cache_, nullptr);
  cache_ = VK_NULL_HANDLE;
}

void PipelineCache::make_again() {
  if (!collect_data_ && cache_ == VK_NULL_HANDLE) cache_ = create_cache(device_, nullptr);
}

void PipelineCache::restore(const Pipeline& pipeline, const std::string& name) {
  // Made by `slot`, as all are.
  auto& held = const_cast<Pipeline&>(pipeline);
  const std::lock_guard lock(held.mutex_);
  if (held.pipeline_ != VK_NULL_HANDLE) return;
  make_pipeline(held, name, held.data_.empty() ? nullptr : &held.data_, true);
}

std::shared_ptr<Pipeline> PipelineCache::slot(std::vector<std::uint32_t> words) {
  const std::uint64_t hash = hash_words(words);
  const std::lock_guard lock(mutex_);
  const auto [first, last] = slots_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (auto found = it->second.lock(); found && found->words() == words) return found;
  }
  if (slots_.size() >= purge_at_) {
    std::erase_if(slots_, [](const auto& item) { return item.second.expired(); });
    purge_at_ = std::max<std::size_t>(64, 2 * slots_.size());
  }
  auto fresh = std::make_shared<Pipeline>(device_, std::move(words));
  slots_.emplace(hash, fresh);
  return fresh;
}

std::shared_ptr<const Pipeline> PipelineCache::pipeline(std::vector<std::uint32_t> words,
                                                        const std::string& name,
                                                        const DriverData* stored) {
  std::shared_ptr<Pipeline> found = slot(std::move(words));
  const std::lock_guard lock(found->mutex_);
  if (found->pipeline_ == VK_NULL_HANDLE) make_pipeline(*found, name, stored, false);
  return found;
}

void PipelineCache::make_pipeline(Pipeline& made, const std::string& name, const DriverData* stored,
                                  bool again) {
  const DeviceTable& vk = device_.vk();
  const auto start = std::chrono::steady_clock::now();
  // One for each pipeline: its data is that of this pipeline and of nothing else. Drivers lock what
  // threads share, but not every driver locks for short.
  struct Cache {
    Device& device;
    VkPipelineCache own = VK_NULL_HANDLE;
    ~Cache() {
      if (own != VK_NULL_HANDLE) device.vk().vkDestroyPipelineCache(device.handle(), own, nullptr);
    }
  } cache{device_};
  // Data that is nothing but its header is of no use to the driver; SwiftShader would make it twice
  // as long each time.
  const bool usable = stored != nullptr && stored->size() > sizeof(VkPipelineCacheHeaderVersionOne);
  if (collect_data_) cache.own = create_cache(device_, usable ? stored : nullptr);

  auto module_info = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  module_info.codeSize = made.words_.size() * sizeof(std::uint32_t);
  module_info.pCode = made.words_.data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkPipelineCreationFeedback whole{}, stage{};
  VkResult result = vk.vkCreateShaderModule(device_.handle(), &module_info, nullptr, &module);
  if (result == VK_SUCCESS) {
    auto feedback = make<VkPipelineCreationFeedbackCreateInfo>(
        VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
    feedback.pPipelineCreationFeedback = &whole;
    feedback.pipelineStageCreationFeedbackCount = 1;
    feedback.pPipelineStageCreationFeedbacks = &stage;
    auto info = make<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    if (device_.description().creation_feedback) info.pNext = &feedback;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = device_.pipeline_layout();
    result = vk.vkCreateComputePipelines(device_.handle(), collect_data_ ? cache.own : cache_, 1,
                                         &info, nullptr, &made.pipeline_);
    vk.vkDestroyShaderModule(device_.handle(), module, nullptr);
  }
  if (result != VK_SUCCESS) {
    made.pipeline_ = VK_NULL_HANDLE;
    device_.failed(result, ("vkCreateComputePipelines of kernel `" + name + "`").c_str());
  }
  device_.name(VK_OBJECT_TYPE_PIPELINE, reinterpret_cast<std::uint64_t>(made.pipeline_),
               name.c_str());
  // A driver whose data is no more than a header keeps what it knows to itself, and its feedback,
  // which is about that data, cannot be about anything.
  const bool says = usable && whole.flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT;
  const bool found = whole.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
  const bool compiled = (stored == nullptr && !again) || (says && !found);
  // Others may be reading what there is already.
  if (collect_data_ && !again) made.data_ = compiled ? data_of(device_, cache.own) : *stored;
  // What did not help is not to grow from process to process.
  if (!again && compiled && usable && made.data_.size() > 2 * stored->size()) made.data_ = *stored;
  const auto spent = std::chrono::steady_clock::now() - start;
  DeviceCounters& counters = device_.counters();
  counters.objects += 2;
  ++counters.pipelines;
  if (compiled) ++counters.new_pipelines;
  if (says && found) ++counters.found_pipelines;
  counters.pipeline_nanoseconds += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
}

}  // namespace gnomon::vulkan
