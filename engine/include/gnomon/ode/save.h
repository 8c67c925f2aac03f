// engine/include/gnomon/ode/save.h -- what is kept of a solve.
#pragma once
#include <utility>

#include "gnomon/ode/controller.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// The times at which a solve keeps its state, in the order of integration: rows of Solution::ts
/// and Solution::ys, which have room for all of them; Solution::count says how many there are.
struct SaveAt {
  bool t0 = false;
  bool t1 = false;  // the end, also of a solve that an event ended or that failed
  Times ts = {};  // by interpolation; between t0 and t1, ascending in the direction of integration
  Dim steps = 0;  // n: every n-th accepted step; 0: none. Room for max_steps / n
  bool dense = false;          // the interpolant of every step: Solution::interpolation
  bool fill_infinity = false;  // rows behind the last one are inf, as in Diffrax, and not 0
  bool solver_state = false;   // what another solve goes on with: Solution::solver_state
};

/// Values of a function of the state, kept at times of their own; see `save`.
template <class F>
struct SubSave {
  F function;
  SaveAt at;
};

/// f(t, y, args) kept at the times `at` (all but its `dense` and `solver_state`): an argument of
/// diffeqsolve behind the options. What it gives is in Solution::subs, in order.
template <class F>
SubSave<F> save(F f, SaveAt at) {
  return {std::move(f), std::move(at)};
}

}  // namespace gnomon::ode
#pragma GCC visibility pop
