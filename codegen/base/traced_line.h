// codegen/base/traced_line.h -- the line that what is traced now comes from, for messages.
#pragma once
#include "gnomon/error.h"

namespace gnomon {

/// Of this thread's newest Trace, which keeps it; null where nothing is traced, as always in a
/// process that only runs programs.
const Loc*& traced_line();

}  // namespace gnomon
