// codegen/optimize/split_product.h -- products in parts, and of what lies in memory as it is read.
#pragma once
#include <vector>

#include "codegen/graph/graph.h"
#include "codegen/operations/op_params.h"
#include "codegen/program/target.h"

namespace gnomon {

/// Whether the dot_general `e` of `g` is made another way: long sums in parts, by as many lanes as
/// the device wants or as a core's cache holds; operands without permutations, and transposed where
/// no lane's results would lie side by side. `producer`: the equation of each value (Uses).
bool splits_product(const Graph& g, const Equation& e, const std::vector<std::uint32_t>& producer,
                    const Target&);
/// It that way, in the active trace; `env` has its operands and what they are made of.
Array split_product(const Graph& g, const Equation& e, const std::vector<std::uint32_t>& producer,
                    const Target&, const std::vector<Array>& env);

/// A product with neighbours along the summed axes in parts, as a batch axis; then the sum of the
/// parts.
Array product_in_stages(Array a, Array b, const DotParams&, const Target&, Loc);

}  // namespace gnomon
