// codegen/optimize/split_reduce.h -- reductions of many elements to few, in stages.
#pragma once
#include <vector>

#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// Sums of fewer elements are no matter of this.
constexpr Dim long_reduction = 8192;
/// Shorter reductions stay as they are on every device.
constexpr Dim short_reduction = 64;

/// Lanes that share a reduction of `n` elements to each of `out` results, at least `lanes`. Few
/// elements are not worth a stage more: starting a kernel costs a CPU what adding up thousands
/// does.
Dim lanes_for(Dim n, Dim out, const Target&, Dim lanes);

/// What sum, prod, reduce_max or reduce_min makes of no element: combined with anything, that
/// thing.
Array identity(const Primitive&, DType, Loc);

/// `x` with `value` behind it along `axis` until its length is a multiple of `parts`.
Array padded(const Array& x, const Array& value, int axis, Dim parts, Loc);

/// Reduces `axis`, which holds partial results; 64 parts are few enough for the last lane.
Array finish_reduction(const Primitive&, Array x, int axis, Loc);

/// sum, prod, max or min of x over `axes`, in the active trace. All reduced axes become one, behind
/// the rest where they are not in front already.
Array reduce_in_stages(const Primitive&, Array x, const std::vector<int>& axes, const Target&, Loc);

/// The first position of the largest (smallest) element: the value in stages, then where it is. A
/// NaN is the value when there is one, and equal to nothing. `extremum`: reduce_max or reduce_min.
Array position_in_stages(const Primitive& extremum, const Array& x, int axis, const Target&, Loc);

}  // namespace gnomon
