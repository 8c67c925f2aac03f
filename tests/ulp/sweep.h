// tests/ulp/sweep.h -- runs functions on a device over many arguments and tallies their errors.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "errors.h"
#include "functions.h"
#include "gnomon/jit.h"

namespace ulp {

/// What came out for 2^20 consecutive bit patterns (every stride-th of them).
struct BlockHash {
  std::uint64_t hash = 0;  // of the results' bits, all NaN alike
  bool subnormal = false;  // an argument or an exact result is, or nearly
};

struct Options {
  std::uint32_t stride = 1;          // every stride-th bit pattern
  std::uint64_t pairs = 1000000000;  // of arguments of binary functions
  std::uint64_t doubles = 10000000;  // arguments of f64 functions
  unsigned threads = 1;              // of the host
  bool flush = false;                // the device flushes subnormals: then both answers pass
  bool hash = false;                 // fill Result::hashes
  bool judge = true;                 // compare with references; else only hashes are made
  bool progress = false;             // percentages on stderr
};

struct Result {
  std::string name;
  double bar = 0;
  Tally tally;
  double seconds = 0;
  std::vector<BlockHash> hashes;

  bool passed() const { return tally.worst <= bar; }
};

/// Throws std::runtime_error when the reference disagrees with its plain form.
void check_reference(const Unary&);
void check_reference(const Binary&);
void check_reference(const Double&);

Result sweep(gnomon::Runtime&, const Unary&, const Options&);
Result sweep(gnomon::Runtime&, const Binary&, const Options&);
Result sweep(gnomon::Runtime&, const Double&, const Options&);

}  // namespace ulp
