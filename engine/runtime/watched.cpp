// engine/runtime/watched.cpp -- Executable::play_watched: loops submitted part by part, with a look
// at who watches between them, and a checkpoint now and then.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/runtime/executable.h"
#include "gnomon/device_lost.h"

namespace gnomon {

/// One call's way through its segments.
class Executable::Parts {
 public:
  Parts(Executable& executable, Entry& entry, std::uint32_t instance, const Watch& watch,
        Checkpoint* checkpoint, Turn& turn)
      : e_(executable),
        context_(*executable.context_),
        entry_(entry),
        instance_(instance),
        watch_(watch),
        checkpoint_(checkpoint),
        turn_(turn),
        life_(context_.life()),
        now_(executable.last_ticket_) {}

  vulkan::Ticket play() {
    try {
      restore();
      for (std::uint32_t t = resumed_.segment; t < entry_.segments.size(); ++t) {
        const Segment& segment = entry_.segments[t];
        // Of the segment that the call goes on with.
        const Checkpoint::At at = t == resumed_.segment ? resumed_ : Checkpoint::At{};
        segment.gated ? play_gated(t, segment, at) : play_parts(t, segment, at);
      }
      if (!next_.empty()) submit([] {});
      if (submitted_) {
        context_.queue.wait(now_);
        reached_ = submitted_;
        report();
      }
      // From here on nobody would know that there is something to go on from.
      if (checkpoint_ != nullptr && !checkpoint_->empty()) context_.queue.wait(now_);
    } catch (...) {
      // Nobody else knows of what is under way, and memory it writes is about to be given back.
      context_.queue.wait(now_);
      if (life_ == context_.life()) e_.held_ = std::move(held_);
      throw;
    }
    return now_;
  }

 private:
  using Time = Pace::Clock::time_point;

  void restore() {
    if (checkpoint_ == nullptr || checkpoint_->empty()) return;
    // Fresh memory may be what earlier calls of others still use.
    context_.queue.wait_idle();
    if (checkpoint_->restore(context_, e_.state(entry_)))
      resumed_ = checkpoint_->at();
    else
      checkpoint_->begin_again();
  }

  // Waits for what is under way to keep a checkpoint, if it is time; when that was.
  std::optional<Time> keep(const Checkpoint::At& at) {
    if (checkpoint_ == nullptr || !checkpoint_->due(context_.checkpoint_ms)) return std::nullopt;
    context_.queue.wait(now_);
    const Time time = Pace::Clock::now();
    checkpoint_->take(context_, e_.state(entry_), now_, at);
    return time;
  }

  std::string ended(const std::string& how) const {
    std::string far = ".";
    if (reached_)
      far = " after " + std::to_string(reached_->steps) +
            (reached_->bound > 0 ? " of at most " + std::to_string(reached_->bound) : "") +
            " steps";
    return "gnomon::run: `" + e_.program_.name + "` " + how + far;
  }

  void report() {
    if (watch_.cancelled()) throw Cancelled(ended("was cancelled"));
    if (!watch_.on_step || !reached_) return;
    // The handler may use the Runtime, this program included, and another thread make its device
    // again meanwhile.
    struct Outside {
      Executable& e;
      Turn& turn;
      Outside(Executable& executable, Turn& t) : e(executable), turn(t) {
        e.under_way_ = true;
        ++handlers_of_thread();
        turn.inside.leave();
        turn.lock.unlock();
      }
      ~Outside() {
        turn.lock.lock();
        turn.inside.enter();
        --handlers_of_thread();
      }
    };
    {
      const Outside outside(e_, turn_);
      watch_.on_step(*reached_);
    }
    if (life_ != context_.life())
      throw DeviceLost("gnomon::run: the device of `" + e_.program_.name +
                       "` was lost and made again while it ran; call it again");
  }

  // One part is under way while the host looks at the one in front of it. Whether that was still
  // running.
  template <class F>
  bool submit(F then) {
    before_ = now_;
    now_ = context_.queue.submit(next_);
    then();
    e_.last_ticket_ = std::max(e_.last_ticket_, now_);
    next_.clear();
    const bool waits = !context_.queue.done(before_);
    context_.queue.wait(before_);
    return waits;
  }

