// tests/support/random_check.h -- a check over many random programs; what fails is shrunk first.
// GNOMON_RANDOM_GRAPHS says how many programs, GNOMON_RANDOM_SEED with which to begin.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>

#include "gnomon/error.h"
#include "tests/support/shrink_graph.h"

namespace gnomon::testing {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}
inline std::uint64_t first_seed() { return from_environment("GNOMON_RANDOM_SEED", 1); }

/// Checks `count` programs, unless the environment says how many; a failure is printed small. Stops
/// at the third. `attempts`: how often a failing program is tried smaller.
inline void expect_all(std::uint64_t count, const GraphCheck& check, int attempts = 2000) {
  int failed = 0;
  const std::uint64_t first = first_seed();
  const std::uint64_t last = first + from_environment("GNOMON_RANDOM_GRAPHS", count);
  for (std::uint64_t seed = first; seed < last && failed < 3; ++seed) {
    RandomGraph r;
    const GraphCheck trace_and_check = [&](const RandomGraph&) {
      r = random_graph(seed);
      return check(r);
    };
    const std::string what = failure(trace_and_check, r);
    if (what.empty()) continue;
    ++failed;
    const RandomGraph small = shrink(r, check, attempts);
    ADD_FAILURE() << "seed " << seed << ": " << what
                  << "\nsmallest that fails: " << failure(check, small) << "\n"
                  << describe(small);
  }
}

/// A driver that stops long loops is told so by an error, which is right.
inline bool beyond_budget(const UsageError& e) {
  return std::string(e.what()).find("silently stops a kernel") != std::string::npos;
}

}  // namespace gnomon::testing
