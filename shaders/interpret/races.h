// shaders/interpret/races.h -- who touched which element of shared memory since the last barrier.
#pragma once
#include <cstdint>
#include <vector>

namespace gnomon::kernel {

/// Accesses of one workgroup to its shared arrays. Two invocations that meet at an element without
/// a barrier between them, one of them writing, are a race in whatever order they happened to run.
class Races {
 public:
  void add_array(std::uint32_t length) { cells_.emplace_back(length); }
  /// A barrier, or the next workgroup: all accesses so far are over.
  void settle() { ++epoch_; }

  /// Notes an access and says whether it races with an earlier one.
  bool race(std::uint32_t array, std::uint64_t element, std::uint32_t invocation, bool writes) {
    Cell& c = cells_[array][element];
    const auto other = [&](const Touch& t) { return t.epoch == epoch_ && t.by != invocation; };
    const bool races = other(c.written) || (writes && other(c.read));
    Touch& mine = writes ? c.written : c.read;
    // Two readers: whoever writes is another one than at least one of them.
    mine = {epoch_, other(mine) ? several : invocation};
    return races;
  }

 private:
  static constexpr std::uint32_t several = ~0u;
  struct Touch {
    std::uint64_t epoch = 0;
    std::uint32_t by = 0;
  };
  struct Cell {
    Touch read, written;
  };
  std::vector<std::vector<Cell>> cells_;
  std::uint64_t epoch_ = 0;  // nothing was touched in epoch 0
};

}  // namespace gnomon::kernel
