// tests/ulp/hashes.h -- results of one driver in a file, to be compared with those of another.
//
// Text. First line: stride; then per function a line `name` and its blocks, one per line: 16 digits
// of hash, and an `s` behind blocks with subnormal arguments or results.
#pragma once
#include <string>
#include <vector>

#include "sweep.h"

namespace ulp {

/// Throws std::runtime_error when the file cannot be written.
void write_hashes(const std::string& path, const Options&, const std::vector<Result>&);

/// Blocks whose results differ, in words, one line per function; empty when all agree. Functions
/// that only one side has are left out, and so are blocks with subnormals when `skip_subnormal`.
/// Throws std::runtime_error for a file that cannot be read, or of another stride.
std::vector<std::string> compare_hashes(const std::string& path, const Options&,
                                        const std::vector<Result>&, bool skip_subnormal);

}  // namespace ulp
