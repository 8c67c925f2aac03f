// codegen/primitives/folding.h -- kernels that run over a range of positions: reductions and
// contractions.
#pragma once
#include "codegen/lower/element.h"

namespace gnomon::rules {

/// Ranges up to this length are unrolled.
inline constexpr Dim unroll_limit = 16;

/// carried = body(n, carried) for n = 0 .. count - 1 in order; n is a constant when the range is
/// unrolled.
template <class Body>
kernel::Values fold_range(kernel::Builder& k, Dim count, kernel::Values carried, Body&& body) {
  if (count > unroll_limit)
    return k.count_loop(k.u32(static_cast<std::uint32_t>(count)), static_cast<std::uint64_t>(count),
                        carried, [&](kernel::Value n, std::span<const kernel::Value> c) {
                          return body(n, kernel::Values(c.begin(), c.end()));
                        });
  for (Dim n = 0; n < count; ++n)
    carried = body(k.u32(static_cast<std::uint32_t>(n)), std::move(carried));
  return carried;
}

/// Coordinates within `shape` of a flat position.
kernel::Values unravel(kernel::Builder&, const Shape& shape, kernel::Value flat);

}  // namespace gnomon::rules
