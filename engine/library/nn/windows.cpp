// engine/library/nn/windows.cpp -- windows of images, for convolutions and pooling.
#include "engine/library/nn/windows.h"

#include <algorithm>

#include "gnomon/error.h"
#include "gnomon/ops.h"

namespace gnomon::nn {

Around::Around(std::initializer_list<Dim> each) {
  for (const Dim width : each) widths_.emplace_back(width, width);
}

Around::Around(const Padding& padding)
    : kind_(padding.kind() == Padding::Kind::valid  ? Kind::valid
            : padding.kind() == Padding::Kind::same ? Kind::same
                                                    : Kind::given),
      widths_(padding.widths()) {}

Around::Around(const char* name, Loc loc) {
  const std::string_view given = name;
  if (given == "VALID")
    kind_ = Kind::valid;
  else if (given == "SAME")
    kind_ = Kind::same;
  else if (given == "SAME_LOWER")
    kind_ = Kind::same_lower;
  else
    usage_error("nn::Around",
                "\"" + std::string(given) +
                    "\" is no padding; the names are \"VALID\", \"SAME\" and \"SAME_LOWER\"",
                loc);
}

std::string_view name(Around::Kind kind) {
  switch (kind) {
    case Around::Kind::given:
      return "given";
    case Around::Kind::valid:
      return "VALID";
    case Around::Kind::same:
      return "SAME";
    case Around::Kind::same_lower:
      return "SAME_LOWER";
  }
  return "";
}

std::string_view name(PaddingMode mode) {
  switch (mode) {
    case PaddingMode::zeros:
      return "zeros";
    case PaddingMode::reflect:
      return "reflect";
    case PaddingMode::replicate:
      return "replicate";
    case PaddingMode::circular:
      return "circular";
  }
  return "";
}

namespace detail {
namespace {

[[noreturn]] void wrong_count(std::string_view layer, std::string_view what, std::size_t count,
                              int axes, Loc loc) {
  fail(layer,
       std::to_string(count) + " numbers of `" + std::string(what) + "` for " +
           std::to_string(axes) + " spatial axes; give one for all of them or one for each",
       loc);
}

/// `count` elements in front of (or behind) `axis`, of a mode that is not zeros.
Array beside(const Array& x, int axis, Dim count, bool in_front, PaddingMode mode, Loc loc) {
  const Dim n = x.dim(axis);
  const Dim edge = in_front ? 0 : n - 1;
  if (mode == PaddingMode::replicate) {
    Shape shape = x.shape();
    shape[axis] = count;
    return broadcast_to({slice_axis({x, loc}, axis, edge, edge + 1), loc}, shape);
  }
  if (mode == PaddingMode::circular)
    return in_front ? slice_axis({x, loc}, axis, n - count, n)
                    : slice_axis({x, loc}, axis, 0, count);
  const Array turned = in_front ? slice_axis({x, loc}, axis, 1, count + 1)
                                : slice_axis({x, loc}, axis, n - 1 - count, n - 1);
  return flip({turned, loc}, axis);
}

}  // namespace

std::vector<Dim> per_axis(std::string_view layer, std::string_view what, const PerAxis& given,
                          int axes, Dim least, Loc loc) {
  std::vector<Dim> numbers = given.numbers();
  const auto count = static_cast<std::size_t>(axes);
  if (numbers.size() == 1) numbers.assign(count, numbers[0]);
  if (numbers.size() != count) wrong_count(layer, what, numbers.size(), axes, loc);
  for (const Dim n : numbers) check_sizes(layer, {{what, n}}, least, loc);
  return numbers;
}

Widths given_widths(std::string_view layer, const Around& around, int axes, Loc loc) {
  Widths widths = around.widths();
  const auto count = static_cast<std::size_t>(axes);
  if (around.kind() == Around::Kind::valid) return Widths(count);
  if (widths.size() == 1) widths.assign(count, widths[0]);
  if (widths.size() != count) wrong_count(layer, "padding", widths.size(), axes, loc);
  return widths;
}

Widths widths_around(std::string_view layer, const Around& around, Lengths image, Lengths window,
                     Lengths stride, Lengths dilation, Loc loc) {
  const bool lower = around.kind() == Around::Kind::same_lower;
  if (!lower && around.kind() != Around::Kind::same)
    return given_widths(layer, around, static_cast<int>(image.size()), loc);
  Widths widths;
  for (std::size_t i = 0; i < image.size(); ++i) {
    const Dim out = (image[i] + stride[i] - 1) / stride[i];
    const Dim all =
        std::max<Dim>(0, (out - 1) * stride[i] + reach(window[i], dilation[i]) - image[i]);
    const Dim before = (all + (lower ? 1 : 0)) / 2;
    widths.emplace_back(before, all - before);
  }
  return widths;
}

std::vector<Dim> image_lengths(std::string_view layer, const Array& x, int axes, Dim channels,
                               Loc loc) {
  if (x.rank() != axes + 1 || (channels > 0 && x.dim(0) != channels)) {
    Shape want(channels > 0 ? channels : -1);
    for (int i = 0; i < axes; ++i) want.append(-1);
    check_shape(layer, "image", x, want, loc);
  }
  return {x.shape().begin() + 1, x.shape().end()};
}

Array padded(std::string_view layer, Array x, const Widths& widths, PaddingMode mode, Loc loc) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const int axis = static_cast<int>(i) + 1;
    const auto [before, behind] = widths[i];
    const Dim n = x.dim(axis);
    const Dim most = mode == PaddingMode::reflect    ? n - 1
                     : mode == PaddingMode::circular ? n
                                                     : before + behind;
    if (std::min(before, behind) < 0 || std::max(before, behind) > most || n == 0)
      fail(layer,
           std::to_string(before) + " elements before and " + std::to_string(behind) +
               " behind an axis of " + std::to_string(n) + " cannot be " + std::string(name(mode)) +
               "; use zeros, or smaller padding",
           loc);
    std::vector<Array> parts{x};
    if (before > 0) parts.insert(parts.begin(), beside(x, axis, before, true, mode, loc));
    if (behind > 0) parts.push_back(beside(x, axis, behind, false, mode, loc));
    if (parts.size() > 1) x = concatenate(parts, axis, loc);
  }
  return x;
}

}  // namespace detail
}  // namespace gnomon::nn
