// engine/include/gnomon/ode/adjoint.h -- how reverse mode goes through a solve.
#pragma once
#include <variant>

#include "gnomon/loop_kind.h"

namespace gnomon::ode {

/// Keeps the states of some steps and takes the others again: memory that does not grow with the
/// steps taken, exact derivatives of what was computed. The default.
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
/// Nothing is kept: for forward mode, and solves that nobody differentiates. Reverse mode throws.
struct ForwardMode {};

using Adjoint = std::variant<RecursiveCheckpointAdjoint, DirectAdjoint, StoredAdjoint,
                             ReversibleAdjoint, ForwardMode>;

}  // namespace gnomon::ode
