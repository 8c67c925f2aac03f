// engine/library/nn/conv.cpp -- convolutions of one image.
#include "gnomon/nn/conv.h"

#include <algorithm>

#include "engine/library/nn/windows.h"
#include "gnomon/nn/initialise.h"
#include "gnomon/ops.h"

namespace gnomon::nn {
namespace {

using detail::Lengths;
using detail::Widths;

struct Drawn {
  Array weight;
  std::optional<Array> bias;
};

Drawn drawn(std::string_view name, Dim in, Dim out, const std::vector<Dim>& kernel, Dim groups,
            bool use_bias, DType dtype, Key key, Loc loc) {
  detail::check_sizes(name, {{"in", in}, {"out", out}, {"groups", groups}}, 1, loc);
  if (in % groups != 0 || out % groups != 0)
    detail::fail(name,
                 std::to_string(groups) + " groups do not divide " + std::to_string(in) + " and " +
                     std::to_string(out) + " channels; choose a divisor of both",
                 loc);
  Shape shape{out, in / groups}, ones(out);
  Dim fan_in = in / groups;
  for (const Dim k : kernel) {
    shape.append(k);
    ones.append(1);
    fan_in *= k;
  }
  auto [for_weight, for_bias] = random::split<2>(std::move(key), loc);
  Drawn result{uniform_by_fan_in(std::move(for_weight), shape, fan_in, dtype, loc), {}};
  if (use_bias) result.bias = uniform_by_fan_in(std::move(for_bias), ones, fan_in, dtype, loc);
  return result;
}

/// The spatial axes of a weight.
std::vector<Dim> kernel_of(const Array& weight) {
  return {weight.shape().begin() + 2, weight.shape().end()};
}

/// The image as a batch of one, and the bias.
Array convolved(const Array& image, const Array& weight, const std::optional<Array>& bias,
                ConvOptions options, Loc loc) {
  Array y = conv({expand_dims({image, loc}, 0), loc}, {weight, loc}, std::move(options));
  y = squeeze({y, loc}, 0);
  return bias ? add({y, loc}, {*bias, loc}) : y;
}

std::vector<Dim> list(Lengths lengths) { return {lengths.begin(), lengths.end()}; }

/// What a convolution that is connected the other way round has around its image.
Widths transposed_widths(std::string_view name, const Around& around, Lengths kernel,
                         Lengths stride, Lengths dilation, Lengths output_padding, Loc loc) {
  const bool lower = around.kind() == Around::Kind::same_lower;
  const bool same = lower || around.kind() == Around::Kind::same;
  Widths forward(kernel.size());
  if (!same) forward = detail::given_widths(name, around, static_cast<int>(kernel.size()), loc);
  Widths widths;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Dim reach = dilation[i] * (kernel[i] - 1);
    Dim extra = output_padding[i];
    if (same) {
      const Dim all = reach - stride[i] + extra + 1;
      extra = std::max<Dim>(0, -all);
      const Dim some = std::max<Dim>(0, all);
      forward[i].first = (some + (lower ? 1 : 0)) / 2;
      forward[i].second = some - forward[i].first;
    }
    widths.emplace_back(reach - forward[i].first, reach - forward[i].second + extra);
  }
  return widths;
}

}  // namespace

template <int axes>
Conv<axes> Conv<axes>::make(Dim in, Dim out, PerAxis kernel, Key key, ConvLayerOptions options,
                            Loc loc) {
  const std::string name = detail::numbered("Conv", axes);
  auto [weight, bias] = drawn(name, in, out, detail::per_axis(name, "kernel", kernel, axes, 1, loc),
                              options.groups, options.use_bias, options.dtype, std::move(key), loc);
  return {std::move(weight),
          std::move(bias),
          detail::on_axes<axes>(name, "stride", options.stride, 1, loc),
          options.padding,
          detail::on_axes<axes>(name, "dilation", options.dilation, 1, loc),
          options.groups,
          options.padding_mode};
}

