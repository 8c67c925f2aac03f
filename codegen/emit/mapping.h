// codegen/emit/mapping.h -- which outputs share a lane in kernels that hold a product or
// transpose an array.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/analysis/backward_slice.h"
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// A lane computes `rows` neighbours along axis `row` of the roots' shape; neighbouring lanes are
/// `columns` neighbours along axis `column`, and an invocation takes that many of them. What the
/// rows read of one operand and the columns of the other is then read once for all. (`row` and
/// `column` are one axis where a matrix meets a vector.)
///
/// Lengths that do not divide evenly end in a tile that overlaps the one before: both compute the
/// same elements and store the same bits.
struct RegisterTile {
  int row = 0;
  int column = 0;
  Dim rows = 1;
  Dim columns = 1;
  Dim panel = 0;  // columns that are finished for all rows before the next ones; 0: all of them
  /// Neighbouring invocations share a tile: the other axes, parts of a sum, are walked first.
  bool in_step = false;
  /// Axes that are walked behind the blocks of rows, a bit for each: what a block of rows reads is
  /// then the same for neighbouring invocations.
  std::uint32_t behind = 0;
  /// Axes of which a lane computes all positions, a bit for each.
  std::uint32_t whole = 0;

  bool walks(int axis) const { return axis != row && axis != column && (whole >> axis & 1u) == 0; }
  /// Results of a lane.
  Dim elements(const Shape& shape) const;
  /// Lanes that cover `shape`.
  Dim lanes(const Shape& shape) const;
  /// Whether no two tiles overlap.
  bool disjoint(const Shape& shape) const;
};

/// The tile for a kernel of these roots; none where nothing would be shared, the array is too small
/// to fill the device with tiles, or the sums are so short that they are unrolled.
std::optional<RegisterTile> choose_tile(const Placement&, const Target&,
                                        const std::vector<ValueId>& roots);

}  // namespace gnomon
