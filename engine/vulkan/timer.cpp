// engine/vulkan/timer.cpp -- a timestamp in front of every dispatch and one behind it.
#include "engine/vulkan/timer.h"

#include <cstring>

#include "engine/vulkan/result.h"

namespace gnomon::vulkan {

Timer::Timer(Device& device, Queue& queue, const Range& counts)
    : device_(device), queue_(queue), counts_(counts) {
  const DeviceTable& vk = device.vk();
  try {
    if (device_clock()) {
      auto info = make<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
      info.queryType = VK_QUERY_TYPE_TIMESTAMP;
      info.queryCount = 2 * most;
      check(vk.vkCreateQueryPool(device.handle(), &info, nullptr, &queries_), "vkCreateQueryPool");
      ++device.counters().objects;
    }
    pool_ = create_command_pool(device, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
    commands_ = allocate_commands(device, pool_);
  } catch (...) {
    destroy();
    throw;
  }
}

Timer::~Timer() { destroy(); }

void Timer::destroy() noexcept {
  device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
  device_.vk().vkDestroyQueryPool(device_.handle(), queries_, nullptr);
}

void Timer::begin() {
  const DeviceTable& vk = device_.vk();
  const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr,
                                      VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, nullptr};
  check(vk.vkBeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer");
  if (device_clock()) vk.vkCmdResetQueryPool(commands_, queries_, 0, 2 * most);
}

// Written when everything in front of it has ended; the barrier that dispatches begin with keeps
// the next one from starting earlier.
void Timer::stamp(std::size_t which) {
  if (device_clock())
    device_.vk().vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_,
                                     static_cast<std::uint32_t>(which));
}

void Timer::add(const Recording& recording, const Recording::Parameters& parameters,
                const Dispatch& dispatch) {
  if (added_.empty()) begin();
  const std::size_t which = added_.size();
  if (dispatch.counts != nullptr) {
    const VkBufferCopy region{dispatch.counts_offset, counts_.offset + 12 * which, 12};
    after_everything(device_.vk(), commands_);
    device_.vk().vkCmdCopyBuffer(commands_, dispatch.counts->buffer, counts_.block->buffer, 1,
                                 &region);
  }
  after_everything(device_.vk(), commands_);
  stamp(2 * which);
  recording.append(commands_, parameters, dispatch);
  stamp(2 * which + 1);
  added_.push_back({dispatch.step, dispatch.counts != nullptr});
  if (!device_clock() || added_.size() == most) finish();
}

void Timer::finish() {
  if (added_.empty()) return;
  end_for_host(device_.vk(), commands_);
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  if (!begun_) begun_ = start;
  queue_.wait(queue_.submit(commands_));
  if (device_clock()) {
    read();
  } else if (ran(0)) {
    const auto us = [](Clock::duration d) {
      return std::chrono::duration<double, std::micro>(d).count();
    };
    timed_.push_back({added_[0].step, us(start - *begun_), us(Clock::now() - start)});
  }
  added_.clear();
}

bool Timer::ran(std::size_t which) const {
  if (!added_[which].decided) return true;
  std::uint32_t groups[3];
  std::memcpy(groups, counts_.mapped() + 12 * which, sizeof groups);
  return groups[0] > 0 && groups[1] > 0 && groups[2] > 0;
}

void Timer::read() {
  const std::size_t count = 2 * added_.size();
  ticks_.resize(count);
  check(device_.vk().vkGetQueryPoolResults(
            device_.handle(), queries_, 0, static_cast<std::uint32_t>(count),
            count * sizeof ticks_[0], ticks_.data(), sizeof ticks_[0],
            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "vkGetQueryPoolResults");
  if (!first_) first_ = ticks_[0];
  // They may wrap around.
  const std::uint32_t bits = device_.timestamp_bits();
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const auto us = [&](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>((to - from) & mask) * device_.timestamp_ns() / 1000;
  };
  for (std::size_t i = 0; i < added_.size(); ++i)
    if (ran(i))
      timed_.push_back(
          {added_[i].step, us(*first_, ticks_[2 * i]), us(ticks_[2 * i], ticks_[2 * i + 1])});
}

}  // namespace gnomon::vulkan
