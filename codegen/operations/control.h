// codegen/operations/control.h -- parameters of the operations that hold graphs: loops and
// branches.
//
// Semantics
//   while: inputs are carried values, then constants. `condition(carried..., constants...) -> bool`
//   and `body(carried..., constants...) -> carried...`. Runs while the condition is true and fewer
//   than `max_steps` steps were taken (unbounded when negative). Outputs are the carried values.
//   With `lanes` = n > 0 the condition has shape [n] and every carried value has the lane axis in
//   front: lane i goes on while its own condition holds; once false, its values are kept and it
//   never wakes again. Step bounds count per lane.
//   `kind` and `checkpoints` (of a checkpointed loop, else 0) of while and scan say what reverse
//   mode keeps; they are no part of what the loop means.
//
//   scan: inputs are carried, then sequences (leading axis `length`), then constants.
//   `body(carried..., one slice of each sequence..., constants...) -> carried..., one row of each
//   stacked output...`. Outputs are the carried values and the stacked rows (leading axis `length`,
//   in sequence order also when `reverse`).
//
//   cond: inputs are an index, then operands. Branch i runs when the index is i (bool: 0 or 1; i32:
//   clamped into range). With `lanes` = n > 0 the index has shape [n] and every output, and every
//   operand that varies by lane, has the lane axis in front; the branch graphs compute all lanes
//   and lane i takes its own branch's values.
#pragma once
#include <vector>

#include "codegen/graph/primitive.h"
#include "gnomon/loop_kind.h"

namespace gnomon {

struct WhileParams {
  GraphPtr condition, body;
  int carried = 0;
  Dim max_steps = -1;
  Dim lanes = 0;
  LoopKind kind = LoopKind::automatic;
  Dim checkpoints = 0;
};

struct ScanParams {
  GraphPtr body;
  int carried = 0;
  int sequences = 0;
  Dim length = 0;
  bool reverse = false;
  LoopKind kind = LoopKind::automatic;
  Dim checkpoints = 0;
};

struct CondParams {
  std::vector<GraphPtr> branches;
  Dim lanes = 0;
};

extern const Primitive while_p, scan_p, cond_p;

/// How the operands of a while or scan split up; constants follow.
struct LoopOperands {
  const Graph& body;
  std::size_t carried = 0, sequences = 0;
};
LoopOperands loop_operands(const Equation&);

/// The number of checkpoints of a loop of at most so many steps, unless it says another one.
Dim default_checkpoints(Dim max_steps);

}  // namespace gnomon
