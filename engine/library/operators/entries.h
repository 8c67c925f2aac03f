// engine/library/operators/entries.h -- entries of sparse matrices on the host, checked and in
// order.
#pragma once
#include <string_view>

#include "gnomon/operators/sparse.h"

namespace gnomon::operators::detail {

/// Sorted by rows and columns, entries of one place added up.
/// Throws UsageError for lists of different lengths, and for indices that are outside of the matrix
/// or beyond 32 bits.
Triplets in_order(std::string_view op, const Triplets&, Loc);

}  // namespace gnomon::operators::detail
