// codegen/analysis/follow.h -- follows positions from a kernel's roots down to what they are
// computed from.
#pragma once
#include <functional>
#include <vector>

#include "codegen/analysis/backward_slice.h"

namespace gnomon {

/// Per axis of a root: the axis of another value that runs with it, or -1.
using AxisMap = std::vector<int>;

/// Calls visit(value, axes) for `root` and what it takes element by element, through elementwise
/// equations and views that rename positions; goes below a value when `visit` says so.
void walk(const Placement&, ValueId root,
          const std::function<bool(ValueId, const AxisMap&)>& visit);

/// The axis whose neighbours are neighbours in memory.
int innermost(const Shape&, const Layout&);

/// The axis of `v` whose neighbours are neighbours in the memory it is read from; -1 when it is
/// computed or nothing is known.
int contiguous_axis(const Placement&, ValueId v);

}  // namespace gnomon
