// engine/vulkan/recorder.cpp -- descriptor sets, dispatches and barriers.
#include "engine/vulkan/recorder.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "engine/vulkan/result.h"

namespace gnomon::vulkan {
namespace {

void barrier(const DeviceTable& vk, VkCommandBuffer commands, VkPipelineStageFlags from_stage,
             VkAccessFlags from, VkPipelineStageFlags to_stage, VkAccessFlags to) {
  const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, from, to};
  vk.vkCmdPipelineBarrier(commands, from_stage, to_stage, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

/// What a barrier orders behind what.
struct Order {
  VkPipelineStageFlags before, after;
  VkAccessFlags from, to;
};
constexpr VkPipelineStageFlags all_stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
                                            VK_PIPELINE_STAGE_TRANSFER_BIT |
                                            VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
constexpr Order everything{
    all_stages, all_stages, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
        VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_INDIRECT_COMMAND_READ_BIT};
constexpr Order computed{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_ACCESS_SHADER_WRITE_BIT,
                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
/// Numbers of groups are read by a stage of their own: before they are written again, it has to
/// have read them, and what was written has to get there. Only the latter costs something: a GPU's
/// front end, which runs ahead otherwise, waits.
constexpr Order counts_read{computed.before | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, computed.after,
                            computed.from, computed.to};
constexpr Order counts_written{counts_read.before, counts_read.before, computed.from,
                               computed.to | VK_ACCESS_INDIRECT_COMMAND_READ_BIT};

void begin(const DeviceTable& vk, VkCommandBuffer commands, VkCommandBufferUsageFlags usage,
           bool with_barrier) {
  const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, usage,
                                      nullptr};
  check(vk.vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
  if (with_barrier) after_everything(vk, commands);
}

}  // namespace

// Ranges change hands between submissions without a wait, so each begins after everything before
// it.
void after_everything(const DeviceTable& vk, VkCommandBuffer commands) {
  barrier(vk, commands, everything.before, everything.from, everything.after, everything.to);
}

void end_for_host(const DeviceTable& vk, VkCommandBuffer commands) {
  barrier(vk, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
          VK_ACCESS_HOST_READ_BIT);
  check(vk.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

VkCommandPool create_command_pool(Device& device, VkCommandPoolCreateFlags flags) {
  auto info = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  info.flags = flags;
  info.queueFamilyIndex = device.queue_family();
  VkCommandPool pool = VK_NULL_HANDLE;
  check(device.vk().vkCreateCommandPool(device.handle(), &info, nullptr, &pool),
        "vkCreateCommandPool");
  ++device.counters().objects;
  return pool;
}

VkCommandBuffer allocate_commands(Device& device, VkCommandPool pool) {
  auto info = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(device.vk().vkAllocateCommandBuffers(device.handle(), &info, &commands),
        "vkAllocateCommandBuffers");
  ++device.counters().objects;
  return commands;
}

Recording::Recording(Device& device, std::vector<Windows> windows, Stretches stretches,
                     const Range& parameters, std::uint32_t parameter_bytes,
                     std::uint32_t parameter_range, bool drop_barriers)
    : device_(device),
      windows_(std::move(windows)),
      stretches_(std::move(stretches)),
      parameter_range_(parameter_range),
      parameter_start_(static_cast<std::uint32_t>(parameters.offset)),
      parameter_bytes_(parameter_bytes),
      drop_barriers_(drop_barriers) {
  try {
    sets_for(*parameters.block);
    commands_.reserve(max_instances);
  } catch (...) {
    destroy();
    throw;
  }
}

Recording::~Recording() { destroy(); }

void Recording::destroy() noexcept {
  device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
  for (const auto& s : sets_)
    device_.vk().vkDestroyDescriptorPool(device_.handle(), s->pool, nullptr);
}

const Recording::Sets& Recording::sets_for(const Block& parameters) {
  for (const auto& known : sets_)
    if (known->block == parameters.id) return *known;
  const DeviceTable& vk = device_.vk();
  auto fresh = std::make_unique<Sets>();
  fresh->block = parameters.id;
  sets_.reserve(sets_.size() + 1);
  if (windows_.empty()) return *sets_.emplace_back(std::move(fresh));
  const auto count = static_cast<std::uint32_t>(windows_.size());
  const VkDescriptorPoolSize sizes[] = {
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, count},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * spirv::max_windows},
      {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, count * spirv::max_windows},
  };
  auto pool = make<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  pool.maxSets = count;
  pool.poolSizeCount = device_.target().texel_reads ? 3 : 2;
  pool.pPoolSizes = sizes;
  check(vk.vkCreateDescriptorPool(device_.handle(), &pool, nullptr, &fresh->pool),
        "vkCreateDescriptorPool");

  const std::vector<VkDescriptorSetLayout> layouts(count, device_.set_layout());
  fresh->sets.resize(count);
  auto allocate = make<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  allocate.descriptorPool = fresh->pool;
  allocate.descriptorSetCount = count;
  allocate.pSetLayouts = layouts.data();
  const VkResult result =
      vk.vkAllocateDescriptorSets(device_.handle(), &allocate, fresh->sets.data());
  if (result != VK_SUCCESS) {
    vk.vkDestroyDescriptorPool(device_.handle(), fresh->pool, nullptr);
    fail(result, "vkAllocateDescriptorSets");
  }
  device_.counters().objects += 1 + count;
  fill(*fresh, parameters.buffer);
  return *sets_.emplace_back(std::move(fresh));
}

void Recording::fill(const Sets& to, VkBuffer parameters) const {
  const bool texels = device_.target().texel_reads;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const VkDescriptorBufferInfo block{parameters, 0, parameter_range_};
    std::array<VkDescriptorBufferInfo, spirv::max_windows> storage;
    std::array<VkBufferView, spirv::max_windows> views;
    std::uint32_t used = 0;
    for (; used < spirv::max_windows && windows_[i][used] != nullptr; ++used) {
      // A block that is larger than a window is there for its texels only, or has several windows
      // in a row, for one part after the other. A smaller one has several where modules came with
      // more windows than these arrays need.
      const vulkan::Block& block_of_window = *windows_[i][used];
      const std::uint64_t most = device_.max_window_bytes();
      const bool next = used > 0 && windows_[i][used - 1] == windows_[i][used] &&
                        storage[used - 1].offset + most < block_of_window.bytes;
      const std::uint64_t offset = next ? storage[used - 1].offset + most : 0;
      storage[used] = {block_of_window.buffer, offset,
                       std::min(block_of_window.bytes - offset, most)};
      views[used] = windows_[i][used]->texels;
    }
    std::array<VkWriteDescriptorSet, 3> writes;
    writes.fill(make<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET));
    for (auto& write : writes) write.dstSet = to.sets[i];
    writes[0].dstBinding = spirv::parameter_binding;
    writes[0].descriptorCount = 1;
    writes[0].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
    writes[0].pBufferInfo = &block;
    // Consecutive bindings of one type are one write.
    writes[1].dstBinding = spirv::first_window_binding;
    writes[1].descriptorCount = used;
    writes[1].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[1].pBufferInfo = storage.data();
    writes[2].dstBinding = spirv::first_texel_binding;
    writes[2].descriptorCount = used;
    writes[2].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
    writes[2].pTexelBufferView = views.data();
    const std::uint32_t written = used == 0 ? 1 : texels ? 3 : 2;
    device_.vk().vkUpdateDescriptorSets(device_.handle(), written, writes.data(), 0, nullptr);
  }
}

Recording::Parameters Recording::parameters_in(const Range& range) {
  return {sets_for(*range.block).sets.data(), static_cast<std::uint32_t>(range.offset)};
}

// What a frame runs is in one piece, all but what is rare: the next one finds little of it in the
// caches.
[[gnu::hot]] void BoundStretch::write(VkCommandBuffer commands, bool after_all) const {
  for (const Command& c : commands_) {
    if (barriers_ && (after_all || c.barrier_before)) {
      const Order& order = after_all              ? everything
                           : c.barrier_for_counts ? counts_written
                           : indirect_            ? counts_read
                                                  : computed;
      const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, order.from, order.to};
      barrier_(commands, order.before, order.after, 0, 1, &memory, 0, nullptr, 0, nullptr);
      after_all = false;
    }
    if (c.pipeline != VK_NULL_HANDLE)
      bind_pipeline_(commands, VK_PIPELINE_BIND_POINT_COMPUTE, c.pipeline);
    if (!c.plain) {
      write_all(commands, c);
      continue;
    }
    bind_sets_(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &c.set, 1, &c.parameters);
    dispatch_(commands, c.groups_x, c.groups_y, 1);
  }
}

