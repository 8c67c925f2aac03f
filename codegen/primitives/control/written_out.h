// codegen/primitives/control/written_out.h -- steps of loops written out one after the other.
//
// A segment that is run again for its backward pass is straight-line code where steps are small:
// what the pullback of one step looks at stays where the step computed it, in registers, and
// nothing is computed twice or kept in an array.
#pragma once
#include "codegen/operations/control.h"

namespace gnomon::control {

/// How the backward pass of a loop takes its steps together.
struct Segments {
  Dim steps = 0;  // of each; 0: it takes them one by one
  bool written_out = false;
  LoopKind kind = LoopKind::automatic;  // of the loop of segments
};
/// What a loop does in a step, of whose inputs and outputs the first ones are carried.
struct LoopStep {
  const Graph& body;
  std::size_t carried = 0;
  const Graph* condition = nullptr;  // of a while, which has the same inputs
};
/// Segments of a loop of up to `steps`: of `fewest` steps at least, written out, where steps are
/// small and hold no loops; else as its kind has it.
Segments segments_of(LoopKind, const LoopStep&, Dim steps, Dim fewest);
/// A while pays for steps written out: each asks whether there was one.
inline constexpr Dim fewest_of_scan = 2, fewest_of_while = 4;

/// The steps of a scan: operands -> carried values, stacked rows.
Arrays written_out(const ScanParams&, const Arrays& inputs, Loc);
/// As many steps of a while as it may take, of which the first is taken for certain: carried
/// values, constants -> carried values.
Arrays written_out(const WhileParams&, const Arrays& inputs, Loc);

}  // namespace gnomon::control
