// codegen/primitives/folding.h -- kernels that run over a range of positions: reductions and
// contractions.
#pragma once
#include <algorithm>
#include <optional>

#include "codegen/graph/element.h"
#include "shaders/library/team.h"

namespace gnomon::rules {

/// carried = body(n, carried) for n = 0 .. count - 1 in order; n is a constant when the range is
/// unrolled. A trip does `most` positions where they come out even, unless nothing is to be written
/// out: neighbours are then read as one wide load, and trips are a budget on some drivers.
template <class Body>
kernel::Values fold_range(ElementContext& c, Dim count, kernel::Values carried, Body&& body,
                          Dim most = 4) {
  kernel::Builder& k = c.k;
  if (count > c.unroll_limit) {
    most = std::min(most, c.unroll_limit);
    const Dim step = most > 1 && count % most == 0 ? most : 1;
    return k.count_loop(
        k.u32(static_cast<std::uint32_t>(count / step)), static_cast<std::uint64_t>(count / step),
        carried, [&](kernel::Value trip, std::span<const kernel::Value> so_far) {
          kernel::Values now(so_far.begin(), so_far.end());
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

/// As fold_range, of what does not depend on the order: a team that shares the element shares the
/// range as well, and `join(a, b)` combines what two of its members have. `over_subgroup` is the
/// instruction that does the same, if there is one.
template <class Body, class Join>
kernel::Values fold_jointly(ElementContext& c, Dim count, kernel::Values identity, Body&& body,
                            Join&& join, std::optional<kernel::Op> over_subgroup, Dim most = 4) {
  // In a loop or branch the team's members may be at different places.
  if (c.team == nullptr || c.k.depth() > 0 || count <= c.unroll_limit)
    return fold_range(c, count, std::move(identity), body, most);
  return kernel::fold(
      c.k, *c.team,
      {static_cast<std::uint64_t>(count), std::move(identity), body, join, over_subgroup});
}

/// combine(... combine(identity, element(0)) ..., element(count - 1)), in an order of the
/// compiler's choice. What one trip of a loop reads is combined first: the carried value is what
/// trips wait for, and rounding errors grow with how often it is added to.
template <class Element, class Combine>
kernel::Value fold_elements(ElementContext& c, Dim count, kernel::Value identity, Element&& element,
                            Combine&& combine, std::optional<kernel::Op> over_subgroup, Dim most) {
  const bool alone = c.team == nullptr || c.k.depth() > 0;
  most = std::max<Dim>(1, std::min(most, c.unroll_limit));
  if (alone && count > c.unroll_limit && count % most == 0) {
    const std::uint64_t trips = static_cast<std::uint64_t>(count / most);
    return c.k.count_loop(
        c.k.u32(static_cast<std::uint32_t>(trips)), trips, kernel::Values{identity},
        [&](kernel::Value trip, std::span<const kernel::Value> carried) {
          const kernel::Value first = c.k.mul(trip, c.k.u32(static_cast<std::uint32_t>(most)));
          kernel::Value sum = element(first);
          for (Dim n = 1; n < most; ++n)
            sum = combine(sum, element(c.k.add(first, c.k.u32(static_cast<std::uint32_t>(n)))));
          return kernel::Values{combine(carried[0], sum)};
        })[0];
  }
  return fold_jointly(
      c, count, {identity},
      [&](kernel::Value n, const kernel::Values& carried) {
        return kernel::Values{combine(carried[0], element(n))};
      },
      [&](const kernel::Values& a, const kernel::Values& b) {
        return kernel::Values{combine(a[0], b[0])};
      },
      over_subgroup, most)[0];
}

/// Coordinates within `shape` of a flat position.
kernel::Values unravel(kernel::Builder&, const Shape& shape, kernel::Value flat);

}  // namespace gnomon::rules