  void add(const Segment& segment, std::size_t from, std::size_t to) {
    for (; from < to; ++from)
      next_.push_back(entry_.recording->commands(instance_, segment.order[from]));
  }

  void play_parts(std::uint32_t t, const Segment& segment, const Checkpoint::At& from) {
    std::size_t at = from.borders > 0 ? segment.borders[from.borders - 1].at : 0;
    for (std::size_t b = from.borders; b < segment.borders.size(); ++b) {
      const Border& border = segment.borders[b];
      add(segment, at, border.at);
      at = border.at;
      submit([] {});
      held_ = e_.schedule_.loops[border.loop].results;
      reached_ = std::exchange(submitted_, Progress{e_.program_.name, border.steps, border.bound});
      report();
      keep({t, b + 1, 0});
    }
    add(segment, at, segment.order.size());
  }

  void play_gated(std::uint32_t t, const Segment& segment, const Checkpoint::At& from) {
    const std::uint32_t which = *segment.gated;
    const GatedBlock& block = e_.schedule_.gated[which];
    submitted_.reset();  // of another loop
    Pace pace = e_.pace_of(which, watch_.any());
    const auto passes = [&](std::uint32_t part, const Pace::Chunk& c) {
      e_.tell(entry_, which, part, c.steps, next_);
      for (std::uint64_t pass = 0; pass < c.passes; ++pass) add(segment, 0, segment.order.size());
    };
    const auto whole = watch_.any() ? std::nullopt : pace.whole();
    if (whole) return passes(0, *whole);
    std::optional<Time> waited;  // for the part in front, to keep a checkpoint
    std::uint64_t steps = from.steps;
    for (std::uint32_t part = 0;; ++part) {
      const Pace::Chunk c = pace.next();
      passes(part, c);
      if (c.last) break;
      next_.push_back(entry_.recording->transfer(entry_.done_word(which, part)));
      if (block.iterations)
        next_.push_back(entry_.recording->transfer(entry_.iteration_word(which, part)));
      const bool waits = submit([&] { pace.submitted(Pace::Clock::now()); });
      held_ = block.results;
      if (part > 0) {
        const bool done = entry_.word(entry_.done_word(which, part - 1)) != 0;
        pace.ended(waited.value_or(Pace::Clock::now()), waits || waited, done);
        if (done) break;
        steps = from.steps + pace.steps();
        if (block.iterations)
          steps = static_cast<std::uint64_t>(
                      std::max(0, entry_.word(entry_.iteration_word(which, part - 1)))) *
                  block.steps;
        if (block.iterations || block.slices)
          reached_ = Progress{e_.program_.name,
                              block.most_steps > 0 ? std::min(steps, block.most_steps) : steps,
                              block.most_steps};
      }
      report();
      waited = keep({t, 0, steps});
    }
    if (block.all_steps)
      submitted_ = Progress{e_.program_.name, block.most_steps, block.most_steps};
  }

  Executable& e_;
  Context& context_;
  Entry& entry_;
  const std::uint32_t instance_;
  const Watch& watch_;
  Checkpoint* const checkpoint_;
  Turn& turn_;
  const std::uint32_t life_;
  vulkan::Ticket now_, before_ = 0;
  std::vector<VkCommandBuffer> next_;
  std::vector<std::uint32_t> held_;              // by the loop that was submitted last
  std::optional<Progress> reached_, submitted_;  // by what is finished; when what is under way is
  Checkpoint::At resumed_;
};

vulkan::Ticket Executable::play_watched(Entry& entry, std::uint32_t instance, const Watch& watch,
                                        Checkpoint* checkpoint, Turn& turn) {
  struct End {
    Executable& e;
    Turn& turn;
    ~End() {
      if (!std::exchange(e.under_way_, false)) return;
      turn.stand_in = std::move(e.stand_in_);
      e.ended_.notify_all();
    }
  } end{*this, turn};
  return Parts(*this, entry, instance, watch, checkpoint, turn).play();
}

}  // namespace gnomon
