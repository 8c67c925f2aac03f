// codegen/partition/rows.h -- which values a lane or a team computes a whole row of, sums over the
// row included.
#pragma once
#include <map>
#include <vector>

#include "codegen/analysis/uses.h"
#include "codegen/cost/decisions.h"
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// A root of which every lane, or team of invocations, computes this many neighbours, one after
/// another.
using Rows = std::map<ValueId, Dim>;

/// Softmax, normalisation and the like: a root whose elements need sums (or extremes) over their
/// row, and these again the row. One lane per row walks it once for every sum and once for the
/// result, while it stays in the cache: what was to go to memory in between leaves `in_memory`, and
/// what such a walk asks for but no row gives (a product, say) is put there.
///
/// On CPUs where rows fill it; on GPUs, whose neighbouring lanes would read distant elements, a
/// team of invocations has a row, where workgroups have shared memory. `cost`: instructions per
/// element of every value, operands included up to memory.
Rows fuse_rows(const Graph&, const Uses&, const Target&, const std::vector<double>& cost,
               std::vector<bool>& in_memory, Decisions* = nullptr);

}  // namespace gnomon
