// tests/support/rounding.h -- what a random program makes of rounding errors, as the judge of two
// executions that differ.
#pragma once
#include <string>
#include <vector>

#include "codegen/base/host_array.h"
#include "tests/support/random_graph.h"

namespace gnomon::testing {

/// Where output `i` differs from the reference by more than executions that round differently may;
/// empty when it does not. That is `tolerance`; where a program enlarges errors (a sine of a large
/// sum, say), it is what the reference itself moves when every f32 it computes is off by what its
/// operation may be off, but never more than ten times the tolerance.
std::string mismatch(const RandomGraph&, std::size_t i, const HostArray& got,
                     const std::vector<HostArray>& want);

}  // namespace gnomon::testing
