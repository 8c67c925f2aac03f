// codegen/emit/scan_rows.h -- the rows that the steps of a scan stack.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "codegen/emit/emitter.h"

namespace gnomon {

/// Where the rows of a scan's stacked outputs lie, and how a step stores its own.
class ScanRows {
 public:
  /// Of the scan `e` in the graph of `outer`. What nobody asks for has no rows.
  ScanRows(Emitter&, const Frame& outer, const Equation& e);

  /// The array of an output, unless its rows go straight to memory.
  const std::optional<Tile>& array(std::size_t output) const { return arrays_[output]; }
  /// Stores the rows of a step; `body` is the frame of its graph.
  void store(Frame& body, kernel::Value step) const;

 private:
  /// The memory that rows go straight to, or null.
  const MemoryRef* memory(std::size_t output) const;
  /// Of a row, the axis of the lanes: the first, or the last (optimize/transpose_for_lanes.h).
  int lane_axis(const Shape& row) const;
  /// Of an element of a row among all rows.
  Index position(std::size_t output, kernel::Value step, const Index& at) const;
  /// Has rows with the lanes last stored as a tile of them is filled, element by element. By
  /// output, the value of the body that has the tile.
  std::map<std::size_t, ValueId> store_with_tiles(Frame& body, kernel::Value step) const;
  /// Makes sure that such a value is computed. Whether its row is stored then.
  bool compute_tile(Frame& body, ValueId) const;
  void store_row(Frame& body, kernel::Value step, std::size_t output) const;

  Emitter& e_;
  const Frame& outer_;
  const Equation& scan_;
  const Graph& body_;
  std::size_t carried_;
  std::vector<std::optional<Tile>> arrays_;  // per output; none for carried ones
};

}  // namespace gnomon
