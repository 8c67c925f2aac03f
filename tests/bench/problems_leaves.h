// tests/bench/problems_leaves.h -- workloads with many arrays: an optimiser's update, and calls.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "problems.h"

namespace bench {

/// The second update of Adam of 50 layers with a matrix f32[500, 399] and a bias f32[500] each: 100
/// arrays, 10^7 numbers. Element i of all parameters and their gradients, one layer behind the
/// other, is `parameter(i)` and `gradient(i)`; the first update had the same gradients.
///
/// Result: parameters, then first and second moments. Beside it the variant `copy`: sums of one
/// parameter, moment and gradient each, which reads and writes as much in three arrays.
struct AdamUpdate {
  static constexpr uint32_t layers = 50, rows = 500, columns = 399,
                            n = layers * rows * (columns + 1);
  static constexpr float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  static float parameter(size_t i) { return static_cast<float>(i % 1013) / 512.0f - 1.0f; }
  /// At least 1 / 256 in size.
  static float gradient(size_t i) { return (static_cast<float>(i % 509) - 254.5f) / 128.0f; }
};
Check adam_update_check();
Check adam_copy_check();

/// The sum of 100 arrays x + k of 16 elements, k = 0 to 99, in one struct; x as in `call`. Beside
/// it, as variant `one`, the call with one array.
struct Call100 {
  static constexpr uint32_t arrays = 100;
};
Check call_100_check();

}  // namespace bench
