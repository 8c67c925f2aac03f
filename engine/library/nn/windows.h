// engine/library/nn/windows.h -- windows of images, for convolutions and pooling.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/library/nn/checks.h"
#include "gnomon/nn/window.h"

namespace gnomon::nn::detail {

using Lengths = std::span<const Dim>;
using Widths = std::vector<std::pair<Dim, Dim>>;

/// One number per axis, each at least `least`. Throws UsageError for another number of them.
std::vector<Dim> per_axis(std::string_view layer, std::string_view what, const PerAxis& given,
                          int axes, Dim least, Loc);
template <int axes>
AxisNumbers<axes> on_axes(std::string_view layer, std::string_view what, const PerAxis& given,
                          Dim least, Loc loc) {
  const std::vector<Dim> numbers = per_axis(layer, what, given, axes, least, loc);
  AxisNumbers<axes> result{};
  for (std::size_t i = 0; i < numbers.size(); ++i) result[i] = numbers[i];
  return result;
}

/// "Conv2d".
inline std::string numbered(std::string_view layer, int axes) {
  return std::string(layer) + std::to_string(axes) + "d";
}

/// From the first to the last element of a window.
inline Dim reach(Dim window, Dim dilation) { return dilation * (window - 1) + 1; }

/// What is before and behind each axis: two lengths for an axis that is given, the rest follows
/// from the lengths of the image and its windows.
Widths widths_around(std::string_view layer, const Around&, Lengths image, Lengths window,
                     Lengths stride, Lengths dilation, Loc);
/// One pair for each axis.
Widths given_widths(std::string_view layer, const Around&, int axes, Loc);

/// The spatial lengths of `x`, f[channels, spatial..]. Throws UsageError for another rank, and for
/// other numbers of channels unless `channels` is 0.
std::vector<Dim> image_lengths(std::string_view layer, const Array& x, int axes, Dim channels, Loc);

/// `x` with its spatial axes longer by `widths`.
Array padded(std::string_view layer, Array x, const Widths&, PaddingMode, Loc);

}  // namespace gnomon::nn::detail
