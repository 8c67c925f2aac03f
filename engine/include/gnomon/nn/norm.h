// engine/include/gnomon/nn/norm.h -- examples brought to mean 0 and variance 1.
//
// Means and variances are made in f32 at least, and the result has the dtype of the input. `eps` is
// added to the variance.
#pragma once
#include <optional>

#include "gnomon/array.h"

#pragma GCC visibility push(default)
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

/// x / sqrt(mean of squares + eps) * weight + bias over all elements of the example.
///
/// Weights begin with 1, biases with 0. Throws UsageError for an input of another shape.
/// Source: B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", arXiv:1910.07467.
struct RMSNorm {
  Shape shape;  // of the input
  std::optional<Array> weight = {}, bias = {};
  double eps = 1e-5;

  static RMSNorm make(const Shape& shape, LayerNormOptions options = {}, Loc loc = Loc::here());
  Array operator()(Operand x) const;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool channelwise_affine = true;  // a weight and a bias for each channel
  DType dtype = DType::f32;        // of both
};

/// f[channels, ..] brought to mean 0 and variance 1 in each of `groups` groups of neighbouring
/// channels, then * weight + bias channel by channel.
///
/// Throws UsageError unless the groups are equally large.
/// Source: Y. Wu, K. He, "Group Normalization", arXiv:1803.08494.
struct GroupNorm {
  Dim groups = 1, channels = 1;
  std::optional<Array> weight = {}, bias = {};  // [channels]
  double eps = 1e-5;

  static GroupNorm make(Dim groups, Dim channels, GroupNormOptions options = {},
                        Loc loc = Loc::here());
  Array operator()(Operand x) const;
};

/// The same with each channel a group of its own.
/// Source: D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance Normalization", arXiv:1607.08022.
struct InstanceNorm {
  Dim channels = 1;
  std::optional<Array> weight = {}, bias = {};  // [channels]
  double eps = 1e-5;

  static InstanceNorm make(Dim channels, GroupNormOptions options = {}, Loc loc = Loc::here());
  Array operator()(Operand x) const;
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
