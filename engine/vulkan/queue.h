// engine/vulkan/queue.h -- submissions in order, each with a ticket that can be waited for.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "engine/vulkan/device.h"
#include "engine/vulkan/functions.h"

namespace gnomon::vulkan {

/// Serial number of a submission; 0 stands for none and is always done. Submissions finish in
/// order.
using Ticket = std::uint64_t;

/// The device's queue. All members may be called from any thread. Once the device is lost, all of
/// them throw the same DeviceLost, but for what had finished before.
class Queue {
 public:
  explicit Queue(Device& device) : device_(device) {}
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Throws DeviceError; then nothing was submitted.
  Ticket submit(VkCommandBuffer commands) { return submit(std::span(&commands, 1)); }
  /// One after the other.
  Ticket submit(std::span<const VkCommandBuffer>);
  /// Semaphores to wait for before anything that is submitted from now on, and to signal after
  /// everything that was submitted so far. Binary ones have no value; those of timelines, any but
  /// 0.
  struct Semaphore {
    VkSemaphore handle = VK_NULL_HANDLE;
    std::uint64_t value = 0;
  };
  Ticket synchronize(std::span<const Semaphore> waits, std::span<const Semaphore> signals);
  /// A ticket for everything that anybody has submitted to the queue so far.
  Ticket mark() { return synchronize({}, {}); }
  /// A ticket for the same that costs nothing: the next submission's, behind which all of that has
  /// finished. Who waits for it or asks before there is one makes one.
  Ticket upcoming();
  bool submitted(Ticket ticket) const { return ticket <= last(); }
  /// Whether that is known, without asking the driver.
  bool ended(Ticket ticket) const { return ticket <= finished_.load(std::memory_order_acquire); }
  /// Returns when the submission has finished. Throws DeviceError when the device is lost.
  void wait(Ticket);
  /// Asks the driver when it is not known yet.
  bool done(Ticket);
  /// The ticket of the newest submission.
  Ticket last() const { return submitted_.load(std::memory_order_acquire); }
  void wait_idle() { wait(last()); }

  /// For a device that is to be made again, while nobody else uses the queue: waits for what a lost
  /// device may still have under way, destroys the fences, and counts everything as finished.
  void forget();

 private:
  struct Pending {
    Ticket ticket = 0;
    VkFence fence = VK_NULL_HANDLE;
    int waiters =
        0;  // threads inside vkWaitForFences; the fence may not be reset before they leave
  };
  void retire();  // needs the lock
  Ticket submit(const VkSubmitInfo&);

  Device& device_;
  std::mutex mutex_;
  std::vector<Pending> pending_;  // in order of submission
  std::vector<VkFence> free_;     // unsignalled
  std::atomic<Ticket> submitted_{0};
  std::atomic<Ticket> finished_{0};
};

}  // namespace gnomon::vulkan
