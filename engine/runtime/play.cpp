// engine/runtime/play.cpp -- Executable::play: recorded stretches, submitted in turn; gated blocks
// until the device says that they are done.
#include <algorithm>
#include <cstring>

#include "engine/runtime/executable.h"

namespace gnomon {

namespace {

/// Passes that are submitted together, at most, so that a block that is done keeps the device busy
/// with nothing for a short time only.
constexpr std::uint64_t most_passes = 64;

}  // namespace

vulkan::Ticket Executable::play(Entry& entry, std::uint32_t instance) {
  std::vector<VkCommandBuffer> next;
  const auto add = [&](const Turn& turn, std::uint64_t times) {
    for (std::uint64_t time = 0; time < times; ++time)
      for (const std::uint32_t s : turn.order)
        next.push_back(entry.recording->commands(instance, s));
  };
  vulkan::Ticket ticket = last_ticket_;
  const auto submit = [&] {
    ticket = context_->queue.submit(next);
    next.clear();
    return ticket;
  };
  for (const Turn& turn : entry.turns) {
    if (!turn.gated) {
      add(turn, 1);
      continue;
    }
    const std::uint64_t bound = schedule_.gated[*turn.gated].most_passes;
    if (bound > 0 && bound <= most_passes / 4) {
      add(turn, bound);
      continue;
    }
    // The next chunk is under way before the last one's word is looked at.
    const auto look = [&](std::uint64_t chunk) {
      return static_cast<std::uint32_t>(2 * *turn.gated + chunk % 2);
    };
    const auto done = [&](std::uint64_t chunk) {
      std::uint32_t word = 0;
      std::memcpy(&word, entry.looks.mapped() + std::size_t{4} * look(chunk), sizeof word);
      return word != 0;
    };
    std::uint64_t passes = 1, given = 0;
    vulkan::Ticket before = 0;
    for (std::uint64_t chunk = 0;; ++chunk) {
      // Where the passes have a bound the block is done behind the last one, whatever the word
      // says.
      if (bound > 0) passes = std::min(passes, bound - given);
      given += passes;
      add(turn, passes);
      if (bound > 0 && given == bound) break;
      next.push_back(entry.recording->look(look(chunk)));
      const vulkan::Ticket now = submit();
      last_ticket_ = now;
      if (chunk > 0) {
        context_->queue.wait(before);
        if (done(chunk - 1)) break;
      }
      before = now;
      passes = std::min(2 * passes, most_passes);
    }
  }
  if (!next.empty()) submit();
  return ticket;
}

}  // namespace gnomon