template <int axes>
Array Conv<axes>::operator()(Operand x) const {
  const std::string name = detail::numbered("Conv", axes);
  const Loc loc = x.loc();
  detail::check_weight(name, "weight", weight, axes + 2, loc);
  Array image = detail::array_of(x);
  const std::vector<Dim> lengths =
      detail::image_lengths(name, image, axes, weight.dim(1) * groups, loc);
  Widths widths =
      detail::widths_around(name, padding, lengths, kernel_of(weight), stride, dilation, loc);
  if (padding_mode != PaddingMode::zeros) {
    image = detail::padded(name, image, widths, padding_mode, loc);
    widths.assign(axes, {0, 0});
  }
  return convolved(image, weight, bias,
                   {.stride = list(stride),
                    .padding = std::move(widths),
                    .dilation = list(dilation),
                    .groups = groups},
                   loc);
}

template <int axes>
ConvTranspose<axes> ConvTranspose<axes>::make(Dim in, Dim out, PerAxis kernel, Key key,
                                              ConvTransposeLayerOptions options, Loc loc) {
  const std::string name = detail::numbered("ConvTranspose", axes);
  auto [weight, bias] = drawn(name, in, out, detail::per_axis(name, "kernel", kernel, axes, 1, loc),
                              options.groups, options.use_bias, options.dtype, std::move(key), loc);
  const auto stride = detail::on_axes<axes>(name, "stride", options.stride, 1, loc);
  const auto extra = detail::on_axes<axes>(name, "output_padding", options.output_padding, 0, loc);
  for (std::size_t i = 0; i < axes; ++i)
    if (extra[i] >= stride[i])
      detail::fail(name,
                   "an `output_padding` of " + std::to_string(extra[i]) + " for a stride of " +
                       std::to_string(stride[i]) + "; it is less than the stride",
                   loc);
  const auto kind = options.padding.kind();
  const bool same = kind == Around::Kind::same || kind == Around::Kind::same_lower;
  const bool circles = options.padding_mode == PaddingMode::circular && same &&
                       std::all_of(extra.begin(), extra.end(), [](Dim d) { return d == 0; });
  if (options.padding_mode != PaddingMode::zeros && !circles)
    detail::fail(name,
                 "elements around the image that are " +
                     std::string(nn::name(options.padding_mode)) +
                     "; a transposed convolution takes zeros, or circular ones with \"SAME\" and "
                     "no `output_padding`",
                 loc);
  return {std::move(weight),
          std::move(bias),
          stride,
          options.padding,
          extra,
          detail::on_axes<axes>(name, "dilation", options.dilation, 1, loc),
          options.groups,
          options.padding_mode};
}

template <int axes>
Array ConvTranspose<axes>::operator()(Operand x) const {
  const std::string name = detail::numbered("ConvTranspose", axes);
  const Loc loc = x.loc();
  detail::check_weight(name, "weight", weight, axes + 2, loc);
  Array image = detail::array_of(x);
  detail::image_lengths(name, image, axes, weight.dim(1) * groups, loc);
  Widths widths =
      transposed_widths(name, padding, kernel_of(weight), stride, dilation, output_padding, loc);
  if (padding_mode == PaddingMode::circular) {
    // Whole steps of the stride are elements of the image; what is left of them stays zero.
    Widths whole = widths;
    for (std::size_t i = 0; i < axes; ++i) {
      whole[i] = {widths[i].first / stride[i], widths[i].second / stride[i]};
      widths[i] = {widths[i].first % stride[i], widths[i].second % stride[i]};
    }
    image = detail::padded(name, image, whole, padding_mode, loc);
  }
  return convolved(image, weight, bias,
                   {.padding = std::move(widths),
                    .dilation = list(dilation),
                    .input_dilation = list(stride),
                    .groups = groups},
                   loc);
}

template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;
template struct ConvTranspose<1>;
template struct ConvTranspose<2>;
template struct ConvTranspose<3>;

}  // namespace gnomon::nn
