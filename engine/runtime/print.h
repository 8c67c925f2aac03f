// engine/runtime/print.h -- host arrays as text.
#pragma once
#include <string>

#include "codegen/graph/host_array.h"

namespace gnomon {

/// As the public `to_string(Runtime, Array)` prints.
std::string to_string(const HostArray&);

}  // namespace gnomon
