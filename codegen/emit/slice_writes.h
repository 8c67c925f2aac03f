// codegen/emit/slice_writes.h -- slices written into an array that a lane holds, in its own
// memory.
#pragma once
#include <functional>
#include <vector>

#include "codegen/analysis/in_place.h"
#include "codegen/emit/emitter.h"

namespace gnomon {

/// Dynamic_update_slices of a graph, as they are written into tiles: O(slice), not O(array). All
/// that is to be written is prepared before any of it is: what is read in between is worked out
/// from the old elements and the slices before.
class SliceWrites {
 public:
  /// Whether an element may be written, by its position; empty: all may.
  using Mask = std::function<kernel::Value(const Index&)>;

  SliceWrites(Emitter& e, Frame& frame, const Graph& graph)
      : e_(e), k_(e.k), frame_(frame), graph_(graph) {}

  /// Whether every slice lies in what the lane holds.
  bool possible(const Tile&, const SliceChain&) const;
  void prepare(const Tile&, const SliceChain&);
  /// Writes what was prepared.
  void write(const Mask& mask = {});

 private:
  struct Write {
    Tile into;
    const Equation* update;
    Tile values;  // of a long slice; short ones are:
    std::vector<std::pair<Index, kernel::Value>> elements;
    std::vector<std::optional<Tile>> starts;  // per axis, by batch position
  };
  bool has_lane(const Tile&, const Equation&) const;
  Tile slice_of(const Tile&, const Equation&) const;
  Index position(const Tile&, const Equation&, const Index& in_slice,
                 const std::function<kernel::Value(int axis, const Index& batch)>& start);
  kernel::Value clamped(kernel::Value start, Dim last);

  Emitter& e_;
  kernel::Builder& k_;
  Frame& frame_;
  const Graph& graph_;
  std::vector<Write> writes_;
};

}  // namespace gnomon
