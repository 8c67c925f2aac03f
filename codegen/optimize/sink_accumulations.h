// codegen/optimize/sink_accumulations.h -- sums over lanes leave the loops that add to them.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

/// Where a scan carries a value to which every step only adds products or sums over its lanes, such
/// as the gradient of weights that a batch shares, its body gives the operands instead, and one
/// product over steps and lanes takes their rows afterwards. Likewise rows that every step adds to
/// a table, as the gradient of one that it looked something up in: one scatter adds those of all.
///
/// What is left in the loop knows nothing of other lanes, so that it may be a kernel of its own,
/// and the product is a large one. The rows take memory: sums of which they would take more than
/// 256 MiB stay.
Graph sink_accumulations(const Graph&);

}  // namespace gnomon
