// codegen/transforms/symbolic_zero.h -- how values of the active trace were made.
#pragma once
#include "codegen/graph/graph.h"
#include "gnomon/array.h"

namespace gnomon {

/// The equation that made `a`, if the newest trace has recorded it lately. Good until the next one
/// is recorded.
const Equation* maker(const Array& a);

}  // namespace gnomon
