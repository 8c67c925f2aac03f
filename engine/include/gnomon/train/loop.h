// engine/include/gnomon/train/loop.h -- a training loop over batches, with reports and checkpoints.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "gnomon/jit.h"
#include "gnomon/progress.h"
#include "gnomon/train/checkpoints.h"
#include "gnomon/train/feeder.h"

#pragma GCC visibility push(default)
namespace gnomon::train {

struct LoopOptions {
  std::int64_t steps = 0;         // where the run ends, steps before a break included
  std::int64_t report_every = 0;  // steps between reports; 0: none
  std::int64_t save_every = 0;    // steps between checkpoints; 0: at the end only
  std::string name = "train";     // Progress::function
  /// A line per report: "step 200 of 1000: loss 0.0314, 812 steps/s".
  PrintHandler on_report = {};
  /// Called with every report. May throw, which ends the loop.
  StepHandler on_step = {};
  std::optional<CancelToken> cancel_with = {};
};

namespace detail {

/// Says how far a loop is.
class Reporter {
 public:
  Reporter(const Runtime&, const LoopOptions&, std::int64_t start);
  /// After `step` steps. Reads the loss when it is time for a report.
  void operator()(std::int64_t step, const Array& loss);

 private:
  const Runtime& rt_;
  const LoopOptions& options_;
  std::int64_t last_;
  double last_ms_;
};

void check_loop(const LoopOptions&, Loc);
/// A checkpoint is not of a state behind the last step.
void check_resumed(const LoopOptions&, std::int64_t step, Loc);
/// Whether a checkpoint is due after `step` steps.
bool saves(const LoopOptions&, std::int64_t step);
[[noreturn]] void cancelled(const LoopOptions&, std::int64_t step);

}  // namespace detail

/// The state after `options.steps` steps of `step`, a jitted function (state, batch) -> {state,
/// loss f[]}, each with the next batch of `feeder`. The state is any tree: parameters, state of the
/// optimiser, keys.
///
/// With `checkpoints` a run goes on where the newest good checkpoint was made, with the state and
/// the batch that came next then: the result is bit for bit that of a run without the break. It
/// saves every `save_every` steps and at the end. Steps are started without waiting for the device;
/// reports and checkpoints wait.
/// State and batch are donated. Throws UsageError for a negative number of steps, and where the
/// newest checkpoint is of a later step than `options.steps`; Cancelled when the token is
/// cancelled, after a checkpoint was made; FileError as Checkpoints does; what the step, the
/// feeder's source and `on_step` throw.
template <class F, class S, class B>
S loop(Runtime& rt, const Jitted<F>& step, S state, Feeder<B>& feeder, const LoopOptions& options,
       const Checkpoints* checkpoints = nullptr, Loc loc = Loc::here()) {
  detail::check_loop(options, loc);
  std::int64_t done = 0, saved = -1;
  if (checkpoints != nullptr) {
    if (auto found = checkpoints->restore(rt, state, feeder.order(), loc)) {
      detail::check_resumed(options, found->step, loc);
      state = std::move(found->tree);
      done = saved = found->step;
    }
  }
  feeder.seek(done);
  const auto save = [&] {
    if (checkpoints == nullptr || saved == done) return;
    checkpoints->save(rt, done, state, feeder.order());
    saved = done;
  };
  detail::Reporter report(rt, options, done);
  while (done < options.steps) {
    if (options.cancel_with && options.cancel_with->cancelled()) {
      save();
      detail::cancelled(options, done);
    }
    auto [next, loss] = step.call(loc, std::move(state), feeder.next());
    state = std::move(next);
    ++done;
    report(done, loss);
    if (detail::saves(options, done)) save();
  }
  save();
  return state;
}

}  // namespace gnomon::train
#pragma GCC visibility pop
