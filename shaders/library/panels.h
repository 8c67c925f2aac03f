// shaders/library/panels.h -- sums of products by a workgroup, operands passing through shared
// memory.
#pragma once
#include <functional>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {

/// A workgroup is a grid of `down` by `across` invocations and computes a block of results, of
/// which invocation (r, c) holds those of `rows` neighbouring rows, from r * rows on, and `columns`
/// neighbouring columns: drivers can make one load from shared memory of four, whose throughput
/// bounds such kernels (8 loads of one element for 16 multiply-adds take twice as long as these).
struct Panels {
  std::uint32_t down = 1, across = 1;
  std::uint32_t rows = 1, columns = 1;  // results per invocation
  std::uint32_t depth = 8;              // positions of the sum in shared memory at a time

  std::uint32_t group() const { return down * across; }
  std::uint32_t block_rows() const { return down * rows; }
  std::uint32_t block_columns() const { return across * columns; }
  /// Rows and columns of the block that belong to the invocation.
  Values own_rows(Builder&) const;
  Values own_columns(Builder&) const;
};

/// One side of the product: `load(which, n)` gives the element that row (or column) `which` of the
/// block has for position n of the sum.
struct PanelSide {
  std::function<Value(Value which, Value n)> load;
  bool along_sum = false;  // elements that are neighbours in memory have neighbouring n
};

/// The invocation's results, row by row. Adds up in the order of the positions; positions from
/// `length` on add 0 * 0. To be called where the whole workgroup comes along.
Values multiply(Builder&, const Panels&, std::uint64_t length, DType, const PanelSide& left,
                const PanelSide& right);

}  // namespace gnomon::kernel
