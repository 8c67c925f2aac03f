// codegen/checks/find_nonfinite.h -- GNOMON_CHECK=nan: which operation made a NaN or an
// infinity.
#pragma once
#include <optional>
#include <string>

#include "codegen/base/host_array.h"
#include "codegen/graph/graph.h"

namespace gnomon {

/// "a NaN" or "an infinity" where an array of floats has one; nothing otherwise.
std::optional<std::string_view> nonfinite(const HostArray&);

/// The first operation, in the order of the program and of the steps of its loops, that makes a NaN
/// of operands without one, or an infinity of finite operands.
struct Nonfinite {
  std::string operation, what;  // "log", "an infinity"
  Loc loc;
  std::string where;  // ", in step 3 of the loop at x.cpp:7", from the inside; may be empty
};

/// Runs the graph on the host, operation by operation, in loops and branches too, as far as that
/// operation: as slow as the reference. Constants that are not finite are nobody's fault, and what
/// is computed for lanes that are not in a loop or branch does not count. Nothing where every
/// operation passes on what it was given.
std::optional<Nonfinite> find_nonfinite(const Graph&, const std::vector<HostArray>& inputs);

}  // namespace gnomon
