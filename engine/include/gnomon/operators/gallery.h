// engine/include/gnomon/operators/gallery.h -- matrices that everybody knows, to test and to learn
// with. All throw UsageError for sizes that have no indices of 32 bits.
#pragma once
#include <utility>
#include <vector>

#include "gnomon/operators/sparse.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// Five-point (in one dimension three-, in three dimensions seven-point) differences for minus the
/// Laplacian on `sizes` inner points of a box, with zeros around: symmetric, positive definite. The
/// last axis runs fastest. In one dimension its eigenvalues are 4 sin^2(k pi / (2 (n + 1))), in
/// several their sums.
Triplets poisson(const std::vector<Dim>& sizes, Loc loc = Loc::here());
/// poisson({n, n}) with a wind along both axes, by central differences: `wind` times the difference
/// of neighbours is added. Not symmetric.
Triplets convection_diffusion(Dim n, double wind, Loc loc = Loc::here());
/// The Laplacian of a graph, each edge of weight 1: degrees on the diagonal, -1 for an edge. Edges
/// of a node to itself count for nothing. Positive semidefinite.
/// Throws UsageError for an edge to a node that there is not.
Triplets graph_laplacian(Dim nodes, const std::vector<std::pair<Dim, Dim>>& edges,
                         Loc loc = Loc::here());
/// 1 / (i + j + 1): positive definite, and worse conditioned than any other matrix of its size that
/// people use.
Triplets hilbert(Dim n, Loc loc = Loc::here());

}  // namespace gnomon::operators
#pragma GCC visibility pop
