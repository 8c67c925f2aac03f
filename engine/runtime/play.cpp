// engine/runtime/play.cpp -- Executable::play: recorded stretches, submitted in turn; gated blocks
// until the device says that they are done.
#include <algorithm>
#include <cstring>

#include "engine/runtime/executable.h"

namespace gnomon {

vulkan::Ticket Executable::play(Entry& entry, std::uint32_t instance) {
  std::vector<VkCommandBuffer> next;
  const auto add = [&](const Segment& segment, std::uint64_t times) {
    for (std::uint64_t time = 0; time < times; ++time)
      for (const std::uint32_t s : segment.order)
        next.push_back(entry.recording->commands(instance, s));
  };
  vulkan::Ticket ticket = last_ticket_;
  const auto submit = [&] {
    ticket = context_->queue.submit(next);
    next.clear();
    return ticket;
  };
  for (const Segment& segment : entry.segments) {
    if (!segment.gated) {
      add(segment, 1);
      continue;
    }
    const std::uint32_t block = *segment.gated;
    Pace pace = pace_of(block, false);
    if (const auto all = pace.whole()) {
      tell(entry, block, 0, all->steps, next);
      add(segment, all->passes);
      continue;
    }
    // The next chunk is under way before the last one's word is looked at.
    vulkan::Ticket before = 0;
    for (std::uint32_t chunk = 0;; ++chunk) {
      const Pace::Chunk c = pace.next();
      tell(entry, block, chunk, c.steps, next);
      add(segment, c.passes);
      if (c.last) break;
      next.push_back(entry.recording->transfer(entry.done_word(block, chunk)));
      const vulkan::Ticket now = submit();
      pace.submitted(Pace::Clock::now());
      last_ticket_ = now;
      if (chunk > 0) {
        const bool waited = !context_->queue.done(before);
        context_->queue.wait(before);
        const bool done = entry.word(entry.done_word(block, chunk - 1)) != 0;
        pace.ended(Pace::Clock::now(), waited, done);
        if (done) break;
      }
      before = now;
    }
  }
  if (!next.empty()) submit();
  return ticket;
}

Pace Executable::pace_of(std::uint32_t block, bool watched) {
  const vulkan::Ticket last = context_->queue.last();
  return {schedule_.gated[block], slice_steps_[block], context_->time_slice_ms, watched,
          context_->queue.done(last)};
}

void Executable::tell(Entry& entry, std::uint32_t block, std::uint32_t chunk, std::uint64_t steps,
                      std::vector<VkCommandBuffer>& next) {
  if (!schedule_.gated[block].slices) return;
  const std::uint32_t which = entry.pace_word(block, chunk);
  const auto value = static_cast<std::int32_t>(steps);
  if (entry.word(which) != value) {
    // A call that nobody waited for may be about to read it. Within a call, the chunk before the
    // last one has ended.
    if (chunk == 0) context_->queue.wait(last_ticket_);
    std::memcpy(entry.shared.mapped() + std::size_t{4} * which, &value, sizeof value);
  }
  next.push_back(entry.recording->transfer(which));
}

}  // namespace gnomon
