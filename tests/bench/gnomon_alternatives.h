// tests/bench/gnomon_alternatives.h -- what else the compiler could have chosen, and what that
// takes.
#pragma once
#include <string>
#include <vector>

namespace bench {

/// Compiles the graphs in `folder` (as tests/golden/bench has them: <workload>.<part>.graph) for
/// the device as it does, with one of its choices changed, and with each decision about a value
/// (codegen/cost/decisions.h) taken otherwise; runs all of these in turns, on numbers at random,
/// and prints what each takes by estimate and on the device, in microseconds for a call with its
/// first result read. Alternatives that make the same program are left out. `workloads`: only
/// these; empty: all. Throws std::runtime_error where there is none, and what Gnomon throws where a
/// graph as it is cannot run.
void compare_alternatives(const std::string& folder, const std::vector<std::string>& workloads,
                          int rounds);

}  // namespace bench
