// codegen/analysis/layout.h -- where the elements of a value lie in memory.
#pragma once
#include <vector>

#include "gnomon/array.h"

namespace gnomon {

struct Layout {
  std::vector<int> order = {};  // of the axes, outermost first; empty: row-major
  /// More than 0: the innermost axis is cut into blocks of so many, which divide it, and the number
  /// of the block counts right behind the outermost axis. What belongs to one block of it lies
  /// together then.
  Dim block = 0;

  bool row_major() const { return order.empty(); }
  /// The axes of `shape` as they follow one another in memory, the blocks as one of their own.
  Shape in_memory(const Shape& shape) const {
    if (row_major()) return shape;
    Shape r;
    for (int a : order) r.append(shape[a]);
    if (block == 0) return r;
    const int last = r.rank() - 1;
    return r.with(last, block).with_inserted(1, r[last] / block);
  }
};

}  // namespace gnomon
