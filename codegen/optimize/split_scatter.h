// codegen/optimize/split_scatter.h -- long scatters in parts, and those of a few updates.
#pragma once
#include <algorithm>
#include <vector>

#include "codegen/cost/device_model.h"
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// Lanes that walk updates. On a CPU just enough for all cores: where each owns a part of the
/// output every one of them walks all updates, and where each walks a part every one of them has an
/// output of its own.
inline Dim scatter_lanes(const Target& t) {
  return runs_on_cores(t) ? std::max<Dim>(16, t.parallel_lanes / 32) : t.parallel_lanes;
}

/// Whether a scatter of so many updates to so few columns leaves the device idle as one walk.
bool wants_parts(const Graph&, const Equation&, const Target&);

/// The scatter as several, each of its own part of the updates onto an array of identities, which
/// are then combined with each other and the operand in order of the updates. Every lane walks its
/// part only, and the number of parts depends on the graph and the device, so that results are
/// reproducible. `set` finds the last update of each element by its number, a maximum.
Array scatter_in_parts(const Equation&, const std::vector<Array>& inputs, const Target&);

/// Whether a scatter of a few updates onto an array of one number, as the cotangent of what took an
/// element of each row is, costs less as choices.
bool wants_choices(const Graph&, const Equation&, const std::vector<std::uint32_t>& producer);

/// The scatter element by element, so that it fuses: each compares its position with all indices,
/// in order of the updates.
Array scatter_by_choice(const Equation&, const std::vector<Array>& inputs);

}  // namespace gnomon
