// engine/runtime/pace.cpp -- chunks that double, and slices that grow into their time.
#include "engine/runtime/pace.h"

#include <algorithm>

#include "engine/runtime/milliseconds.h"

namespace gnomon {
namespace {

/// Passes that are submitted together, at most, so that a block that is done keeps the device busy
/// with nothing for a short time only.
constexpr std::uint64_t most_passes = 64;
/// Passes that are submitted without looking whether they are needed.
constexpr std::uint64_t few_passes = most_passes / 4;
/// The same where slices take long enough that looking costs next to nothing.
constexpr std::uint64_t few_slices = 4;

/// What is submitted at once is to take about so long where somebody watches, so that cancelling
/// works while a person waits.
constexpr double part_ms = 30;

}  // namespace

Pace::Pace(const GatedBlock& block, std::uint64_t& begin, double slice_ms, bool watched, bool idle)
    : block_(block),
      begin_(begin),
      begun_(begin),
      slice_ms_(slice_ms),
      watched_(watched),
      slice_(begin),
      most_(std::uint64_t{1} << 30),
      timed_(idle) {
  if (block.slices && block.slices->most > 0) most_ = std::min(most_, block.slices->most);
}

std::uint64_t Pace::steps_of(const Chunk& c) const {
  return c.passes * c.steps * block_.slices->per_pass;
}

// One pass more than slices need: what stands behind the loop, where it ends.
std::uint64_t Pace::passes_left() const {
  if (!paced()) return block_.most_passes > 0 ? block_.most_passes - given_ : 0;
  if (block_.most_steps == 0) return 0;
  const std::uint64_t pass = slice_ * block_.slices->per_pass;
  const std::uint64_t left = block_.most_steps - std::min(given_, block_.most_steps);
  return (left + pass - 1) / pass + 1;
}

std::optional<Pace::Chunk> Pace::whole() const {
  const std::uint64_t passes = passes_left();
  if (passes == 0 || passes > (paced() ? few_slices : few_passes)) return std::nullopt;
  return Chunk{passes, slice_, true};
}

Pace::Chunk Pace::next() {
  Chunk c{passes_, slice_, false};
  if (const std::uint64_t left = passes_left(); left > 0 && c.passes >= left)
    c = {left, slice_, true};
  given_ += paced() ? steps_of(c) : c.passes;
  under_way_.push_back({c, {}});
  // Nobody measures: more each time.
  if (!watched_ && !paced()) passes_ = std::min(2 * passes_, most_passes);
  return c;
}

void Pace::submitted(Clock::time_point now) { under_way_.back().submitted = now; }

void Pace::ended(Clock::time_point now, bool waited, bool done) {
  const UnderWay first = under_way_.front();
  under_way_.pop_front();
  // From when it was submitted at the earliest; where it is not known when the chunk in front of it
  // ended, this is too long, never too short.
  const double took =
      milliseconds(now - (free_since_ ? std::max(*free_since_, first.submitted) : first.submitted));
  free_since_ = waited ? std::optional(now) : std::nullopt;
  if (!done && paced()) steps_ += steps_of(first.chunk);
  // A chunk in which the loop ended took fewer steps than it was good for.
  if (timed_ && !done) adapt(first.chunk, took);
  if (timed_ && done && paced() && !taught_ && took > 2 * slice_ms_ * slices_in(first.chunk))
    begin_ = fitting(first.chunk, took);
  timed_ = true;
}

double Pace::slices_in(const Chunk& c) const {
  return static_cast<double>(c.passes * block_.slices->per_pass);
}

std::uint64_t Pace::fitting(const Chunk& c, double took_ms) const {
  const auto steps = static_cast<double>(c.steps);
  const double fit = steps * slice_ms_ * slices_in(c) / std::max(took_ms, 1e-3);
  return std::clamp<std::uint64_t>(
      static_cast<std::uint64_t>(std::clamp(fit, steps / 8, steps * 4)), 1, most_);
}

void Pace::adapt(const Chunk& chunk, double took_ms) {
  if (paced()) {
    slice_ = fitting(chunk, took_ms);
    // Lanes end one after another, so that later slices of as many steps take less time than the
    // next call's first one will.
    if (!taught_ && chunk.steps == begun_) begin_ = slice_;
    taught_ = true;
    if (slice_ < most_) {
      passes_ = 1;
      return;
    }
  } else if (!watched_) {
    return;
  }
  const double part = paced() && !watched_ ? slice_ms_ : part_ms;
  if (took_ms < part / 2) passes_ = std::min(2 * passes_, most_passes);
  if (took_ms > part * 2 && passes_ > 1) passes_ /= 2;
}

}  // namespace gnomon
