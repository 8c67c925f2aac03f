// engine/runtime/loop_scheduler.cpp -- a walk over steps and loops that fills stretches.
#include "engine/runtime/loop_scheduler.h"

#include <algorithm>
#include <utility>

namespace gnomon {
namespace {

/// Slices of many steps take milliseconds each: between a few of them somebody may hear how far the
/// loop is, or end it.
constexpr double slices_per_chunk = 4;

class Writer {
 public:
  Writer(const Schedule& schedule, std::uint32_t most)
      : schedule_(schedule), most_(most), iteration_(schedule.loops.size(), 0) {}

  Submission write() {
    std::uint32_t at = 0;
    const auto segment = [&](std::uint32_t end) {
      submission_.segments.emplace_back();
      steps(at, end, 0);
      close();
      at = end;
    };
    for (std::uint32_t g = 0; g < schedule_.gated.size(); ++g) {
      segment(schedule_.gated[g].first);
      segment(schedule_.gated[g].end);
      submission_.segments.back().gated = g;
    }
    segment(schedule_.first_advance);
    return std::move(submission_);
  }

 private:
  std::vector<std::uint32_t>& order() { return submission_.segments.back().order; }

  struct Span {
    std::uint32_t first, end;
  };

  Span phase_of(const LoopBlock& loop, std::uint64_t iteration) const {
    const std::size_t phase = iteration % loop.phases.size();
    return {loop.phases[phase], phase + 1 < loop.phases.size() ? loop.phases[phase + 1] : loop.end};
  }

  /// The loop that begins at a step, among those inside of loop `inner - 1`.
  std::uint32_t loop_at(std::uint32_t step, std::uint32_t end, std::uint32_t inner) const {
    std::uint32_t i = inner;
    while (i < schedule_.loops.size() &&
           !(schedule_.loops[i].first == step && schedule_.loops[i].end <= end))
      ++i;
    return i;
  }

  /// Dispatches of the steps with all loops written out.
  double dispatches(Span span, std::uint32_t inner) const {
    double sum = 0;
    for (std::uint32_t i = span.first; i < span.end;) {
      const std::uint32_t l = loop_at(i, span.end, inner);
      if (l == schedule_.loops.size()) {
        ++sum;
        ++i;
        continue;
      }
      sum += dispatches_of(l);
      i = schedule_.loops[l].end;
    }
    return sum;
  }
  double dispatches_of(std::uint32_t l) const {
    const LoopBlock& loop = schedule_.loops[l];
    double pass = 0;
    for (std::uint64_t n = 0; n < loop.phases.size(); ++n)
      pass += dispatches(phase_of(loop, n), l + 1);
    return pass * static_cast<double>(loop.trips) / static_cast<double>(loop.phases.size());
  }

  void play(std::uint32_t which) {
    const Step& step = schedule_.steps[which];
    const std::uint32_t begin = open_.begins.back();
    open_.steps.push_back(which);
    open_.words.insert(open_.words.end(), step.parameters.begin(), step.parameters.end());
    for (const IterationWord& w : step.iterations)
      open_.words.at(begin + w.word) = static_cast<std::uint32_t>(iteration_[w.loop]);
    open_.begins.push_back(static_cast<std::uint32_t>(open_.words.size()));
  }

  /// Ends the open stretch, if there is anything in it.
  void close() {
    if (open_.steps.empty()) return;
    order().push_back(static_cast<std::uint32_t>(submission_.stretches.size()));
    submission_.stretches.push_back(std::exchange(open_, {}));
  }

  void steps(std::uint32_t first, std::uint32_t end, std::uint32_t inner) {
    for (std::uint32_t i = first; i < end;) {
      const std::uint32_t l = loop_at(i, end, inner);
      if (l == schedule_.loops.size()) {
        play(i++);
        continue;
      }
      loop(l);
      i = schedule_.loops[l].end;
    }
  }

  void iterations(std::uint32_t l, std::uint64_t count) {
    for (std::uint64_t n = 0; n < count; ++n) {
      iteration_[l] = n;
      const Span s = phase_of(schedule_.loops[l], n);
      steps(s.first, s.end, l + 1);
    }
    iteration_[l] = 0;
  }

  void loop(std::uint32_t l) {
    const LoopBlock& loop = schedule_.loops[l];
    const double all = dispatches_of(l), most = loop.steps > 1 ? slices_per_chunk : most_;
    if (all <= most || !loop.advance) {
      iterations(l, loop.trips);
      return;
    }
    // Whole passes, so that every chunk begins with the first phase.
    const auto passes = static_cast<std::uint64_t>(most / (all / static_cast<double>(loop.trips)) /
                                                   static_cast<double>(loop.phases.size()));
    const std::uint64_t length = std::max<std::uint64_t>(1, passes) * loop.phases.size();
    close();
    const std::size_t start = order().size();
    const bool outermost = depth_++ == 0;
    const auto border = [&](std::uint64_t done) {
      if (!outermost) return;
      const std::uint64_t bound = loop.most_steps, steps = done * loop.steps;
      submission_.segments.back().borders.push_back(
          {order().size(), bound > 0 ? std::min(steps, bound) : steps, bound, l});
    };
    chunk(l, std::min(length, loop.trips));
    border(std::min(length, loop.trips));
    const std::vector<std::uint32_t> once(order().begin() + static_cast<std::ptrdiff_t>(start),
                                          order().end());
    for (std::uint64_t done = 2 * length; done <= loop.trips; done += length) {
      order().insert(order().end(), once.begin(), once.end());
      border(done);
    }
    if (loop.trips > length && loop.trips % length != 0) {
      chunk(l, loop.trips % length);
      border(loop.trips);
    }
    --depth_;
  }

  void chunk(std::uint32_t l, std::uint64_t count) {
    iterations(l, count);
    play(schedule_.first_advance + *schedule_.loops[l].advance);
    open_.words.back() = static_cast<std::uint32_t>(count);
    close();
  }

  const Schedule& schedule_;
  double most_;
  std::vector<std::uint64_t> iteration_;
  int depth_ = 0;  // chunked loops around
  Stretch open_;
  Submission submission_;
};

}  // namespace

Submission write_out(const Schedule& schedule, std::uint32_t most) {
  return Writer(schedule, most).write();
}

}  // namespace gnomon
