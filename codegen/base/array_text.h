// codegen/base/array_text.h -- host arrays as text.
#pragma once
#include <string>

#include "codegen/base/host_array.h"

namespace gnomon {

/// As NumPy prints it; see the public `to_string(Runtime, Array)`.
std::string to_string(const HostArray&);
/// With every element as `std::printf` prints a double ("%+.3f") or, of an array of integers with a
/// format that ends in d, x or X, a long long ("%08llx").
std::string to_string(const HostArray&, const std::string& element_format);

}  // namespace gnomon
