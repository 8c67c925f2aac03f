// engine/library/nn/norm.cpp -- examples brought to mean 0 and variance 1.
#include "gnomon/nn/norm.h"

#include "engine/library/nn/checks.h"
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

}  // namespace

LayerNorm LayerNorm::make(const Shape& shape, LayerNormOptions options, Loc loc) {
  LayerNorm layer{shape, {}, {}, options.eps};
  if (options.use_weight) layer.weight = ones(shape, options.dtype, loc);
  if (options.use_bias) layer.bias = zeros(shape, options.dtype, loc);
  return layer;
}

Array LayerNorm::operator()(Operand x) const {
  const Loc loc = x.loc();
  const Array in = detail::array_of(x);
  detail::check_shape("LayerNorm", "input", in, shape, loc);
  const Array y = scaled(standardised(widened(in, loc), {}, eps, loc), weight, bias, loc);
  return is_float(in.dtype()) ? cast({y, loc}, in.dtype()) : y;
}

}  // namespace gnomon::nn
