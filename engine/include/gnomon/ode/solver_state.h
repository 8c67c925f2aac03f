// engine/include/gnomon/ode/solver_state.h -- what a solve takes from one that ended before.
#pragma once
#include <vector>

#include "gnomon/array.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// What a method and a controller carry from step to step: slopes, factors, the history of a
/// multistep method, errors, and when the next step would end. A solve that begins where another
/// one ended takes the very steps that the other one would have taken next:
///
///   auto first = ode::diffeqsolve(term, solver, 0.0, 1.0, none, y0, none,
///                                 {.saveat = {.t1 = true, .solver_state = true}, .controller =
///                                 pid});
///   auto second = ode::diffeqsolve(term, solver, first.t1, 2.0, none, first.y1, none,
///                                  {.controller = pid, .solver_state = first.solver_state});
///
/// (With PidController; of ConstantStepSize and StepTo steps are those of the new times.) A tree:
/// one program gives it and another takes it. Differentiable. What is in it may change.
/// Unchecked: that solver, controller, term and direction of time are the same. Where what they
/// carry has another form UsageError says so: as between a solve that looks at values between its
/// steps (SaveAt::ts and dense, events with roots) and one that does not, for methods without an
/// interpolant of their own.
struct SolverState {
  std::vector<Array> method, controller;
  Array next;  // when the next step would end, in the direction of integration
};

}  // namespace gnomon::ode
#pragma GCC visibility pop
