// engine/include/gnomon/nn/norm.h -- examples brought to mean 0 and variance 1.
//
// Means and variances are made in f32 at least, and the result has the dtype of the input. `eps` is
// added to the variance.
#pragma once
#include <optional>

#include "gnomon/array.h"

namespace gnomon::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool use_weight = true, use_bias = true;
  DType dtype = DType::f32;  // of both
};

/// (x - mean) / sqrt(variance + eps) * weight + bias over all elements of the example.
///
/// Weights begin with 1, biases with 0. Throws UsageError for an input of another shape.
/// Source: J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization", arXiv:1607.06450.
struct LayerNorm {
  Shape shape;  // of the input
  std::optional<Array> weight = {}, bias = {};
  double eps = 1e-5;

  static LayerNorm make(const Shape& shape, LayerNormOptions options = {}, Loc loc = Loc::here());
  Array operator()(Operand x) const;
};

}  // namespace gnomon::nn
