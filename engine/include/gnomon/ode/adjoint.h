// engine/include/gnomon/ode/adjoint.h -- how reverse mode goes through a solve.
#pragma once
#include <variant>

#include "gnomon/loop_kind.h"

namespace gnomon::ode {

/// Keeps the states of some steps and takes the others again: memory that does not grow with the
/// steps taken, exact derivatives of what was computed. The default.
///
/// Without a number of checkpoints, states of few numbers are kept by segments of sqrt(max_steps)
/// steps (LoopKind::automatic), which a lane of an ensemble does by itself; large ones, and where a
/// number is given, by LoopKind::checkpointed.
struct RecursiveCheckpointAdjoint {
  Checkpoints checkpoints = {};  // by default from max_steps
};
/// Loops of 16 steps in one another (LoopKind::bounded).
struct DirectAdjoint {};
/// Keeps every step (LoopKind::stored): fast, and memory for max_steps of them.
struct StoredAdjoint {};
/// Nothing is kept: for forward mode, and solves that nobody differentiates. Reverse mode throws.
struct ForwardMode {};

using Adjoint = std::variant<RecursiveCheckpointAdjoint, DirectAdjoint, StoredAdjoint, ForwardMode>;

}  // namespace gnomon::ode
