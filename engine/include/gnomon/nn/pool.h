// engine/include/gnomon/nn/pool.h -- pooling of one image, f[channels, spatial..].
#pragma once
#include <array>

#include "gnomon/nn/window.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

struct PoolLayerOptions {
  PerAxis stride = 1;
  Around padding = 0;
  /// Whether a last window that reaches beyond the image counts; one that would begin behind the
  /// image does not, as in PyTorch.
  bool use_ceil = false;
};

/// The mean over each window; elements around the image count as zeros.
///
///   const auto pool = nn::AvgPool2d::make(2, {.stride = 2});
///
/// The stride is 1 unless it is given, as in Equinox.
/// Throws UsageError for images of other ranks, and for padding that leaves a window with nothing
/// of the image in it.
template <int axes>
struct AvgPool {
  AxisNumbers<axes> window = detail::all_ones<axes>();
  AxisNumbers<axes> stride = detail::all_ones<axes>();
  Around padding = {};
  bool use_ceil = false;

  static AvgPool make(PerAxis window, PoolLayerOptions options = {}, Loc loc = Loc::here());
  Array operator()(Operand x) const;
};
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

/// The largest element of each window; elements around the image do not count. The derivative goes
/// to the first of equals. The rest as for AvgPool.
template <int axes>
struct MaxPool {
  AxisNumbers<axes> window = detail::all_ones<axes>();
  AxisNumbers<axes> stride = detail::all_ones<axes>();
  Around padding = {};
  bool use_ceil = false;

  static MaxPool make(PerAxis window, PoolLayerOptions options = {}, Loc loc = Loc::here());
  Array operator()(Operand x) const;
};
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;

/// Means over as many parts of each spatial axis as `target` says, whatever the size of the image:
/// n elements make parts of n / target, the first n % target of them one longer.
///
/// Throws UsageError for images of other ranks, and for more parts than elements.
template <int axes>
struct AdaptiveAvgPool {
  AxisNumbers<axes> target = detail::all_ones<axes>();

  static AdaptiveAvgPool make(PerAxis target, Loc loc = Loc::here());
  Array operator()(Operand x) const;
};
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

/// The largest elements of the same parts. Equal elements share the derivative.
template <int axes>
struct AdaptiveMaxPool {
  AxisNumbers<axes> target = detail::all_ones<axes>();

  static AdaptiveMaxPool make(PerAxis target, Loc loc = Loc::here());
  Array operator()(Operand x) const;
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

}  // namespace gnomon::nn
#pragma GCC visibility pop
