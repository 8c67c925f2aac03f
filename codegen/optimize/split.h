// codegen/optimize/split.h -- long reductions, products, convolutions and scatters in stages.
#pragma once
#include "codegen/cost/decisions.h"
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// A reduction or product of many elements to few becomes partial results, one per lane, and a
/// reduction of these: the device is filled and no lane's loop exceeds the driver's budget.
/// Neighbouring lanes read neighbouring elements, so that a lane's vector and a GPU's wave both
/// read contiguous memory. Top-level equations only.
Graph split_reductions(const Graph&, const Target&, Decisions* = nullptr);

}  // namespace gnomon
