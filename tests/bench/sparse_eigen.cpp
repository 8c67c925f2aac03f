// tests/bench/sparse_eigen.cpp -- the product, each thread half of the rows.
#include "sparse_eigen.h"

#include <Eigen/SparseCore>
#include <thread>

namespace bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Sparse = Eigen::SparseMatrix<float, Eigen::RowMajor, int32_t>;

/// Rows from `first` to `last`. Offsets of a Map may begin anywhere.
void rows_of(const int32_t* offsets, const int32_t* columns, const float* values, const float* x,
             float* y, size_t n, size_t k, size_t first, size_t last) {
  const auto size = [](size_t i) { return static_cast<Eigen::Index>(i); };
  const Eigen::Map<const Sparse> a(size(last - first), size(n), offsets[last] - offsets[first],
                                   offsets + first, columns, values);
  Eigen::Map<Matrix>(y + first * k, size(last - first), size(k)).noalias() =
      a * Eigen::Map<const Matrix>(x, size(n), size(k));
}

}  // namespace

void eigen_product(const int32_t* offsets, const int32_t* columns, const float* values,
                   const float* x, float* y, size_t n, size_t k) {
  std::thread other(rows_of, offsets, columns, values, x, y, n, k, n / 2, n);
  rows_of(offsets, columns, values, x, y, n, k, 0, n / 2);
  other.join();
}

}  // namespace bench
