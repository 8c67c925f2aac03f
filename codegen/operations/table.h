// codegen/operations/table.h -- every operation: the list of the entries in this folder, which
// entries.cmake collects. Loops, calls, indexing and what runs along axes or windows declare theirs
// next to their parameters as well (control.h, calls.h, gather_scatter.h, cumulative.h, window.h).
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

#define GNOMON_ENTRY(primitive) extern const Primitive primitive;
#include "codegen/operations/entries.inc"
#undef GNOMON_ENTRY

}  // namespace gnomon
