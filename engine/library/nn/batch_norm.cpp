// engine/library/nn/batch_norm.cpp -- means and variances over a batch, and running averages.
#include "gnomon/nn/batch_norm.h"

#include <cmath>

#include "engine/library/nn/checks.h"
#include "gnomon/axes.h"
#include "gnomon/ops.h"

namespace gnomon::nn {
namespace {

constexpr const char* batch_norm_name = "BatchNorm";

/// The dtype in which all is computed.
DType wide(DType input, DType averages) {
  return input == DType::f64 || averages == DType::f64 ? DType::f64 : DType::f32;
}

/// A value for each channel beside the elements of the example.
Array beside(const Array& per_channel, const Array& x, Loc loc) {
  Shape shape = x.shape();
  for (int axis = 1; axis < shape.rank(); ++axis) shape[axis] = 1;
  return reshape({per_channel, loc}, shape);
}

/// The mean of each channel over all elements of all examples.
Array batch_mean(const Array& x, const std::string& axis_name, Loc loc) {
  Array one = x;
  if (x.rank() > 1) {
    std::vector<int> spatial;
    for (int axis = 1; axis < x.rank(); ++axis) spatial.push_back(axis);
    one = mean({x, loc}, spatial);
  }
  return pmean(one, axis_name, loc);
}

void require_axis(const std::string& axis_name, Loc loc) {
  try {
    axis_size(axis_name, loc);
  } catch (const UsageError&) {
    detail::fail(batch_norm_name,
                 "there is no vmap with the axis `" + axis_name +
                     "` around, whose examples would be averaged; write vmap(f, {.in_axes = {0, "
                     "unmapped}, .out_axes = {0, unmapped}, .axis_name = \"" +
                     axis_name + "\"})(xs, state), or set `inference`",
                 loc);
  }
}

struct Moments {
  Array mean, variance;
};

Moments moments_of_batch(const Array& x, const std::string& axis_name, Loc loc) {
  const Array m = batch_mean(x, axis_name, loc);
  const Array off = subtract({x, loc}, {beside(m, x, loc), loc});
  const Array v = batch_mean(square({off, loc}), axis_name, loc);
  return {m, maximum({v, loc}, {0, loc})};
}

/// momentum * average + (1 - momentum) * latest.
Array moved(const Array& average, const Array& latest, double momentum, Loc loc) {
  return add({multiply({average, loc}, {momentum, loc}), loc},
             {multiply({latest, loc}, {1 - momentum, loc}), loc});
}

}  // namespace

std::string_view name(BatchNormMode mode) { return mode == BatchNormMode::ema ? "ema" : "batch"; }

BatchNorm BatchNorm::make(Dim channels, std::string axis_name, BatchNormOptions options, Loc loc) {
  detail::check_sizes(batch_norm_name, {{"channels", channels}}, 1, loc);
  if (!(options.momentum >= 0 && options.momentum < 1)) {
    detail::fail(batch_norm_name,
                 "the momentum is " + std::to_string(options.momentum) +
                     "; it is how much of an average is kept, in [0, 1)",
                 loc);
  }
  const Shape shape{channels};
  BatchNorm layer{channels, std::move(axis_name)};
  if (options.channelwise_affine) {
    layer.weight = ones(shape, options.dtype, loc);
    layer.bias = zeros(shape, options.dtype, loc);
  }
  layer.averages =
      StateIndex(Averages{zeros(shape, options.dtype, loc), ones(shape, options.dtype, loc),
                          zeros({}, DType::i32, loc)});
  layer.mode = options.mode;
  layer.eps = options.eps;
  layer.momentum = options.momentum;
  layer.inference = options.inference;
  return layer;
}

std::pair<Array, State> BatchNorm::operator()(Operand operand, State state) const {
  const Loc loc = operand.loc();
  const Array in = detail::array_of(operand);
  if (in.rank() == 0 || in.dim(0) != channels) {
    detail::fail(batch_norm_name,
                 "the input is " + to_string(in.aval()) + ", the layer takes " +
                     std::to_string(channels) +
                     " channels along the first axis; a layer acts on one example",
                 loc);
  }
  const Averages before = state.get(averages, loc);
  const DType kept = before.mean.dtype(), dtype = wide(in.dtype(), kept);
  const auto widened = [&](const Array& a) { return cast({a, loc}, dtype); };
  const Array x = widened(in);

  Moments taken{widened(before.mean), widened(before.variance)};
  if (inference) {
    if (mode == BatchNormMode::batch) {
      // 1 - momentum^n without the digits that the difference loses for small n.
      const Array n = widened(before.batches);
      const Array weight_of_all =
          negative({expm1({multiply({n, loc}, {std::log(momentum), loc}), loc}), loc});
      const Array scale =
          where({equal({before.batches, loc}, {0, loc}), loc}, {1.0, loc}, {weight_of_all, loc});
      taken = {divide({taken.mean, loc}, {scale, loc}),
               divide({taken.variance, loc}, {scale, loc})};
    }
  } else {
    require_axis(axis_name, loc);
    const Moments batch = moments_of_batch(x, axis_name, loc);
    Moments next{moved(taken.mean, batch.mean, momentum, loc),
                 moved(taken.variance, batch.variance, momentum, loc)};
    if (mode == BatchNormMode::ema) {
      const Array first = equal({before.batches, loc}, {0, loc});
      next = {where({first, loc}, {batch.mean, loc}, {next.mean, loc}),
              where({first, loc}, {batch.variance, loc}, {next.variance, loc})};
    }
    state = std::move(state).set(averages,
                                 {cast({next.mean, loc}, kept), cast({next.variance, loc}, kept),
                                  add({before.batches, loc}, {1, loc})},
                                 loc);
    taken = mode == BatchNormMode::ema ? next : batch;
  }

  const Array off = subtract({x, loc}, {beside(taken.mean, x, loc), loc});
  const Array spread = sqrt({add({taken.variance, loc}, {eps, loc}), loc});
  Array y = divide({off, loc}, {beside(spread, x, loc), loc});
  if (weight) y = multiply({y, loc}, {beside(*weight, x, loc), loc});
  if (bias) y = add({y, loc}, {beside(*bias, x, loc), loc});
  return {is_float(in.dtype()) ? cast({y, loc}, in.dtype()) : y, std::move(state)};
}

}  // namespace gnomon::nn
