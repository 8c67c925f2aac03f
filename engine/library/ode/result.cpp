// engine/library/ode/result.cpp -- the words for how a solve ended.
#include "gnomon/ode/result.h"

#include <algorithm>

namespace gnomon::ode {

std::string_view message(Result r) {
  switch (r) {
    case Result::successful:
      return "the solve came to t1";
    case Result::event_occurred:
      return "an event ended the solve";
    case Result::max_steps_reached:
      return "the solve took `max_steps` steps and is not at t1; allow more of them, or larger "
             "tolerances";
    case Result::dt_min_reached:
      return "the error asks for steps below dtmin; allow smaller ones, or larger tolerances";
    case Result::step_too_small:
      return "the error asks for steps that time cannot resolve: the solution or the field is not "
             "finite from there on, or the tolerances are below what the dtype can hold";
    case Result::nonfinite:
      return "the state is not finite";
    case Result::nonlinear_divergence:
      return "the equation of an implicit step was not solved; take smaller steps, or a controller "
             "that does";
    case Result::bad_times:
      return "dt0 points away from t1 or is 0, or a time is not a number";
    case Result::history_lost:
      return "a delay reaches further back than the steps that are remembered; remember more of "
             "them (DelayOptions::remembered), or all";
    case Result::too_many_rejected:
      return "more steps were rejected in a row than there is room for their ends; allow more of "
             "them (ClipStepSize::rejected_ends), or a smaller dt0";
  }
  return "no result of a solve";
}

namespace detail {

void throw_if_failed(const std::vector<std::int32_t>& codes, Loc loc) {
  const auto failed = [](std::int32_t code) { return !is_okay(static_cast<Result>(code)); };
  const auto count = std::count_if(codes.begin(), codes.end(), failed);
  if (count == 0) return;
  const auto first = std::find_if(codes.begin(), codes.end(), failed);
  std::string text = "gnomon::diffeqsolve: ";
  if (codes.size() > 1)
    text += std::to_string(count) + " of " + std::to_string(codes.size()) +
            " solves failed, first number " + std::to_string(first - codes.begin()) + ": ";
  text += message(static_cast<Result>(*first));
  if (loc.line != 0) text += " (" + to_string(loc) + ")";
  throw SolveFailed(text);
}

}  // namespace detail
}  // namespace gnomon::ode
