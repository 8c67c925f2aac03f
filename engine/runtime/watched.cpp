// engine/runtime/watched.cpp -- Executable::play_watched: loops submitted part by part, with a look
// at who watches between them.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "engine/runtime/executable.h"

namespace gnomon {
namespace {

/// What is submitted at once is to take about so long, so that cancelling works while a person
/// waits.
constexpr double part_ms = 30;

/// A gated block's passes per submission: more while they are short.
class Pace {
 public:
  std::uint64_t passes() const { return passes_; }
  /// A submission has come to its end.
  void note() {
    const auto now = std::chrono::steady_clock::now();
    const double took = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    if (took < part_ms / 2 && passes_ < 64) passes_ *= 2;
    if (took > part_ms * 2 && passes_ > 1) passes_ /= 2;
  }

 private:
  std::uint64_t passes_ = 1;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

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
  const auto submit = [&] {
    before = now;
    now = context_->queue.submit(next);
    last_ticket_ = now;
    next.clear();
    context_->queue.wait(before);
  };
  const auto play_parts = [&](const Turn& turn) {
    std::size_t at = 0;
    for (const Border& border : turn.borders) {
      for (; at < border.at; ++at)
        next.push_back(entry.recording->commands(instance, turn.order[at]));
      submit();
      held = schedule_.loops[border.loop].results;
      reached = std::exchange(submitted, Progress{program_.name, border.steps, border.bound});
      report();
    }
    for (; at < turn.order.size(); ++at)
      next.push_back(entry.recording->commands(instance, turn.order[at]));
  };
  const auto play_gated = [&](const Turn& turn) {
    const GatedBlock& block = schedule_.gated[*turn.gated];
    const auto blocks = static_cast<std::uint32_t>(schedule_.gated.size());
    const auto word = [&](std::uint32_t which) {
      std::int32_t value = 0;
      std::memcpy(&value, entry.looks.mapped() + std::size_t{4} * which, sizeof value);
      return value;
    };
    submitted.reset();  // of another loop
    Pace pace;
    std::uint64_t given = 0;
    for (std::uint32_t part = 0;; ++part) {
      std::uint64_t passes = pace.passes();
      if (block.most_passes > 0) passes = std::min(passes, block.most_passes - given);
      for (std::uint64_t pass = 0; pass < passes; ++pass)
        for (const std::uint32_t s : turn.order)
          next.push_back(entry.recording->commands(instance, s));
      given += passes;
      if (block.most_passes > 0 && given == block.most_passes) break;
      const auto look = [&](std::uint32_t which) { return 2 * *turn.gated + which % 2; };
      next.push_back(entry.recording->look(look(part)));
      if (block.iterations) next.push_back(entry.recording->look(2 * blocks + look(part)));
      submit();
      held = block.results;
      pace.note();
      if (part > 0) {
        if (word(look(part - 1)) != 0) break;
        if (block.iterations) {
          const auto steps =
              static_cast<std::uint64_t>(std::max(0, word(2 * blocks + look(part - 1)))) *
              block.steps;
          reached = Progress{program_.name,
                             block.most_steps > 0 ? std::min(steps, block.most_steps) : steps,
                             block.most_steps};
        }
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
    if (!next.empty()) submit();
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
