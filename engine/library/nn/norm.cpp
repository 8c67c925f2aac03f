// engine/library/nn/norm.cpp -- examples brought to mean 0 and variance 1.
#include "gnomon/nn/norm.h"

#include "engine/library/nn/checks.h"
#include "gnomon/nn/weight_norm.h"
#include "gnomon/ops.h"

namespace gnomon::nn {
namespace {

/// Means of many f16 or bf16 numbers are made in f32.
Array widened(const Array& x, Loc loc) {
  return x.dtype() == DType::f64 ? x : cast({x, loc}, DType::f32);
}

/// (x - mean) / sqrt(variance + eps) over `axes`, all of the example by default.
Array standardised(const Array& x, const Axes& axes, double eps, Loc loc) {
  const Array off = subtract({x, loc}, {mean({x, loc}, axes, {.keepdims = true}), loc});
  const Array variance = mean({square({off, loc}), loc}, axes, {.keepdims = true});
  return multiply({off, loc}, {rsqrt({add({variance, loc}, {eps, loc}), loc}), loc});
}

Array scaled(Array y, const std::optional<Array>& weight, const std::optional<Array>& bias,
             Loc loc) {
  if (weight) y = multiply({y, loc}, {*weight, loc});
  if (bias) y = add({y, loc}, {*bias, loc});
  return y;
}

/// Back to the dtype that came in.
Array like(const Array& y, const Array& in, Loc loc) {
  return is_float(in.dtype()) ? cast({y, loc}, in.dtype()) : y;
}

template <class L>
L by_element(const Shape& shape, const LayerNormOptions& options, Loc loc) {
  L layer{shape, {}, {}, options.eps};
  if (options.use_weight) layer.weight = ones(shape, options.dtype, loc);
  if (options.use_bias) layer.bias = zeros(shape, options.dtype, loc);
  return layer;
}

/// One number per channel, for f[channels, ..].
std::optional<Array> by_channel(const std::optional<Array>& a, int rank, Loc loc) {
  if (!a) return {};
  Shape shape(a->dim(0));
  while (shape.rank() < rank) shape.append(1);
  return reshape({*a, loc}, shape);
}

/// `x` is f[channels, ..].
Array by_groups(std::string_view name, const Operand& x, Dim groups, Dim channels,
                const std::optional<Array>& weight, const std::optional<Array>& bias, double eps) {
  const Loc loc = x.loc();
  const Array in = detail::array_of(x);
  if (in.rank() < 1 || in.dim(0) != channels)
    detail::fail(name,
                 "the input is " + to_string(in.aval()) + ", the layer takes " +
                     std::to_string(channels) +
                     " channels along the first axis; batches are for gnomon::vmap(layer)(x)",
                 loc);
  if (weight) detail::check_weight(name, "weight", *weight, 1, loc);
  const Array grouped = reshape({widened(in, loc), loc}, {groups, in.size() / groups});
  const Array y = reshape({standardised(grouped, 1, eps, loc), loc}, in.shape());
  const int rank = in.rank();
  return like(scaled(y, by_channel(weight, rank, loc), by_channel(bias, rank, loc), loc), in, loc);
}

template <class L>
L with_channels(L layer, const GroupNormOptions& options, Loc loc) {
  layer.eps = options.eps;
  if (options.channelwise_affine) {
    layer.weight = ones({layer.channels}, options.dtype, loc);
    layer.bias = zeros({layer.channels}, options.dtype, loc);
  }
  return layer;
}

}  // namespace

LayerNorm LayerNorm::make(const Shape& shape, LayerNormOptions options, Loc loc) {
  return by_element<LayerNorm>(shape, options, loc);
}

Array LayerNorm::operator()(Operand x) const {
  const Loc loc = x.loc();
  const Array in = detail::array_of(x);
  detail::check_shape("LayerNorm", "input", in, shape, loc);
  return like(scaled(standardised(widened(in, loc), {}, eps, loc), weight, bias, loc), in, loc);
}

RMSNorm RMSNorm::make(const Shape& shape, LayerNormOptions options, Loc loc) {
  return by_element<RMSNorm>(shape, options, loc);
}

Array RMSNorm::operator()(Operand x) const {
  const Loc loc = x.loc();
  const Array in = detail::array_of(x);
  detail::check_shape("RMSNorm", "input", in, shape, loc);
  const Array wide = widened(in, loc);
  const Array squares = mean({square({wide, loc}), loc}, {}, {.keepdims = true});
  const Array root = rsqrt({add({squares, loc}, {eps, loc}), loc});
  return like(scaled(multiply({wide, loc}, {root, loc}), weight, bias, loc), in, loc);
}

GroupNorm GroupNorm::make(Dim groups, Dim channels, GroupNormOptions options, Loc loc) {
  detail::check_sizes("GroupNorm", {{"groups", groups}, {"channels", channels}}, 1, loc);
  if (channels % groups != 0)
    detail::fail("GroupNorm",
                 std::to_string(channels) + " channels are not " + std::to_string(groups) +
                     " groups of equal size; choose a divisor of the channels",
                 loc);
  return with_channels(GroupNorm{groups, channels}, options, loc);
}

Array GroupNorm::operator()(Operand x) const {
  return by_groups("GroupNorm", x, groups, channels, weight, bias, eps);
}

InstanceNorm InstanceNorm::make(Dim channels, GroupNormOptions options, Loc loc) {
  detail::check_sizes("InstanceNorm", {{"channels", channels}}, 1, loc);
  return with_channels(InstanceNorm{channels}, options, loc);
}

Array InstanceNorm::operator()(Operand x) const {
  return by_groups("InstanceNorm", x, channels, channels, weight, bias, eps);
}

Array detail::weight_norms(const Array& weight, std::optional<int> axis, Loc loc) {
  if (!axis) return norm({weight, loc}, {}, {.keepdims = true});
  const int kept = *axis < 0 ? *axis + weight.rank() : *axis;
  if (kept < 0 || kept >= weight.rank())
    fail("WeightNorm",
         "axis " + std::to_string(*axis) + " of a weight " + to_string(weight.aval()) +
             "; it is one of its " + std::to_string(weight.rank()) + " axes",
         loc);
  std::vector<int> others;
  for (int i = 0; i < weight.rank(); ++i)
    if (i != kept) others.push_back(i);
  return norm({weight, loc}, others, {.keepdims = true});
}

Array detail::with_norms(const Array& weight, const Array& norms, std::optional<int> axis,
                         Loc loc) {
  const Array length = weight_norms(weight, axis, loc);
  return multiply({weight, loc}, {divide({norms, loc}, {length, loc}), loc});
}

}  // namespace gnomon::nn
