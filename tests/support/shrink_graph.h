// tests/support/shrink_graph.h -- a failing graph becomes a small failing graph.
#pragma once
#include <functional>
#include <string>

#include "tests/support/random_graph.h"

namespace gnomon::testing {

/// What is wrong when this graph runs on these inputs; empty when nothing is. May throw: that is a
/// failure with the exception's text.
using GraphCheck = std::function<std::string(const RandomGraph&)>;

/// The text of a failure, exceptions included.
std::string failure(const GraphCheck&, const RandomGraph&);

/// Drops outputs, equations (their results become inputs with the values they have), unused inputs,
/// and equations inside loops and branches, as long as the check still fails; at most `attempts`
/// checks.
RandomGraph shrink(RandomGraph failing, const GraphCheck&, int attempts = 2000);

}  // namespace gnomon::testing
