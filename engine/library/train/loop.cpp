// engine/library/train/loop.cpp -- reports of a loop.
#include "gnomon/train/loop.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace gnomon::train::detail {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double number(const Runtime& rt, const Array& loss) {
  switch (loss.dtype()) {
    case DType::f64:
      return rt.item<double>(loss);
    case DType::f16:
      return static_cast<float>(rt.item<float16>(loss));
    case DType::bf16:
      return static_cast<float>(rt.item<bfloat16>(loss));
    default:
      return rt.item<float>(loss);
  }
}

}  // namespace

Reporter::Reporter(const Runtime& rt, const LoopOptions& options, std::int64_t start)
    : rt_(rt), options_(options), last_(start), last_ms_(now_ms()) {}

void Reporter::operator()(std::int64_t step, const Array& loss) {
  if (options_.report_every == 0) return;
  if (step % options_.report_every != 0 && step != options_.steps) return;
  const double value = number(rt_, loss);  // waits for the step
  const double now = now_ms();
  if (options_.on_report) {
    char text[128];
    std::snprintf(text, sizeof text, "step %lld of %lld: loss %.4g, %.3g steps/s",
                  static_cast<long long>(step), static_cast<long long>(options_.steps), value,
                  1e3 * static_cast<double>(step - last_) / std::max(now - last_ms_, 1e-3));
    options_.on_report(text);
  }
  last_ = step;
  last_ms_ = now;
  if (options_.on_step)
    options_.on_step({options_.name, static_cast<std::uint64_t>(step),
                      static_cast<std::uint64_t>(options_.steps)});
}

void check_loop(const LoopOptions& o, Loc loc) {
  if (o.steps >= 0 && o.report_every >= 0 && o.save_every >= 0) return;
  usage_error("train::loop",
              std::to_string(o.steps) + " steps, reports every " + std::to_string(o.report_every) +
                  " and checkpoints every " + std::to_string(o.save_every) +
                  " steps; none may be negative",
              loc);
}

void check_resumed(const LoopOptions& o, std::int64_t step, Loc loc) {
  if (step <= o.steps) return;
  usage_error("train::loop",
              "the newest checkpoint is of step " + std::to_string(step) +
                  ", and the run ends at " + "step " + std::to_string(o.steps) +
                  "; allow that many steps, use another folder, or delete the later checkpoints",
              loc);
}

bool saves(const LoopOptions& o, std::int64_t step) {
  return o.save_every > 0 && step % o.save_every == 0;
}

void cancelled(const LoopOptions& o, std::int64_t step) {
  throw Cancelled("gnomon::train::loop: `" + o.name + "` was cancelled after " +
                  std::to_string(step) + " of " + std::to_string(o.steps) + " steps");
}

}  // namespace gnomon::train::detail
