// codegen/optimize/input_products.h -- products of what a scan is given with what stays the same
// are computed for all steps at once.
#pragma once
#include <functional>
#include <optional>

#include "codegen/graph/graph.h"

namespace gnomon {

/// Moves products of rows of a scan's sequences with constants of the scan in front of the loop,
/// where they do not depend on what it carries: W x_t for every step t is one product with all of
/// x, whose rows are a further sequence. What the rows went through on the way to the product comes
/// along, unless a row grows there; what else the body makes of either stays. The rows take memory
/// of their own, within a bound.
///
/// For the scans of which `in_kernels` is true, whose iterations have kernels of their own: a loop
/// inside a kernel has its lanes multiply on the way. Asked of equations of the graph that have
/// such products. None when there is nothing to move. The result is
/// simplified.
std::optional<Graph> input_products_in_front(
    const Graph&, const std::function<bool(const Equation&)>& in_kernels);

}  // namespace gnomon
