// engine/library/operators/gallery.cpp -- the entries of known matrices.
#include "gnomon/operators/gallery.h"

namespace gnomon::operators {

Triplets poisson(const std::vector<Dim>& sizes) {
  Triplets t;
  t.rows = 1;
  for (Dim n : sizes) t.rows *= n;
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

Triplets convection_diffusion(Dim n, double wind) {
  Triplets t = poisson({n, n});
  for (Dim i = 0; i < t.rows; ++i)
    for (const Dim stride : {n, Dim{1}}) {
      const Dim at = i / stride % n;
      if (at > 0) t.add(i, i - stride, -wind / 2);
      if (at + 1 < n) t.add(i, i + stride, wind / 2);
    }
  return t;
}

Triplets graph_laplacian(Dim nodes, const std::vector<std::pair<Dim, Dim>>& edges) {
  Triplets t;
  t.rows = t.columns = nodes;
  std::vector<double> degree(static_cast<std::size_t>(nodes), 0.0);
  for (const auto& [u, v] : edges) {
    if (u == v) continue;
    t.add(u, v, -1);
    t.add(v, u, -1);
    degree.at(static_cast<std::size_t>(u)) += 1;
    degree.at(static_cast<std::size_t>(v)) += 1;
  }
  for (Dim i = 0; i < nodes; ++i) t.add(i, i, degree[static_cast<std::size_t>(i)]);
  return t;
}

Triplets hilbert(Dim n) {
  Triplets t;
  t.rows = t.columns = n;
  for (Dim i = 0; i < n; ++i)
    for (Dim j = 0; j < n; ++j) t.add(i, j, 1.0 / static_cast<double>(i + j + 1));
  return t;
}

}  // namespace gnomon::operators
