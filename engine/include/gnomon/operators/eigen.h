// engine/include/gnomon/operators/eigen.h -- a few singular triplets of an operator.
#pragma once
#include "gnomon/linalg.h"
#include "gnomon/operators/operator.h"
#include "gnomon/random.h"

namespace gnomon::operators {

struct RandomizedSvdOptions {
  Dim oversample = 10;       // columns beyond the rank that are sampled, and dropped at the end
  Dim power_iterations = 2;  // products with A A^T: more for singular values that fall slowly
};
/// The largest singular values of an operator, and their vectors as columns and rows.
///
/// A[m, n] -> u [m, k], s [k] descending, vt [k, n], k the least of rank, m and n; a vector of
/// several arrays counts as one, arrays in order. (2 + 2 power_iterations) (rank + oversample)
/// products, half of them with A^T. Exact up to rounding where A has no higher rank.
/// Derivative: through the algorithm, with its restrictions on distinct singular values.
/// Throws UsageError for a rank below 1 and negative options.
/// Source: Halko, Martinsson, Tropp, Finding structure with randomness (2011), algorithms 4.4 and
/// 5.1.
linalg::Svd randomized_svd(const Operator&, Dim rank, Key, const RandomizedSvdOptions& = {},
                           Loc loc = Loc::here());

}  // namespace gnomon::operators
