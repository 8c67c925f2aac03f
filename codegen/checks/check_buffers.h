// codegen/checks/check_buffers.h -- GNOMON_CHECK=buffers: a program that finds out whether it
// keeps the promise of its buffers.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

/// The graph with an error_if for every write that may be a second one and every computation with
/// elements of a buffer that may be unwritten; gnomon/buffer.h says what is an error and what is
/// not found. Inputs, outputs and results stay. Expects a canonical graph, as differentiated and
/// mapped; one without buffers comes back as it is.
Graph check_buffers(const Graph&);

}  // namespace gnomon
