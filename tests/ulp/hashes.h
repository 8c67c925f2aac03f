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

/// How the results of a function compare with those in a file.
struct Comparison {
  std::string function;
  std::size_t compared = 0, skipped = 0;  // blocks
  std::size_t differ = 0, first = 0;      // of those compared, and the first that does

  std::string text() const;
};

/// One per function that both sides have. Left out are the blocks with subnormals, as the file has
/// them, when `skip_subnormal`.
/// Throws std::runtime_error for a file that cannot be read, or of another stride.
std::vector<Comparison> compare_hashes(const std::string& path, const Options&,
                                       const std::vector<Result>&, bool skip_subnormal);

}  // namespace ulp
