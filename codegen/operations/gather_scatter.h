// codegen/operations/gather_scatter.h -- parameters of indexed reads and writes.
//
// Semantics (B: `batch_dims` leading axes shared by operand and indices; axis >= batch_dims)
//   gather:    out[b.., p.., i.., s..] = operand[b.., p.., indices[b.., i..], s..], indices
//              i32[B.., I..] with one axis or more in I; p are the axes between the batch axes and
//              `axis`, s those after it. `clip` clamps the index, `fill` gives NaN (floats), the
//              smallest (signed) or largest (unsigned) value, true (bool) out of range.
//   scatter_*: out = operand, then out[b.., p.., indices[b.., i], s..] is combined with
//              updates[b.., p.., i, s..] for i in order: replaced by it (set: the last one stays),
//              added, multiplied, or the smaller or larger of both taken (NaN when either is).
//              Indices out of range are dropped. Deterministic: the order is that of i. `unique`
//              promises that no index in range occurs twice among indices[b..]; unchecked.
//              Indices are i32[B.., n].
//   dynamic_slice:        operand[B.., D..], one start i32[B..] per axis of D, `sizes` over D ->
//                         [B.., sizes..]. Starts are clamped so that the slice fits.
//   dynamic_update_slice: operand[B.., D..], update[B.., sizes..], one start i32[B..] per axis of D
//                         -> operand's shape.
// Negative indices and starts are resolved by the operations layer, not here.
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

struct ScatterParams {
  int axis = 0;
  int batch_dims = 0;
  bool unique = false;
};

struct DynamicSliceParams {
  Shape sizes;
  int batch_dims = 0;
};

struct DynamicUpdateSliceParams {
  int batch_dims = 0;
};

extern const Primitive gather_p, dynamic_slice_p, dynamic_update_slice_p;
extern const Primitive scatter_set_p, scatter_add_p, scatter_mul_p, scatter_min_p, scatter_max_p;

namespace rules {

/// Checks what gathers and scatters share.
void check_indices(std::string_view op, const Aval& operand, const Aval& indices, int axis,
                   int batch_dims, Loc);
/// The shape of what a gather reads.
Shape gathered_shape(const Shape& operand, const Shape& indices, int axis, int batch_dims);
/// `indices` moved into [0, length).
Array clamp_indices(const Array& indices, Dim length);
/// The elements that `indices` name, zero where an index is out of range.
Array gather_or_zero(const Array&, const Array& indices, int axis, int batch_dims);
/// `count` rows (places along the leading axis) from `at`, an i32[], on; `with_rows` replaces them.
Array rows_of(const Array& all, const Array& at, Dim count, Loc loc = {});
Array with_rows(const Array& all, const Array& rows, const Array& at, Loc loc = {});
/// One of them, without the axis.
Array row_of(const Array& all, const Array& at, Loc loc = {});
Array with_row(const Array& all, const Array& row, const Array& at, Loc loc = {});
/// What an element becomes when a scatter meets it with an update; `old` is asked for if needed.
template <class Old>
kernel::Value combine_update(kernel::Builder& k, const Primitive& scatter, Old&& old,
                             kernel::Value update);
kernel::Value combined(kernel::Builder&, const Primitive& scatter, kernel::Value old,
                       kernel::Value update);

template <class Old>
kernel::Value combine_update(kernel::Builder& k, const Primitive& scatter, Old&& old,
                             kernel::Value update) {
  return &scatter == &scatter_set_p ? update : combined(k, scatter, old(), update);
}

}  // namespace rules

}  // namespace gnomon
