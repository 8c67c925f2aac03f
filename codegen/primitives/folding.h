// codegen/primitives/folding.h -- kernels that run over a range of positions: reductions and
// contractions.
#pragma once
#include "codegen/lower/element.h"

namespace gnomon::rules {

/// Ranges up to this length are unrolled.
inline constexpr Dim unroll_limit = 16;

/// carried = body(n, carried) for n = 0 .. count - 1 in order; n is a constant when the range is
/// unrolled. A trip does `most` positions where they come out even: neighbours are then read as one
/// wide load, and trips are a budget on some drivers.
template <class Body>
kernel::Values fold_range(kernel::Builder& k, Dim count, kernel::Values carried, Body&& body,
                          Dim most = 4) {
  if (count > unroll_limit) {
    const Dim step = count % most == 0 ? most : 1;
    return k.count_loop(
        k.u32(static_cast<std::uint32_t>(count / step)), static_cast<std::uint64_t>(count / step),
        carried, [&](kernel::Value trip, std::span<const kernel::Value> c) {
          kernel::Values now(c.begin(), c.end());
          const kernel::Value first = k.mul(trip, k.u32(static_cast<std::uint32_t>(step)));
          for (Dim n = 0; n < step; ++n)
            now = body(k.add(first, k.u32(static_cast<std::uint32_t>(n))), std::move(now));
          return now;
        });
  }
  for (Dim n = 0; n < count; ++n)
    carried = body(k.u32(static_cast<std::uint32_t>(n)), std::move(carried));
  return carried;
}

/// Coordinates within `shape` of a flat position.
kernel::Values unravel(kernel::Builder&, const Shape& shape, kernel::Value flat);

}  // namespace gnomon::rules
