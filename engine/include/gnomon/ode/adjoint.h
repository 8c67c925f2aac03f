// engine/include/gnomon/ode/adjoint.h -- how reverse mode goes through a solve.
#pragma once
#include <optional>
#include <variant>

#include "gnomon/loop_kind.h"
#include "gnomon/ode/controller.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// Keeps the states of some steps and takes the others again: memory that does not grow with the
/// steps taken, exact derivatives of what was computed. The default. Where t1 is t0 no step was
/// taken and y1 is y0: derivatives in t0 and t1 are 0 then, as by all but BacksolveAdjoint.
///
/// Without a number of checkpoints, steps whose number is known and states of few numbers are kept
/// by segments of sqrt(max_steps) steps (LoopKind::automatic), which a lane of an ensemble does by
/// itself; large states in steps that a controller chooses, and where a number is given, by
/// LoopKind::checkpointed.
struct RecursiveCheckpointAdjoint {
  Checkpoints checkpoints = {};  // by default from max_steps
};
/// Loops of 16 steps in one another (LoopKind::bounded).
struct DirectAdjoint {};
/// Keeps every step (LoopKind::stored): fast, and memory for max_steps of them.
struct StoredAdjoint {};
/// Nothing is kept of steps that the program knows (ConstantStepSize between numbers, StepTo), and
/// of others where they end, one number each: the way back undoes the steps of ReversibleHeun or
/// LeapfrogMidpoint (gnomon/ode/reversible.h) one after the other. Exact derivatives of what was
/// computed, but for rounding.
///
/// For any controller, equations along Brownian paths, and SaveAt's t0, t1, ts and steps (not both
/// of the last two). Derivatives in y0, args and what fields captured, and in t0 and t1 unless a
/// path is in the equation or steps are clipped (another one throws); saved times are constants.
/// In forward mode and of second order where all steps are equal and known.
/// Cost: a step back is two evaluations of the field and the reverse mode of one.
/// Unchecked: errors of rounding of a step that is undone grow as errors of the method do where it
/// goes backwards in time, so a solve that damps much does not come back to where it began.
/// Throws UsageError for other methods, for events, delays, dense output, solver states and jumps,
/// and without max_steps where ends are kept.
/// Source: P. Kidger, J. Foster, X. Li, T. Lyons, Efficient and Accurate Gradients for Neural SDEs,
/// NeurIPS 2021, algorithm 2.
struct ReversibleAdjoint {};
/// Nothing is kept of the steps but what SaveAt::ts has: the way back solves the adjoint equations
///   a' = -(df/dy)^T a,  g' = -(df/dp)^T a,  with y once more,
/// from t1 to t0, p being args and what fields captured. Where states were saved, y begins anew
/// from there and a jumps by their cotangents.
///
/// These are the derivatives of the equation, not of what was computed: off by errors of both
/// solves. y is solved backwards, which loses equations that damp much: to tell, compare with
/// another adjoint. A way back that did not come to t0 gives NaN; that of a solve that failed
/// begins where it ended. First derivatives in y0, args, what fields captured, t0 and t1, by
/// reverse mode; those in dt0 and tolerances are 0, and saved times are constants (of some that
/// move give stop_gradient). Cost: a step back is as many evaluations of the field as a step, each
/// with its reverse mode. Memory: that of the carried values, whatever max_steps is. Throws
/// UsageError for driven and delay equations, PartitionedTerm, events, an infinite t1,
/// SaveAt::dense, steps and solver_state, and for StepTo and ClipStepSize without a `controller` of
/// its own.
/// Source: R. Chen, Y. Rubanova, J. Bettencourt, D. Duvenaud, Neural Ordinary Differential
/// Equations, NeurIPS 2018, algorithm 1.
struct BacksolveAdjoint {
  /// Of the way back; by default that of the solve. Errors of a PidController are measured in y and
  /// a alone then (P. Kidger, R. Chen, T. Lyons, "Hey, that's not an ODE", ICML 2021).
  std::optional<Controller> controller = {};
};
/// Of a solve that an event ends where the state comes to rest (steady_state_event): y1 is where
/// f(t1, y1, args) = 0, and moves as the implicit function theorem says. Nothing is kept of the
/// steps. First derivatives, in both modes, in args and what fields captured; y0, t0 and t1 have
/// none.
/// Cost: reverse mode of one evaluation for each of the n numbers of a state, and n^3 operations.
/// A solve that no event ended has NaN for derivatives. Unchecked: that the event means rest, and
/// that df/dy can be inverted there; derivatives are off by what f is from 0.
/// Throws UsageError without an event, with effects of one, for states saved on the way, driven and
/// delay equations and PartitionedTerm.
struct ImplicitAdjoint {};
/// Nothing is kept: for forward mode, and solves that nobody differentiates. Reverse mode throws.
struct ForwardMode {};

using Adjoint = std::variant<RecursiveCheckpointAdjoint, DirectAdjoint, StoredAdjoint,
                             ReversibleAdjoint, BacksolveAdjoint, ImplicitAdjoint, ForwardMode>;

}  // namespace gnomon::ode
#pragma GCC visibility pop
