// engine/runtime/watched.cpp -- Executable::play_watched: loops submitted part by part, with a look
// at who watches between them.
#include <algorithm>
#include <optional>

#include "engine/runtime/executable.h"

namespace gnomon {
vulkan::Ticket Executable::play_watched(Entry& entry, std::uint32_t instance, const Watch& watch) {
  vulkan::Ticket now = last_ticket_, before = 0;
  std::vector<VkCommandBuffer> next;
  std::vector<std::uint32_t> held;             // by the loop that was submitted last
  std::optional<Progress> reached, submitted;  // by what is finished; when what is under way is
  const auto ended = [&](const std::string& how) {
    std::string far = ".";
    if (reached)
      far = " after " + std::to_string(reached->steps) +
            (reached->bound > 0 ? " of at most " + std::to_string(reached->bound) : "") + " steps";
    return "gnomon::run: `" + program_.name + "` " + how + far;
  };
  const auto report = [&] {
    if (watch.cancelled()) throw Cancelled(ended("was cancelled"));
    if (watch.on_step && reached) watch.on_step(*reached);
  };
  // One part is under way while the host looks at the one in front of it.
  const auto submit = [&](const auto& then) {
    before = now;
    now = context_->queue.submit(next);
    then();
    last_ticket_ = now;
    next.clear();
    const bool waits = !context_->queue.done(before);
    context_->queue.wait(before);
    return waits;
  };
  const auto play_parts = [&](const Turn& turn) {
    std::size_t at = 0;
    for (const Border& border : turn.borders) {
      for (; at < border.at; ++at)
        next.push_back(entry.recording->commands(instance, turn.order[at]));
      submit([] {});
      held = schedule_.loops[border.loop].results;
      reached = std::exchange(submitted, Progress{program_.name, border.steps, border.bound});
      report();
    }
    for (; at < turn.order.size(); ++at)
      next.push_back(entry.recording->commands(instance, turn.order[at]));
  };
  const auto play_gated = [&](const Turn& turn) {
    const std::uint32_t which = *turn.gated;
    const GatedBlock& block = schedule_.gated[which];
    submitted.reset();  // of another loop
    Pace pace = pace_of(which, true);
    for (std::uint32_t part = 0;; ++part) {
      const Pace::Chunk c = pace.next();
      tell(entry, which, part, c.steps, next);
      for (std::uint64_t pass = 0; pass < c.passes; ++pass)
        for (const std::uint32_t s : turn.order)
          next.push_back(entry.recording->commands(instance, s));
      if (c.last) break;
      next.push_back(entry.recording->transfer(entry.done_word(which, part)));
      if (block.iterations)
        next.push_back(entry.recording->transfer(entry.iteration_word(which, part)));
      const bool waits = submit([&] { pace.submitted(Pace::Clock::now()); });
      held = block.results;
      if (part > 0) {
        const bool done = entry.word(entry.done_word(which, part - 1)) != 0;
        pace.ended(Pace::Clock::now(), waits, done);
        if (done) break;
        std::uint64_t steps = pace.steps();
        if (block.iterations)
          steps = static_cast<std::uint64_t>(
                      std::max(0, entry.word(entry.iteration_word(which, part - 1)))) *
                  block.steps;
        if (block.iterations || block.slices)
          reached = Progress{program_.name,
                             block.most_steps > 0 ? std::min(steps, block.most_steps) : steps,
                             block.most_steps};
      }
      report();
    }
    if (block.all_steps) submitted = Progress{program_.name, block.most_steps, block.most_steps};
  };
  try {
    for (const Turn& turn : entry.turns) {
      if (turn.gated)
        play_gated(turn);
      else
        play_parts(turn);
    }
    if (!next.empty()) submit([] {});
    if (submitted) {
      context_->queue.wait(now);
      reached = submitted;
      report();
    }
  } catch (...) {
    // Nobody else knows of what is under way, and memory it writes is about to be given back.
    context_->queue.wait(now);
    held_ = std::move(held);
    throw;
  }
  return now;
}

}  // namespace gnomon
