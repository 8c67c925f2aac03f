// engine/runtime/checkpoint.h -- what a call goes on from when its device was lost and made again.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/runtime/context.h"

namespace gnomon {

/// State of one call between two parts of its loops, on the host. It is what memory held there: the
/// arena, where gates and counters lie as well, the outputs, which loops work in, and what is
/// copied in front of the first step.
class Checkpoint {
 public:
  using Clock = std::chrono::steady_clock;

  /// Of a call with these inputs, which begins now.
  explicit Checkpoint(std::span<const Array> inputs);

  /// Whether it is of a call with these very arrays, with the elements that they had.
  bool fits(std::span<const Array> inputs) const;
  /// Whether there may still be such a call.
  bool reachable() const;

  /// Where a call goes on: with this segment, behind so many of its borders, after so many steps of
  /// its loop.
  struct At {
    std::uint32_t segment = 0;
    std::size_t borders = 0;
    std::uint64_t steps = 0;
  };
  /// Nothing was kept yet: the call begins with its first step.
  bool empty() const { return ranges_.empty(); }
  const At& at() const { return at_; }

  /// Whether it is time for another one: `interval_ms` after the last one, and after ten times what
  /// that took, unless the interval is 0.
  bool due(double interval_ms) const;
  /// Keeps these ranges, which submission `written` has written, and once the inputs that no copy
  /// on the host brings back. Inside of the gate. Throws DeviceError; what was kept before stays
  /// then.
  void take(Context&, std::span<const vulkan::Range>, vulkan::Ticket written, const At&);
  /// Writes them back, inside of the gate, when nothing runs. False where they have other sizes:
  /// the call has to begin with its first step.
  bool restore(Context&, std::span<const vulkan::Range>) const;
  /// The call begins with its first step after all.
  void begin_again() {
    ranges_.clear();
    at_ = {};
  }
  /// Writes the inputs that are lost, on a device that was made again.
  void restore_inputs(Context&) const;

 private:
  struct Input {
    std::weak_ptr<Storage> storage;
    vulkan::Ticket written = 0;
    std::vector<std::byte> bytes;  // none: it comes back by itself
  };
  std::vector<Input> inputs_;
  bool inputs_kept_ = false;
  std::vector<std::vector<std::byte>> ranges_;
  At at_;
  Clock::time_point last_ = Clock::now();
  double took_ms_ = 0;
};

}  // namespace gnomon
