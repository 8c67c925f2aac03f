// engine/runtime/frames.h -- what `record` remembers of the calls of one function, so that a frame
// with the arrays of an earlier one looks nothing up and allocates nothing.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/runtime/executable.h"
#include "gnomon/vulkan.h"

namespace gnomon::detail {

/// All members may be called from any thread.
class Frames {
 public:
  /// Records the call that these trees, results first, were recorded for; null when none was.
  /// Throws DeviceError when the device fails.
  RecordedCall* again(VkCommandBuffer, std::span<const TypedTree>);
  /// Executable::record, remembered when all results had memory. `inputs`: the arrays of the
  /// arguments, then what the function captured.
  RecordedCall* record(VkCommandBuffer, const std::shared_ptr<Executable>&,
                       std::span<const Array> inputs, std::vector<Array>& outputs,
                       std::span<const TypedTree>);

 private:
  /// As many calls with other arrays as take turns usually: two or three buffers, a few objects.
  static constexpr std::size_t most_lines = 32;

  /// Arrays are known by what owns their storage, which stays one of its kind as long as it is
  /// watched; what it holds may go.
  struct Known {
    std::weak_ptr<Storage> storage;
    Aval aval;
  };
  struct Line {
    std::string statics;
    std::vector<Known> arrays;
    std::vector<Array> captures;
    std::shared_ptr<Executable> executable;
    BoundCall bound;
  };
  /// What the trees are: `statics_`, and `arrays_` with `results_` arrays of results in front.
  void read(std::span<const TypedTree>);
  bool fits(const Line&) const;

  std::mutex mutex_;  // everything below
  std::vector<Line> lines_;
  std::size_t oldest_ = 0;
  std::string statics_;
  std::vector<const Array*> arrays_;
  std::size_t results_ = 0;
};

}  // namespace gnomon::detail
