// codegen/lower/mapping.h -- which outputs share a lane in kernels that hold a product.
#pragma once
#include <optional>
#include <vector>

#include "codegen/graph/graph.h"
#include "codegen/lower/uses.h"
#include "codegen/program/target.h"

namespace gnomon {

/// A lane computes `rows` neighbours along `axis` of the roots' shape; neighbouring lanes are
/// `columns` neighbours along the innermost axis, and an invocation takes that many of them. What
/// the rows read of one operand and the columns of the other is then read once for all.
///
/// Lengths that do not divide evenly end in a tile that overlaps the one before: both compute the
/// same elements and store the same bits.
struct RegisterTile {
  int axis = 0;
  Dim rows = 1;
  Dim columns = 1;
  Dim panel = 0;  // columns that are finished for all rows before the next ones; 0: all of them

  /// Lanes that cover `shape`, walked in `order` (empty: row-major).
  Dim lanes(const Shape& shape, const std::vector<int>& order) const;
  /// Whether no two tiles overlap.
  bool disjoint(const Shape& shape, const std::vector<int>& order) const;
};

/// The tile for a kernel of these roots; none where nothing would be shared, the product is too
/// small to fill the device with tiles, or the sums are so short that they are unrolled.
std::optional<RegisterTile> choose_tile(const Graph&, const Uses&,
                                        const std::vector<bool>& in_memory,
                                        const std::vector<std::vector<int>>& layouts,
                                        const std::vector<ValueId>& roots, const Target&);

}  // namespace gnomon
