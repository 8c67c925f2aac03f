// engine/vulkan/timer.h -- dispatches one by one, and how long the device took for each.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/vulkan/queue.h"
#include "engine/vulkan/recorder.h"

namespace gnomon::vulkan {

/// Submits dispatches as they come, each behind the one in front of it, and waits for them. Times
/// are the device's, by timestamps; where its queue has none, the host's, a submission for each.
/// Dispatches of which the device decides that they do nothing are left out. Not thread safe.
class Timer {
 public:
  struct Timed {
    std::uint32_t step = 0;  // Dispatch::step
    double start_us = 0;     // since the first one of all began
    double took_us = 0;
  };

  static constexpr std::uint32_t most = 1024;  // dispatches of a submission
  static constexpr std::uint64_t bytes = 12 * most;

  /// `counts`: so many bytes that the host sees, for what the device decides. Throws DeviceError.
  Timer(Device&, Queue&, const Range& counts);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  bool device_clock() const { return device_.timestamp_bits() > 0; }
  /// A dispatch, which may be submitted with later ones.
  void add(const Recording&, const Recording::Parameters&, const Dispatch&);
  /// Submits what was added, waits, and reads the times.
  void finish();
  const std::vector<Timed>& timed() const { return timed_; }

 private:
  struct Added {
    std::uint32_t step = 0;
    bool decided = false;  // by the device
  };
  void begin();
  void stamp(std::size_t which);
  bool ran(std::size_t which) const;
  void read();
  void destroy() noexcept;

  Device& device_;
  Queue& queue_;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  Range counts_;
  std::vector<Added> added_;
  std::vector<std::uint64_t> ticks_;
  std::vector<Timed> timed_;
  std::optional<std::uint64_t> first_;  // tick
  std::optional<std::chrono::steady_clock::time_point> begun_;
};

}  // namespace gnomon::vulkan
