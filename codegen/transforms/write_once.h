// codegen/transforms/write_once.h -- write-once buffers (gnomon/buffer.h) as reverse mode sees
// them.
//
// Every element of a buffer is written once and read only afterwards, so a step that reads one
// finds in the buffer as it is at the end of the loop what it found when it ran. Reverse mode keeps
// no buffer per step, writes into none again, and lets cotangents of buffers pass writes as they
// are.
#pragma once
#include <vector>

#include "codegen/graph/primitive.h"

namespace gnomon {

/// Per value of the graph, from what its inputs are (empty: nothing).
Buffers follow_buffers(const Graph&, Buffers inputs);

/// Inputs of a loop's body, in any step; the first `carried` are the carried values. A carried
/// buffer that the body only writes into is `settled`, and any other value that a buffer gets
/// mixed up with is `read`.
Buffers buffers_of_body(const Graph& body, std::size_t carried, Buffers inputs);

/// The parameters of an operation that holds graphs, an equation as it is emitted, and a graph: for
/// operands and inputs of which the `settled` ones hold already what is
/// written into them here.
Params settled(const Primitive&, const Params&, const Buffers& operands);
Arrays emit_settled(const Equation&, const Arrays& operands, const Buffers& known);
Graph settle(const Graph&, const Buffers& inputs);

}  // namespace gnomon
