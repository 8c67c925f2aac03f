// codegen/partition/carried.h -- what loops carry, and where kernels may leave it.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "codegen/analysis/layout.h"
#include "codegen/analysis/uses.h"
#include "codegen/graph/graph.h"

namespace gnomon {

/// Of a loop's body: next values, each with the carried value in whose memory it may be made, since
/// a loop of the kernel that computes `roots` begins with it and only writes slices into it. The
/// first `carried` inputs and outputs are the loop's; those in `copied` are made elsewhere.
std::map<ValueId, ValueId> takeovers(const Graph&, const Uses&, std::size_t carried,
                                     const std::vector<Layout>&, const std::vector<ValueId>& roots,
                                     const std::set<ValueId>& copied);

/// Whether a loop carries arrays of which a slice of its steps should not make copies, those
/// excepted that it writes slices into.
bool carries_much(const Graph&, const Equation& loop, std::uint32_t lanes);

}  // namespace gnomon
