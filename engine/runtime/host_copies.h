// engine/runtime/host_copies.h -- what came from the host, kept there so that a device that is made
// again gets it back.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace gnomon {

class DeviceStorage;

/// Copies of the elements of arrays, as many bytes as there is room for. Thread safe.
class HostCopies {
 public:
  explicit HostCopies(std::uint64_t room) : room_(room) {}

  /// Keeps a copy; false when there is no room. What `counts` not takes none.
  bool keep(DeviceStorage&, std::span<const std::byte>, bool counts);
  /// The array is gone, or has got other elements.
  void drop(DeviceStorage&) noexcept;
  /// `f(storage, bytes)` for each; none of them goes meanwhile. `f` must not call this.
  void each(const std::function<void(DeviceStorage&, std::span<const std::byte>)>& f);
  std::uint64_t room() const { return room_; }

 private:
  struct Copy {
    std::vector<std::byte> bytes;
    bool counts = true;
  };
  const std::uint64_t room_;
  std::mutex mutex_;  // everything below
  std::uint64_t taken_ = 0;
  std::unordered_map<DeviceStorage*, Copy> copies_;
};

}  // namespace gnomon
