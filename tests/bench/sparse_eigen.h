// tests/bench/sparse_eigen.h -- Eigen's product of a sparse matrix by rows with a dense one by
// rows, on two threads.
#pragma once
#include <cstddef>
#include <cstdint>

namespace bench {

/// y f32[n, k] = A x for A [n, n] in compressed rows and x f32[n, k].
void eigen_product(const int32_t* offsets, const int32_t* columns, const float* values,
                   const float* x, float* y, size_t n, size_t k);

}  // namespace bench
