// codegen/graph/array_text.h -- host arrays as text.
#pragma once
#include <string>

#include "codegen/graph/host_array.h"

namespace gnomon {

/// As NumPy prints it; see the public `to_string(Runtime, Array)`.
std::string to_string(const HostArray&);

}  // namespace gnomon
