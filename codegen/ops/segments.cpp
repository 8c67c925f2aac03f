// codegen/ops/segments.cpp -- public reductions by segment, each a scatter onto its
// identity.

#include "codegen/lax/positions.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/eager.h"
#include "gnomon/indexing.h"

namespace gnomon {
namespace {

Array reduce(std::string_view op, const Primitive& scatter, const Operand& data,
             const Operand& segment_ids, Dim num_segments, bool unique,
             Array (*identity)(DType, Loc)) {
  const Array& a = positions::array_of(op, data);
  const Loc loc = data.loc();
  return at_once(op, loc, [&]() -> Array {
    if (num_segments < 0)
      usage_error(op, "num_segments is " + std::to_string(num_segments) + " and cannot be negative",
                  loc);
    const Array ids = positions::of(op, segment_ids, num_segments, false);
    if (a.rank() == 0 || ids.rank() != 1 || ids.shape()[0] != a.shape()[0])
      usage_error(op,
                  "segment ids " + to_string(ids.shape()) + " do not go along the first axis of " +
                      to_string(a.aval()),
                  loc);
    const Array empty =
        lax::broadcast(identity(a.dtype(), loc), a.shape().with(0, num_segments), {}, loc);
    return emit1(scatter, ScatterParams{0, 0, unique}, {empty, ids, a}, loc);
  });
}

}  // namespace

Array segment_sum(Operand data, Operand segment_ids, Dim num_segments) {
  return reduce("segment_sum", scatter_add_p, data, segment_ids, num_segments, false,
                [](DType t, Loc loc) { return lax::scalar(t, 0, loc); });
}
Array segment_prod(Operand data, Operand segment_ids, Dim num_segments, WriteOptions options) {
  return reduce("segment_prod", scatter_mul_p, data, segment_ids, num_segments,
                options.unique_indices, [](DType t, Loc loc) { return lax::scalar(t, 1, loc); });
}
Array segment_max(Operand data, Operand segment_ids, Dim num_segments) {
  return reduce("segment_max", scatter_max_p, data, segment_ids, num_segments, false, lax::lowest);
}
Array segment_min(Operand data, Operand segment_ids, Dim num_segments) {
  return reduce("segment_min", scatter_min_p, data, segment_ids, num_segments, false, lax::highest);
}

}  // namespace gnomon
