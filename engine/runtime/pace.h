// engine/runtime/pace.h -- how much of a gated block is submitted at once: passes, and steps that a
// slice takes.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "codegen/program/program.h"

namespace gnomon {

/// One call's way through a gated block, chunk by chunk. The host is one chunk ahead of what it
/// knows: `next`, `submitted`, `next`, `submitted`, `ended`, `next`, ...
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  struct Chunk {
    std::uint64_t passes = 0;
    std::uint64_t steps = 0;  // per slice
    bool last = false;        // the block is done behind it for certain
  };

  /// `begin`: steps of a call's first slice; what this call teaches is written there. `slice_ms`:
  /// what a slice should take. `watched`: chunks are to be short, not just slices. `idle`: nothing
  /// is under way, so that the first chunk's time can be taken.
  Pace(const GatedBlock& block, std::uint64_t& begin, double slice_ms, bool watched, bool idle);

  /// All of it, when that is so little that nobody need look whether it is done.
  std::optional<Chunk> whole() const;
  Chunk next();
  void submitted(Clock::time_point now);
  /// The oldest chunk has ended, at `now` or before. `waited`: exactly then. `done`: the loop is
  /// over, and was before the end of the chunk.
  void ended(Clock::time_point now, bool waited, bool done);
  /// Steps of the loop that ended chunks took, where slices have a pace.
  std::uint64_t steps() const { return steps_; }

 private:
  struct UnderWay {
    Chunk chunk;
    Clock::time_point submitted;
  };
  std::uint64_t steps_of(const Chunk&) const;
  std::uint64_t passes_left() const;
  bool paced() const { return block_.slices && block_.slices->per_pass > 0; }
  double slices_in(const Chunk&) const;
  /// Steps with which slices like the chunk's take their time, as far as one measurement goes.
  std::uint64_t fitting(const Chunk&, double took_ms) const;
  void adapt(const Chunk&, double took_ms);

  const GatedBlock& block_;
  std::uint64_t& begin_;
  const std::uint64_t begun_;
  double slice_ms_;
  bool watched_;
  std::uint64_t passes_ = 1, slice_;
  std::uint64_t most_;       // that a slice may take
  std::uint64_t given_ = 0;  // passes, or steps where slices have a pace
  std::uint64_t steps_ = 0;
  std::deque<UnderWay> under_way_;
  std::optional<Clock::time_point> free_since_;  // when the last chunk ended, if that is known
  bool timed_;                                   // the time that the oldest chunk takes can be told
  bool taught_ = false;                          // `begin_` is this call's
};

}  // namespace gnomon
