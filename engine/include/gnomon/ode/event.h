// engine/include/gnomon/ode/event.h -- what happens on the way: solves that end, or go on from a
// changed state.
#pragma once
#include <type_traits>
#include <utility>

#include "gnomon/array.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// Which changes of sign count.
enum class Direction : std::uint8_t { both, up, down };

struct EventOptions {
  Direction direction = Direction::both;  // of conditions that are numbers
  /// Whether the time of a change of sign is found, on the interpolant of its step; else the event
  /// is at the end of the step.
  bool root_find = true;
};

/// See `event`.
template <class F, class Effect>
struct Event {
  F condition;
  Effect effect;
  EventOptions options;
};

/// Ends the solve when `condition(t, y, args)` comes to hold: an argument of diffeqsolve behind the
/// options.
///
/// The condition gives a bool[], looked at behind each accepted step and behind the effects of
/// other events, or a number of which a change of sign counts. Of several events in one step the
/// earliest counts, of those at the same time the first one that was given; Solution::event says
/// which one it was. Where an event ends the solve nothing is saved behind it, and its time is
/// differentiated by the implicit function theorem.
template <class F>
Event<F, None> event(F condition, EventOptions options = {}) {
  return {std::move(condition), {}, options};
}
/// Goes on from the state effect(t, y, args) -> Y: a ball that bounces.
template <class F, class Effect>
requires(!std::is_same_v<Effect, EventOptions>) Event<F, Effect> event(F condition, Effect effect,
                                                                       EventOptions options = {}) {
  return {std::move(condition), std::move(effect), options};
}

}  // namespace gnomon::ode
#pragma GCC visibility pop
