// codegen/primitives/control/in_step.h -- while loops whose elements know of one another and stop
// apart, as loops that all elements go through in step.
#pragma once
#include "codegen/operations/control.h"

namespace gnomon::control {

/// Whether the loop has collectives, and nothing says that the elements along their axes stop
/// together.
bool stops_apart(const WhileParams&);

/// The loop as one that goes on as long as any element does, over the axes of its collectives and
/// over its lanes: operands -> carried values. A step leaves those as they are that have stopped;
/// others see them.
///
/// Reverse mode needs it so: a step of one element is gone back over together with the same step of
/// the others, and counts of steps are those of all.
Graph in_step(const WhileParams&, Loc);

}  // namespace gnomon::control
