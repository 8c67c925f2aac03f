// engine/library/nn/linear.cpp -- affine maps, and perceptrons of several of them.
#include "gnomon/nn/linear.h"

#include <cmath>

#include "engine/library/nn/checks.h"
#include "gnomon/ops.h"

namespace gnomon::nn {

Array uniform_by_fan_in(Key key, const Shape& shape, Dim fan_in, DType dtype, Loc loc) {
  const double limit = 1 / std::sqrt(static_cast<double>(fan_in == 0 ? 1 : fan_in));
  return random::uniform(std::move(key), shape, {-limit, loc}, {limit, loc}, dtype);
}

Linear Linear::make(Features in, Features out, Key key, LinearOptions options, Loc loc) {
  detail::check_sizes("Linear", {{"in", in.count()}, {"out", out.count()}}, 0, loc);
  auto [for_weight, for_bias] = random::split<2>(std::move(key), loc);
  Linear layer;
  layer.weight = uniform_by_fan_in(std::move(for_weight), {out.count(), in.count()}, in.count(),
                                   options.dtype, loc);
  if (options.use_bias)
    layer.bias =
        uniform_by_fan_in(std::move(for_bias), {out.count()}, in.count(), options.dtype, loc);
  layer.scalar_in = in.is_scalar();
  layer.scalar_out = out.is_scalar();
  return layer;
}

Array Linear::operator()(Operand x) const {
  const Loc loc = x.loc();
  detail::check_weight("Linear", "weight", weight, 2, loc);
  Array in = detail::array_of(x);
  detail::check_shape("Linear", "input", in, scalar_in ? Shape() : Shape(weight.dim(1)), loc);
  if (scalar_in) in = reshape({in, loc}, {1});
  Array y = matmul({weight, loc}, {in, loc});
  if (bias) y = add({y, loc}, {*bias, loc});
  return scalar_out ? squeeze({y, loc}) : y;
}

Mlp Mlp::make(Features in, Features out, Dim width, Dim depth, Key key, MlpOptions options,
              Loc loc) {
  detail::check_sizes("Mlp", {{"width", width}, {"depth", depth}}, 0, loc);
  const Keys keys = random::split(std::move(key), depth + 1, loc);
  Mlp net{{}, options.activation, options.final_activation};
  for (Dim i = 0; i <= depth; ++i)
    net.layers.push_back(
        Linear::make(i == 0 ? in : width, i == depth ? out : width, keys[i],
                     {i == depth ? options.use_final_bias : options.use_bias, options.dtype}, loc));
  return net;
}

Array Mlp::operator()(Operand x) const {
  const Loc loc = x.loc();
  if (layers.empty())
    detail::fail("Mlp", "it has no layers; nn::Mlp::make gives it depth + 1 of them", loc);
  Array y = detail::array_of(x);
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) y = activation({layers[i]({y, loc}), loc});
  return final_activation({layers.back()({y, loc}), loc});
}

}  // namespace gnomon::nn
