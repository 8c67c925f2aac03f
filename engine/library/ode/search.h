// engine/library/ode/search.h -- which piece a time is in, in straight lines of code.
#pragma once
#include "gnomon/indexing.h"
#include "gnomon/ops.h"

namespace gnomon::ode::detail {

/// The last of the pieces first, first + 1, ... below `count` that begins at or before t; `first`
/// where none does. `begins(index)`: where a piece begins; asked for pieces that there are, of
/// which `most` are as many as there may be.
///
/// A loop in its place would keep what asks from being one kernel with what else it does.
template <class Begins>
Array last_before(const Array& t, const Array& first, const Operand& count, Dim most,
                  const Begins& begins) {
  Array index = first;
  Dim stride = 1;
  while (2 * stride < most) stride *= 2;
  for (; stride > 0; stride /= 2) {
    const Array next = index + static_cast<int>(stride);
    const Array there = next < count;
    index = where(there && begins(where(there, next, index)) <= t, next, index);
  }
  return index;
}

}  // namespace gnomon::ode::detail
