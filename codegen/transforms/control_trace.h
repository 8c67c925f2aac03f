// codegen/transforms/control_trace.h -- tracing the functions that loops and branches are given,
// and making equations of them.
#pragma once
#include <string>

#include "codegen/graph/graph.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "gnomon/control.h"

namespace gnomon::control {

/// Whether a number of this kind can stand for an element of `t`.
bool fits(const Scalar&, DType t);
Array number_as(std::string_view op, const Scalar&, DType, Loc);

std::string quoted(const std::string& path);

/// A graph traced inside the current trace, with what it captured.
struct Part {
  Graph graph;
  Arrays captures;
};
Part finish(Trace&, const Arrays& outputs);

/// Makes all parts take the union of their captures behind their first `own` inputs, and returns
/// it.
Arrays share_captures(std::span<Part* const> parts, std::size_t own);
/// The same for parts of which part i has `own[i]` inputs of its own.
Arrays share_captures(std::span<Part* const> parts, std::span<const std::size_t> own);

/// Throws UsageError when one of the arrays is empty.
void check_start(std::string_view op, const Arrays&, const Texts& paths, Loc);
/// What the body made of the carried values, after the check that they are of the types they came
/// with.
Arrays checked_carry(std::string_view op, const Arrays& init, const Texts& paths, const Returned&,
                     Loc);

Arrays inputs_like(Trace&, const Arrays&);

/// `kind` and `checkpoints` as loops have them, after the check that they fit together and to the
/// steps that the loop takes at most (nothing: any number).
struct Kept {
  LoopKind kind = LoopKind::automatic;
  Dim checkpoints = 0;
};
Kept kept_by(std::string_view op, LoopKind, Checkpoints, std::optional<Dim> bound, Loc);

/// Any loop with a condition: both functions get the carried arrays and give arrays of the right
/// types.
Arrays build_while(std::string_view op, FunctionRef<Array(const Arrays&)> condition,
                   FunctionRef<Arrays(const Arrays&)> body, const Arrays& init, const WhileOptions&,
                   Loc);
/// `body` gets the carried arrays and one slice of each of `xs`, and gives carried arrays and rows.
Arrays build_scan(FunctionRef<Arrays(const Arrays&)> body, const Arrays& init, const Arrays& xs,
                  Dim length, bool reverse, Loc, Kept = {});

}  // namespace gnomon::control