void BoundStretch::write_all(VkCommandBuffer commands, const Command& c) const {
  const DeviceTable& vk = *vk_;
  if (c.label != nullptr) {
    auto label = make<VkDebugUtilsLabelEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT);
    label.pLabelName = c.label;
    vk.vkCmdBeginDebugUtilsLabelEXT(commands, &label);
  }
  vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &c.set, 1,
                             &c.parameters);
  if (c.joined) {
    std::array<std::uint32_t, spirv::identity_words> identity;
    std::iota(identity.begin(), identity.end(), 0u);
    vk.vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof identity,
                          identity.data());
  }
  if (c.counts != VK_NULL_HANDLE)
    vk.vkCmdDispatchIndirect(commands, c.counts, c.counts_offset);
  else
    vk.vkCmdDispatch(commands, c.groups_x, c.groups_y, 1);
  if (c.label != nullptr) vk.vkCmdEndDebugUtilsLabelEXT(commands);
}

BoundStretch::Command Recording::bind(const Parameters& parameters, const Dispatch& d) const {
  BoundStretch::Command c;
  c.pipeline = d.pipeline;
  c.set = parameters.sets[d.windows];
  c.parameters = parameters.start + d.parameter_offset;
  c.groups_x = d.groups_x;
  c.groups_y = d.groups_y;
  c.barrier_before = d.barrier_before;
  c.joined = d.joined;
  if (!stretches_.labels.empty()) c.label = stretches_.labels[d.step].c_str();
  if (d.counts != nullptr) c.counts = d.counts->buffer;
  c.counts_offset = d.counts_offset;
  c.plain = c.label == nullptr && !c.joined && c.counts == VK_NULL_HANDLE;
  return c;
}

