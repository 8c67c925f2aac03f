// codegen/ops/segments.cpp -- public reductions by segment, each a scatter onto its
// identity.
#include <limits>

#include "codegen/lax/positions.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/eager.h"
#include "gnomon/indexing.h"

namespace gnomon {
namespace {

/// The largest (smallest) number of a dtype; infinite for floats.
Array bound(const Aval& aval, bool largest, Loc loc) {
  const double inf = std::numeric_limits<double>::infinity();
  if (is_float(aval.dtype)) return lax::full(aval, largest ? inf : -inf, loc);
  const unsigned bits = bits_of(aval.dtype) - (is_signed(aval.dtype) ? 1 : 0);
  const auto high = static_cast<std::int64_t>(bits >= 64 ? ~0ull : (1ull << bits) - 1);
  const std::int64_t low = is_signed(aval.dtype) ? -high - 1 : 0;
  return lax::broadcast(lax::scalar_integer(aval.dtype, largest ? high : low, loc), aval.shape, {},
                        loc);
}

template <class Identity>
Array reduce(std::string_view op, const Primitive& scatter, const Operand& data,
             const Operand& segment_ids, Dim num_segments, bool unique, Identity&& identity) {
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
    const Aval out{a.dtype(), a.shape().with(0, num_segments)};
    return emit1(scatter, ScatterParams{0, 0, unique}, {identity(out, loc), ids, a}, loc);
  });
}

}  // namespace

Array segment_sum(Operand data, Operand segment_ids, Dim num_segments) {
  return reduce("segment_sum", scatter_add_p, data, segment_ids, num_segments, false,
                [](const Aval& a, Loc loc) { return lax::full(a, 0, loc); });
}
Array segment_prod(Operand data, Operand segment_ids, Dim num_segments, WriteOptions options) {
  return reduce("segment_prod", scatter_mul_p, data, segment_ids, num_segments,
                options.unique_indices,
                [](const Aval& a, Loc loc) { return lax::full(a, 1, loc); });
}
Array segment_max(Operand data, Operand segment_ids, Dim num_segments) {
  return reduce("segment_max", scatter_max_p, data, segment_ids, num_segments, false,
                [](const Aval& a, Loc loc) { return bound(a, false, loc); });
}
Array segment_min(Operand data, Operand segment_ids, Dim num_segments) {
  return reduce("segment_min", scatter_min_p, data, segment_ids, num_segments, false,
                [](const Aval& a, Loc loc) { return bound(a, true, loc); });
}

}  // namespace gnomon
