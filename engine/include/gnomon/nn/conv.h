// engine/include/gnomon/nn/conv.h -- convolutions of one image, f[channels, spatial..].
#pragma once
#include <array>
#include <optional>

#include "gnomon/nn/window.h"
#include "gnomon/random.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

struct ConvLayerOptions {
  PerAxis stride = 1;
  Around padding = 0;
  PerAxis dilation = 1;  // distance of neighbours in the kernel
  Dim groups = 1;        // channels in groups of their own
  bool use_bias = true;
  PaddingMode padding_mode = PaddingMode::zeros;
  DType dtype = DType::f32;
};

/// Sums of products of a kernel with every window of an image, plus a bias for each channel.
///
///   const auto layer = nn::Conv2d::make(3, 16, 5, std::move(key), {.padding = "SAME"});
///   const Array y = layer(image);               // f[3,h,w] -> f[16,h,w]
///   const Array ys = vmap(layer)(images);       // f[n,3,h,w] -> f[n,16,h,w]: one convolution
///
/// Kernels are not flipped. Weight and bias are drawn by `uniform_by_fan_in` from a key each,
/// with channels in / groups times the elements of the kernel as the fan-in, as in Equinox.
/// Throws UsageError for images of other ranks or channels, groups that do not divide the channels,
/// and reflections that are larger than the image.
template <int axes>
struct Conv {
  Array weight;                    // [out, in / groups, kernel..]
  std::optional<Array> bias = {};  // [out, 1..]
  AxisNumbers<axes> stride = detail::all_ones<axes>();
  Around padding = {};
  AxisNumbers<axes> dilation = detail::all_ones<axes>();
  Dim groups = 1;
  PaddingMode padding_mode = PaddingMode::zeros;

  static Conv make(Dim in, Dim out, PerAxis kernel, Key key, ConvLayerOptions options = {},
                   Loc loc = Loc::here());
  Array operator()(Operand x) const;
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

struct ConvTransposeLayerOptions {
  PerAxis stride = 1;
  Around padding = 0;
  PerAxis output_padding = 0;  // less than the stride
  PerAxis dilation = 1;
  Dim groups = 1;
  bool use_bias = true;
  PaddingMode padding_mode = PaddingMode::zeros;  // or circular, with "SAME" and "SAME_LOWER"
  DType dtype = DType::f32;
};

/// What is connected like the transpose of a Conv of the same options from `out` to `in` channels:
/// a convolution that enlarges an image by its stride.
///
/// A length n becomes (n - 1) stride - padding before and behind + dilation (kernel - 1) +
/// output_padding + 1; n stride with "SAME" and "SAME_LOWER", less the output_padding. The kernel
/// is that of a convolution of the image spread out by the stride: it is not flipped, and the
/// Conv of which this is the transpose has it flipped, with channels swapped.
/// Throws UsageError as Conv, and for an output_padding that is not below the stride.
/// Source: V. Dumoulin, F. Visin, "A guide to convolution arithmetic", arXiv:1603.07285, relation
/// 14; Equinox 0.13.
template <int axes>
struct ConvTranspose {
  Array weight;                    // [out, in / groups, kernel..]
  std::optional<Array> bias = {};  // [out, 1..]
  AxisNumbers<axes> stride = detail::all_ones<axes>();
  Around padding = {};
  AxisNumbers<axes> output_padding = {};
  AxisNumbers<axes> dilation = detail::all_ones<axes>();
  Dim groups = 1;
  PaddingMode padding_mode = PaddingMode::zeros;

  static ConvTranspose make(Dim in, Dim out, PerAxis kernel, Key key,
                            ConvTransposeLayerOptions options = {}, Loc loc = Loc::here());
  Array operator()(Operand x) const;
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace gnomon::nn
#pragma GCC visibility pop
