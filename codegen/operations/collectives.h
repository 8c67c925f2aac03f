// codegen/operations/collectives.h -- operations among the elements of a vmap whose axis has a
// name.
//
// Semantics
//   psum: the sum over the elements along `axis`. all_gather: what all have, stacked along a new
//   axis at `position`. axis_index: the number of the element, i32[]. vmap over the axis of that
//   name turns them into operations along it; any other vmap leaves them. An axis that none maps is
//   one of `size` elements that are all alike, numbered 0.
#pragma once
#include <string>
#include <vector>

#include "codegen/graph/primitive.h"

namespace gnomon {

struct CollectiveParams {
  std::string axis;
  Dim size = 1;
};
struct GatherAxisParams {
  std::string axis;
  Dim size = 1;
  int position = 0;
};

extern const Primitive psum_p, all_gather_p, axis_index_p;

/// Whether the equation, or one in its sub-graphs, goes along an axis of that name; never for the
/// empty name.
bool speaks_of(const Equation&, const std::string& axis);

/// Adds the axes whose elements the graph, or one in it, has meet: those of psum and all_gather,
/// not of axis_index. Each is there once.
void add_axes_met(const Graph&, std::vector<CollectiveParams>& axes);
bool elements_meet(const Graph&);

}  // namespace gnomon
