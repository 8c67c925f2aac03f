// shaders/library/panels.h -- sums of products by a workgroup, operands passing through shared
// memory.
#pragma once
#include <functional>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {

/// A workgroup is a grid of `down` by `across` invocations and computes a block of results, of
/// which invocation (r, c) holds those of `rows` neighbouring rows, from r * rows on, and `columns`
/// neighbouring columns. Four neighbours are one access of shared memory.
///
/// Two panels of each side take turns: while products are made of one, the next positions are on
/// their way from memory to registers and from there to the other, so that one barrier is enough
/// for both and nobody waits for memory. With panels of 16 positions an H100 takes 71 us for
/// 1024 x 1024 by as many (`matmul_1024`), and 130 with one panel of 8 that is filled when all are
/// done with it.
struct Panels {
  std::uint32_t down = 1, across = 1;
  std::uint32_t rows = 1, columns = 1;  // results per invocation
  std::uint32_t depth = 8;              // positions of the sum in a panel

  std::uint32_t group() const { return down * across; }
  std::uint32_t block_rows() const { return down * rows; }
  std::uint32_t block_columns() const { return across * columns; }
  /// What the panels of a long sum take, at most.
  std::size_t shared_bytes(DType) const;
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
