// engine/vulkan/queue.cpp -- fences behind tickets. A fence covers all earlier submissions, so one
// wait retires many.
#include "engine/vulkan/queue.h"

#include <algorithm>

#include "engine/vulkan/result.h"

namespace gnomon::vulkan {

Queue::~Queue() { forget(); }

void Queue::forget() {
  const DeviceTable& vk = device_.vk();
  const std::lock_guard lock(mutex_);
  // Not for the queue to be idle: its owner may have more under way. A lost device has nothing left
  // to wait for, and says so.
  if (!pending_.empty())
    vk.vkWaitForFences(device_.handle(), 1, &pending_.back().fence, VK_TRUE, ~std::uint64_t{0});
  for (const Pending& p : pending_) vk.vkDestroyFence(device_.handle(), p.fence, nullptr);
  for (const VkFence fence : free_) vk.vkDestroyFence(device_.handle(), fence, nullptr);
  pending_.clear();
  free_.clear();
  finished_.store(submitted_.load(std::memory_order_relaxed), std::memory_order_release);
}

Ticket Queue::submit(std::span<const VkCommandBuffer> commands) {
  auto info = make<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = static_cast<std::uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  return submit(info);
}

Ticket Queue::synchronize(std::span<const Semaphore> waits, std::span<const Semaphore> signals) {
  // A wait holds for everything that is submitted behind it, a signal for everything in front.
  std::vector<VkSemaphore> wait_handles, signal_handles;
  std::vector<std::uint64_t> wait_values, signal_values;
  bool timeline = false;
  for (const Semaphore& s : waits) {
    wait_handles.push_back(s.handle);
    wait_values.push_back(s.value);
    timeline |= s.value != 0;
  }
  for (const Semaphore& s : signals) {
    signal_handles.push_back(s.handle);
    signal_values.push_back(s.value);
    timeline |= s.value != 0;
  }
  const std::vector<VkPipelineStageFlags> stages(waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  auto values =
      make<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  values.waitSemaphoreValueCount = static_cast<std::uint32_t>(waits.size());
  values.pWaitSemaphoreValues = wait_values.data();
  values.signalSemaphoreValueCount = static_cast<std::uint32_t>(signals.size());
  values.pSignalSemaphoreValues = signal_values.data();
  auto info = make<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  if (timeline) info.pNext = &values;
  info.waitSemaphoreCount = values.waitSemaphoreValueCount;
  info.pWaitSemaphores = wait_handles.data();
  info.pWaitDstStageMask = stages.data();
  info.signalSemaphoreCount = values.signalSemaphoreValueCount;
  info.pSignalSemaphores = signal_handles.data();
  return submit(info);
}

Ticket Queue::submit(const VkSubmitInfo& info) {
  const DeviceTable& vk = device_.vk();
  const std::lock_guard lock(mutex_);
  device_.require();
  retire();
  if (free_.empty()) {
    VkFence fence = VK_NULL_HANDLE;
    const VkFenceCreateInfo fresh{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
    device_.check(vk.vkCreateFence(device_.handle(), &fresh, nullptr, &fence), "vkCreateFence");
    ++device_.counters().objects;
    free_.push_back(fence);
  }
  pending_.reserve(pending_.size() + 1);
  {
    const Device::QueueLock shared(device_);
    device_.check(vk.vkQueueSubmit(device_.queue(), 1, &info, free_.back()), "vkQueueSubmit");
  }
  const Ticket ticket = submitted_.load(std::memory_order_relaxed) + 1;
  pending_.push_back({ticket, free_.back(), 0});
  free_.pop_back();
  submitted_.store(ticket, std::memory_order_release);
  ++device_.counters().submissions;
  return ticket;
}

Ticket Queue::upcoming() {
  // Who is submitting may have been in front of what the caller means.
  const std::lock_guard lock(mutex_);
  return submitted_.load(std::memory_order_relaxed) + 1;
}

void Queue::wait(Ticket ticket) {
  if (ticket <= finished_.load(std::memory_order_acquire)) return;
  const DeviceTable& vk = device_.vk();
  device_.require();
  if (!submitted(ticket)) mark();
  VkFence fence = VK_NULL_HANDLE;
  {
    const std::lock_guard lock(mutex_);
    const auto p = std::find_if(pending_.begin(), pending_.end(),
                                [&](const Pending& x) { return x.ticket == ticket; });
    if (p == pending_.end()) return;
    ++p->waiters;
    fence = p->fence;
  }
  const VkResult result =
      vk.vkWaitForFences(device_.handle(), 1, &fence, VK_TRUE, ~std::uint64_t{0});
  const std::lock_guard lock(mutex_);
  const auto p = std::find_if(pending_.begin(), pending_.end(),
                              [&](const Pending& x) { return x.ticket == ticket; });
  --p->waiters;
  device_.check(result, "vkWaitForFences");
  if (finished_.load(std::memory_order_relaxed) < ticket)
    finished_.store(ticket, std::memory_order_release);
}

bool Queue::done(Ticket ticket) {
  if (ticket <= finished_.load(std::memory_order_acquire)) return true;
  device_.require();
  if (!submitted(ticket)) mark();
  const std::lock_guard lock(mutex_);
  const auto p = std::find_if(pending_.begin(), pending_.end(),
                              [&](const Pending& x) { return x.ticket == ticket; });
  if (p == pending_.end()) return true;
  const VkResult result = device_.vk().vkGetFenceStatus(device_.handle(), p->fence);
  device_.check(result, "vkGetFenceStatus");
  if (result != VK_SUCCESS) return false;
  finished_.store(std::max(finished_.load(std::memory_order_relaxed), ticket),
                  std::memory_order_release);
  return true;
}

void Queue::retire() {
  const Ticket finished = finished_.load(std::memory_order_relaxed);
  std::size_t count = 0;
  while (count < pending_.size() && pending_[count].ticket <= finished &&
         pending_[count].waiters == 0)
    ++count;
  // Long asynchronous stretches never wait; ask the driver before the list grows further.
  while (count < pending_.size() && pending_.size() - count >= 16 && pending_[count].waiters == 0) {
    if (device_.vk().vkGetFenceStatus(device_.handle(), pending_[count].fence) != VK_SUCCESS) break;
    finished_.store(std::max(finished_.load(std::memory_order_relaxed), pending_[count].ticket),
                    std::memory_order_release);
    ++count;
  }
  for (; count > 0; --count) {
    // A fence that is not known to be signalled cannot be here, so resetting is legal.
    device_.check(device_.vk().vkResetFences(device_.handle(), 1, &pending_[0].fence),
                  "vkResetFences");
    free_.push_back(pending_[0].fence);
    pending_.erase(pending_.begin());
  }
}

}  // namespace gnomon::vulkan