BoundStretch Recording::bind(const Parameters& parameters, std::uint32_t stretch) const {
  BoundStretch bound(device_, !drop_barriers_);
  VkPipeline last = VK_NULL_HANDLE;
  bool written = false;  // counts, and no barrier since
  bound.commands_.reserve(dispatches(stretch).size());
  for (const Dispatch& d : dispatches(stretch)) {
    BoundStretch::Command& command = bound.commands_.emplace_back(bind(parameters, d));
    if (d.barrier_before) command.barrier_for_counts = std::exchange(written, false);
    written |= d.writes_counts;
    if (d.pipeline == std::exchange(last, d.pipeline)) command.pipeline = VK_NULL_HANDLE;
    bound.indirect_ |= d.counts != nullptr;
  }
  return bound;
}

void Recording::append(VkCommandBuffer commands, const Parameters& parameters,
                       const Dispatch& dispatch) const {
  BoundStretch one(device_, false);
  one.commands_ = {bind(parameters, dispatch)};
  one.write(commands, false);
}

void Recording::append(VkCommandBuffer commands, const Block& block, std::uint64_t offset,
                       std::uint32_t value) const {
  after_everything(device_.vk(), commands);
  device_.vk().vkCmdUpdateBuffer(commands, block.buffer, offset, sizeof value, &value);
}

void Recording::add_instance() {
  if (pool_ == VK_NULL_HANDLE) pool_ = create_command_pool(device_, 0);
  const std::uint32_t start = parameter_start_ + parameter_bytes_ * instances();
  std::vector<VkCommandBuffer> recorded;
  for (std::uint32_t s = 0; s < stretches_.stretches.size(); ++s)
    recorded.push_back(record(s, start));
  while (transfers_.size() < stretches_.transfers.size()) {
    const DeviceTable& vk = device_.vk();
    const VkCommandBuffer commands = allocate_commands(device_, pool_);
    begin(vk, commands, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, true);
    const BufferCopy& copy = stretches_.transfers[transfers_.size()];
    const VkBufferCopy region{copy.from_offset, copy.to_offset, copy.bytes};
    vk.vkCmdCopyBuffer(commands, copy.from, copy.to, 1, &region);
    end_for_host(vk, commands);
    transfers_.push_back(commands);
  }
  commands_.push_back(std::move(recorded));
}

VkCommandBuffer Recording::record(std::uint32_t stretch, std::uint32_t start) {
  const DeviceTable& vk = device_.vk();
  const VkCommandBuffer commands = allocate_commands(device_, pool_);
  begin(vk, commands, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, !drop_barriers_);
  bind({sets_.front()->sets.data(), start}, stretch).write(commands, false);
  end_for_host(vk, commands);
  return commands;
}

CopyRecorder::~CopyRecorder() { forget(); }

void CopyRecorder::forget() noexcept {
  if (pool_ != VK_NULL_HANDLE) device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
  pool_ = VK_NULL_HANDLE;
  commands_ = VK_NULL_HANDLE;
}

VkCommandBuffer CopyRecorder::record(const BufferCopy& copy) {
  const DeviceTable& vk = device_.vk();
  if (pool_ == VK_NULL_HANDLE) {
    pool_ = create_command_pool(device_, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  }
  if (commands_ == VK_NULL_HANDLE) commands_ = allocate_commands(device_, pool_);
  begin(vk, commands_, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, true);
  const VkBufferCopy region{copy.from_offset, copy.to_offset, copy.bytes};
  vk.vkCmdCopyBuffer(commands_, copy.from, copy.to, 1, &region);
  end_for_host(vk, commands_);
  return commands_;
}

}  // namespace gnomon::vulkan
