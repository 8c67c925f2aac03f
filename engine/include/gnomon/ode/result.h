// engine/include/gnomon/ode/result.h -- how solves end, and what they cost.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/error.h"
#include "gnomon/runtime.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// The end of one solve: the i32 in Solution::result.
enum class Result : std::int32_t {
  successful = 0,
  event_occurred,
  max_steps_reached,
  dt_min_reached,
  step_too_small,
  nonfinite,
  nonlinear_divergence,
  bad_times,
  history_lost,
  too_many_rejected,
};
/// "the solve took `max_steps` steps and is not at t1; ..."
std::string_view message(Result);
/// Whether a solve came to where it was meant to: t1, or an event.
constexpr bool is_okay(Result r) { return r == Result::successful || r == Result::event_occurred; }

/// What a solve took; i32 each, one per lane.
struct Statistics {
  Array steps;  // accepted and rejected ones
  Array accepted;
  Array rejected;
  Array evaluations;  // of the vector field
};

/// Thrown by throw_if_failed.
class SolveFailed : public Error {
 public:
  using Error::Error;
};

namespace detail {
/// Throws SolveFailed when one of the codes is not okay.
void throw_if_failed(const std::vector<std::int32_t>& codes, Loc);
}  // namespace detail

/// Throws SolveFailed when a solve did not come to its end: how many of them, which one first, and
/// why. Waits for the device.
template <class S>
void throw_if_failed(const Runtime& rt, const S& solution, Loc loc = Loc::here()) {
  detail::throw_if_failed(rt.to_host<std::int32_t>(solution.result), loc);
}

}  // namespace gnomon::ode
#pragma GCC visibility pop
