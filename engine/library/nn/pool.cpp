// engine/library/nn/pool.cpp -- pooling of one image.
#include "gnomon/nn/pool.h"

#include <algorithm>

#include "engine/library/nn/windows.h"
#include "gnomon/ops.h"

namespace gnomon::nn {
namespace {

using detail::Lengths;

Array pooled(const std::string& name, const Operand& x, WindowKind kind, Lengths window,
             Lengths stride, const Around& around, bool use_ceil) {
  const Loc loc = x.loc();
  const Array image = detail::array_of(x);
  const auto axes = static_cast<int>(window.size());
  const std::vector<Dim> lengths = detail::image_lengths(name, image, axes, 0, loc);
  detail::Widths widths = detail::widths_around(name, around, lengths, window, stride,
                                                std::vector<Dim>(window.size(), 1), loc);
  Shape windows(1);
  std::vector<Dim> strides{1};
  for (std::size_t i = 0; i < window.size(); ++i) {
    auto& [before, behind] = widths[i];
    const Dim room = lengths[i] + before + behind - window[i], rest = room % stride[i];
    // As in PyTorch a last window begins in the image, or in front of it.
    if (use_ceil && rest > 0 && room - rest + stride[i] < lengths[i] + before)
      behind += stride[i] - rest;
    const Dim last = (lengths[i] + before + behind - window[i]) / stride[i] * stride[i] - before;
    if (before >= window[i] || (room >= 0 && last >= lengths[i]))
      detail::fail(name,
                   "windows of " + std::to_string(window[i]) + " with " + std::to_string(before) +
                       " elements before the image and " + std::to_string(behind) +
                       " behind it; some window would have nothing in it, so pad less",
                   loc);
    windows.append(window[i]);
    strides.push_back(stride[i]);
  }
  widths.insert(widths.begin(), {0, 0});
  return reduce_window({image, loc}, kind, windows,
                       {.stride = std::move(strides), .padding = std::move(widths)});
}

/// Parts of each spatial axis, reduced one axis after the other.
template <class Reduce>
Array by_parts(const std::string& name, const Operand& x, Lengths target, Reduce reduce) {
  const Loc loc = x.loc();
  Array y = detail::array_of(x);
  detail::image_lengths(name, y, static_cast<int>(target.size()), 0, loc);
  for (std::size_t i = 0; i < target.size(); ++i) {
    const int axis = static_cast<int>(i) + 1;
    const Dim n = y.dim(axis), parts = target[i];
    if (n < parts)
      detail::fail(name,
                   std::to_string(n) + " elements do not make " + std::to_string(parts) +
                       " parts; ask for fewer",
                   loc);
    const Dim size = n / parts, longer = n % parts;
    const auto part = [&](Dim from, Dim count, Dim length) {
      const Array some = slice_axis({y, loc}, axis, from, from + count * length);
      Shape split = some.shape().with(axis, count);
      split.insert(axis + 1, length);
      return reduce(reshape({some, loc}, split), axis + 1);
    };
    const Dim cut = longer * (size + 1);
    y = longer == 0
            ? part(0, parts, size)
            : concatenate({part(0, longer, size + 1), part(cut, parts - longer, size)}, axis, loc);
  }
  return y;
}

}  // namespace

template <int axes>
AvgPool<axes> AvgPool<axes>::make(PerAxis window, PoolLayerOptions options, Loc loc) {
  const std::string name = detail::numbered("AvgPool", axes);
  return {detail::on_axes<axes>(name, "window", window, 1, loc),
          detail::on_axes<axes>(name, "stride", options.stride, 1, loc), options.padding,
          options.use_ceil};
}
template <int axes>
Array AvgPool<axes>::operator()(Operand x) const {
  return pooled(detail::numbered("AvgPool", axes), x, WindowKind::mean, window, stride, padding,
                use_ceil);
}

template <int axes>
MaxPool<axes> MaxPool<axes>::make(PerAxis window, PoolLayerOptions options, Loc loc) {
  const std::string name = detail::numbered("MaxPool", axes);
  return {detail::on_axes<axes>(name, "window", window, 1, loc),
          detail::on_axes<axes>(name, "stride", options.stride, 1, loc), options.padding,
          options.use_ceil};
}
template <int axes>
Array MaxPool<axes>::operator()(Operand x) const {
  return pooled(detail::numbered("MaxPool", axes), x, WindowKind::max, window, stride, padding,
                use_ceil);
}

template <int axes>
AdaptiveAvgPool<axes> AdaptiveAvgPool<axes>::make(PerAxis target, Loc loc) {
  return {
      detail::on_axes<axes>(detail::numbered("AdaptiveAvgPool", axes), "target", target, 1, loc)};
}
template <int axes>
Array AdaptiveAvgPool<axes>::operator()(Operand x) const {
  const Loc loc = x.loc();
  return by_parts(detail::numbered("AdaptiveAvgPool", axes), x, target,
                  [&](const Array& y, int axis) {
                    return mean({y, loc}, axis);
                  });
}

template <int axes>
AdaptiveMaxPool<axes> AdaptiveMaxPool<axes>::make(PerAxis target, Loc loc) {
  return {
      detail::on_axes<axes>(detail::numbered("AdaptiveMaxPool", axes), "target", target, 1, loc)};
}
template <int axes>
Array AdaptiveMaxPool<axes>::operator()(Operand x) const {
  const Loc loc = x.loc();
  return by_parts(detail::numbered("AdaptiveMaxPool", axes), x, target,
                  [&](const Array& y, int axis) {
                    return max({y, loc}, axis);
                  });
}

template struct AvgPool<1>;
template struct AvgPool<2>;
template struct AvgPool<3>;
template struct MaxPool<1>;
template struct MaxPool<2>;
template struct MaxPool<3>;
template struct AdaptiveAvgPool<1>;
template struct AdaptiveAvgPool<2>;
template struct AdaptiveAvgPool<3>;
template struct AdaptiveMaxPool<1>;
template struct AdaptiveMaxPool<2>;
template struct AdaptiveMaxPool<3>;

}  // namespace gnomon::nn
