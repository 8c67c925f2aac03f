// engine/runtime/loop_scheduler.h -- loops written out as stretches of dispatches that are recorded
// once and submitted again and again. No Vulkan.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/runtime/schedule.h"

namespace gnomon {

/// One dispatch of a stretch: a step with its iteration words filled in.
struct Launch {
  std::uint32_t step = 0;  // index into Schedule::steps
  std::vector<std::uint32_t> parameters;
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
  std::vector<std::vector<Launch>> stretches;
  std::vector<Segment> segments;
};

/// Writes out loops. Those of few dispatches become part of the stretch around them; the others are
/// cut into chunks of at most about `most` dispatches, each chunk followed by what advances the
/// loop's counter, and one recorded chunk stands for all of its length. A gated block is a segment
/// of its own, one pass long.
Submission write_out(const Schedule&, std::uint32_t most = 256);

}  // namespace gnomon
