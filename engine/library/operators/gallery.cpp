// engine/library/operators/gallery.cpp -- the entries of known matrices.
#include "gnomon/operators/gallery.h"

#include <limits>
#include <string>

namespace gnomon::operators {
namespace {

constexpr Dim most_rows = std::numeric_limits<std::int32_t>::max();

/// Its indices have 32 bits, and `size` is no size otherwise.
void require_size(const char* op, Dim size, Loc loc) {
  if (size < 0 || size > most_rows)
    usage_error(
        op,
        "a size is " + std::to_string(size) + "; 0 to 2^31 - 1 is needed, for indices of 32 bits",
        loc);
}

}  // namespace

Triplets poisson(const std::vector<Dim>& sizes, Loc loc) {
  Triplets t;
  t.rows = 1;
  for (Dim n : sizes) {
    require_size("operators::poisson", n, loc);
    t.rows *= n;
    require_size("operators::poisson", t.rows, loc);
  }
  t.columns = t.rows;
  const double center = 2.0 * static_cast<double>(sizes.size());
  for (Dim i = 0; i < t.rows; ++i) {
    t.add(i, i, center);
    Dim stride = 1;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      const Dim at = i / stride % sizes[axis];
      if (at > 0) t.add(i, i - stride, -1);
      if (at + 1 < sizes[axis]) t.add(i, i + stride, -1);
      stride *= sizes[axis];
    }
  }
  return t;
}

Triplets convection_diffusion(Dim n, double wind, Loc loc) {
  Triplets t = poisson({n, n}, loc);
  for (Dim i = 0; i < t.rows; ++i)
    for (const Dim stride : {n, Dim{1}}) {
      const Dim at = i / stride % n;
      if (at > 0) t.add(i, i - stride, -wind / 2);
      if (at + 1 < n) t.add(i, i + stride, wind / 2);
    }
  return t;
}

Triplets graph_laplacian(Dim nodes, const std::vector<std::pair<Dim, Dim>>& edges, Loc loc) {
  constexpr const char* op = "operators::graph_laplacian";
  require_size(op, nodes, loc);
  Triplets t;
  t.rows = t.columns = nodes;
  std::vector<double> degree(static_cast<std::size_t>(nodes), 0.0);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const Dim u = edges[e].first, v = edges[e].second;
    if (u < 0 || u >= nodes || v < 0 || v >= nodes)
      usage_error(op,
                  "edge " + std::to_string(e) + " joins " + std::to_string(u) + " and " +
                      std::to_string(v) + "; the nodes are 0 to " + std::to_string(nodes - 1),
                  loc);
    if (u == v) continue;
    t.add(u, v, -1);
    t.add(v, u, -1);
    degree[static_cast<std::size_t>(u)] += 1;
    degree[static_cast<std::size_t>(v)] += 1;
  }
  for (Dim i = 0; i < nodes; ++i) t.add(i, i, degree[static_cast<std::size_t>(i)]);
  return t;
}

Triplets hilbert(Dim n, Loc loc) {
  require_size("operators::hilbert", n, loc);
  Triplets t;
  t.rows = t.columns = n;
  for (Dim i = 0; i < n; ++i)
    for (Dim j = 0; j < n; ++j) t.add(i, j, 1.0 / static_cast<double>(i + j + 1));
  return t;
}

}  // namespace gnomon::operators
