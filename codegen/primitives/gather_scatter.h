// codegen/primitives/gather_scatter.h -- parameters of indexed reads and writes.
//
// Semantics (B: `batch_dims` leading axes shared by operand and indices; axis >= batch_dims)
//   gather:      out[b.., p.., i, s..] = operand[b.., p.., indices[b.., i], s..], indices i32[B..,
//   n]; p are the axes
//                between the batch axes and `axis`, s those after it. `clip` clamps the index,
//                `fill` gives NaN (floats), the smallest (signed) or largest (unsigned) value, true
//                (bool) out of range.
//   scatter_add: out = operand, then out[b.., p.., indices[b.., i], s..] += updates[b.., p.., i,
//   s..] for i in order;
//                indices out of range are dropped. Deterministic: additions happen in the order of
//                i.
//   dynamic_slice:        operand[B.., D..], one start i32[B..] per axis of D, `sizes` over D ->
//   [B.., sizes..].
//                         Starts are clamped so that the slice fits.
//   dynamic_update_slice: operand[B.., D..], update[B.., sizes..], one start i32[B..] per axis of D
//   -> operand's shape. Negative indices and starts are resolved by the operations layer, not here.
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

enum class GatherMode : std::uint8_t { clip, fill };
std::string_view name(GatherMode);

struct GatherParams {
  int axis = 0;
  int batch_dims = 0;
  GatherMode mode = GatherMode::clip;
};

struct ScatterAddParams {
  int axis = 0;
  int batch_dims = 0;
};

struct DynamicSliceParams {
  Shape sizes;
  int batch_dims = 0;
};

struct DynamicUpdateSliceParams {
  int batch_dims = 0;
};

extern const Primitive gather_p, scatter_add_p, dynamic_slice_p, dynamic_update_slice_p;

}  // namespace gnomon
