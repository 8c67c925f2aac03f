// codegen/operations/effects.h -- the statements: what debug::print and error_if leave in a graph.
//
// Semantics
//   print:    operands are the values of a line, as many as `text` has placeholders. No results.
//   error_if: one bool operand of any shape; fails where an element is true. No results.
//   A statement inside a loop runs in every step, one in a branch when that branch is taken. With
//   `lanes` it runs once for every lane, and each operand has one axis in front, as long as the
//   product of `lanes`: in a loop or branch that has lanes itself, for those only that are in it.
//   `inside[i]` says how many of the innermost loops around the statement run for each of lanes[i]
//   apart: the lanes of a vmap around two loops have 2, those of a vmap in their body 0.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "codegen/graph/primitive.h"

namespace gnomon {

struct StatementParams {
  std::string text;  // of print with its placeholders; of error_if as it is
  std::vector<Dim> lanes;
  std::vector<int> inside;
};

extern const Primitive print_p, error_if_p;

namespace effects {

/// A loop's body that was just batched: the newest lanes of its statements are around the loop.
Graph inside_loop(const Graph& body);

/// The product of `lanes`; nothing when there are none.
std::optional<Dim> lane_count(const StatementParams&);

}  // namespace effects
}  // namespace gnomon
