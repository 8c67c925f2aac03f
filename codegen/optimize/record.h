// codegen/optimize/record.h -- statements become data: the graph computes what they say as further
// outputs, which the host reads behind a call.
//
// A loop carries the records of the statements in it, each written in place to the next free row,
// and a branch hands out what it has to say with a flag that it was taken. So statements are
// subject to nothing but what holds for arrays: no kernel has an effect that running it twice, or
// in another order, would change, and every mapping of loops and lanes serves. Programs without
// statements are not touched.
#pragma once
#include "codegen/graph/graph.h"
#include "codegen/program/journal.h"

namespace gnomon {

struct RecordOptions {
  std::uint64_t bytes = std::uint64_t{1} << 20;  // for one print in a loop, all lanes together
};

struct Recorded {
  Graph graph;  // the outputs, then the arrays of the journal
  Journal journal;
};

/// Expects a canonical graph. The graph comes back as it is when it has no statements.
Recorded record(const Graph&, const RecordOptions& = {});

/// Literal evaluation on the host, statements included.
struct Told {
  std::vector<HostArray> outputs;
  Report report;
};
Told tell(const Graph&, std::vector<HostArray> inputs, const RecordOptions& = {});

}  // namespace gnomon
