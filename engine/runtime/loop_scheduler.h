// engine/runtime/loop_scheduler.h -- loops written out as stretches of dispatches that are recorded
// once and submitted again and again. No Vulkan.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/runtime/schedule.h"

namespace gnomon {

/// Steps that run one behind the other, and the parameters that each has there: its own with the
/// numbers of iterations filled in.
struct Stretch {
  std::vector<std::uint32_t> steps;      // indices into Schedule::steps
  std::vector<std::uint32_t> words;      // parameters of all of them
  std::vector<std::uint32_t> begins{0};  // where those of each begin, and the last ones end

  std::size_t size() const { return steps.size(); }
  std::span<const std::uint32_t> parameters(std::size_t which) const {
    return std::span(words).subspan(begins[which], begins[which + 1] - begins[which]);
  }
};

/// A place between two chunks of a loop that no other loop surrounds.
struct Border {
  std::size_t at = 0;  // stretches of the segment in front of it
  std::uint64_t steps = 0, bound = 0;
  std::uint32_t loop = 0;  // index into Schedule::loops
};

/// Stretches in the order in which they are submitted.
struct Segment {
  std::vector<std::uint32_t> order;  // indices into Submission::stretches
  std::vector<Border> borders;
  std::optional<std::uint32_t> gated;  // index into Schedule::gated: again, until that is done
};

struct Submission {
  std::vector<Stretch> stretches;
  std::vector<Segment> segments;
};

/// Writes out loops. Those of few dispatches become part of the stretch around them; the others are
/// cut into chunks of at most about `most` dispatches, or of a few where each is a slice of many
/// steps, each chunk followed by what advances the
/// loop's counter, and one recorded chunk stands for all of its length. A gated block is a segment
/// of its own, one pass long.
Submission write_out(const Schedule&, std::uint32_t most = 256);

}  // namespace gnomon
