// codegen/primitives/reductions/blocked_scan.h -- running combinations along a long axis, by many
// lanes.
#pragma once
#include "codegen/graph/primitive.h"
#include "codegen/program/target.h"

namespace gnomon {

/// An associative operation on tuples of arrays of one shape, with its identity.
struct Running {
  Arrays (*combine)(const Arrays& before, const Arrays& here);
  /// One element per array of the tuple; combining it in front changes nothing.
  Arrays (*identity)(const Arrays& like);
};

/// out[i] = x[0] * ... * x[i] along `axis` (from the end when `reverse`), for every array of the
/// tuple. A short axis is walked by one lane per line. A long one is cut into blocks: every block
/// is walked by a lane of its own, then the same happens to the totals of the blocks, then each
/// block takes in what is in front of it. The number of blocks depends on the shape and the device
/// only, so results are reproducible.
Arrays blocked_scan(const Running&, const Arrays& x, int axis, bool reverse, const Target&, Loc);

}  // namespace gnomon
