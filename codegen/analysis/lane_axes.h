// codegen/analysis/lane_axes.h -- along which axes of its values a graph keeps elements apart.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon {

/// Every element of the output follows from those of the operands at its own position.
bool is_pointwise(const Graph&, const Equation&);

/// Along which axis of its results elements lie that lie along `axes` of an equation's operands,
/// of which -1 is for those that all share. Nothing where elements meet, or where the operation is
/// not known here; those that hold graphs are not. Unchecked: one operand has such an axis.
std::optional<int> axis_of_results(const Graph&, const Equation&, std::span<const int> axes);

/// The same of a while, scan or cond, one axis for each result: what its graphs compute is
/// followed, loops and branches inside too. Those by lanes are such along the lanes' axis.
std::optional<std::vector<int>> axes_of_results(const Equation&, std::vector<int> axes);

/// The same of a graph's outputs, for elements along axis 0 of the flagged inputs; -1: follows from
/// other inputs alone.
std::optional<std::vector<int>> lane_axes(const Graph&, const std::vector<bool>& inputs);

}  // namespace gnomon
