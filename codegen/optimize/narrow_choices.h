// codegen/optimize/narrow_choices.h -- a choice between an array and itself with slices written is
// a choice of slices.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

/// Where `select` or the branches of a `cond` choose between arrays that are one array with
/// different slices written into it, the slices are chosen instead and written behind: O(slice),
/// and in place where the compiler finds it may. So lanes that take no step, branches that leave a
/// carried array alone, and derivatives of both cost what they change.
///
/// Slices of an array whose leading axes are grouped in another way, as vmap of vmap leaves them,
/// become slices of the array itself. In sub-graphs too. For lowering only: what is not chosen is
/// written back, which a write-once array does not forgive.
Graph narrow_choices(const Graph&);

}  // namespace gnomon
