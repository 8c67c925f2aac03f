// engine/include/gnomon/nn/batch_norm.h -- examples brought to mean 0 and variance 1 channel by
// channel, by what is known of all examples.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gnomon/state.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

/// Whose mean and variance are taken while training.
enum class BatchNormMode : std::uint8_t {
  batch,  // those of the batch; inference takes what their averages come to
  ema,    // the running averages, this batch included, as inference does
};
std::string_view name(BatchNormMode);

struct BatchNormOptions {
  BatchNormMode mode = BatchNormMode::batch;
  double eps = 1e-5;               // added to the variance
  bool channelwise_affine = true;  // a weight and a bias for each channel
  double momentum = 0.99;          // how much of an average is kept, in [0, 1)
  bool inference = false;
  DType dtype = DType::f32;  // of weights and averages
};

/// (x - mean) / sqrt(variance + eps) * weight + bias, channel by channel, of f[channels, ..].
///
/// It acts on one example; means and variances (of all elements, not of one less) are those over
/// the vmap whose axis has the name `axis_name`, and averages of them are in a State:
///
///   auto made = make_with_state(Net{nn::BatchNorm::make(16, "batch"), ..});
///   const auto batched = vmap([&](const Array& x, State state) {
///     return made.model(x, std::move(state));
///   }, {.in_axes = {0, unmapped}, .out_axes = {0, unmapped}, .axis_name = "batch"});
///   auto [ys, state] = batched(xs, made.state);
///
/// While training, mode `batch` takes m and v of the batch; averages A = momentum A +
/// (1 - momentum) m, from 0 for means and 1 for variances on, and inference takes A / (1 -
/// momentum^n) after n batches, A before the first. Mode `ema` takes the averages: those of the
/// first batch are its m and v. With `inference` set there is no need of a batch, and the state
/// comes back as it was.
/// Means and variances are made in f32 at least; the result has the dtype of the input.
/// Throws UsageError outside of the named vmap, for another number of channels, and as State does.
/// Source: S. Ioffe, C. Szegedy, "Batch Normalization", arXiv:1502.03167; the modes are Equinox's.
struct BatchNorm {
  struct Averages {
    Array mean, variance;  // [channels]
    Array batches;         // i32[]: how many went in
  };

  Dim channels = 1;
  std::string axis_name;
  std::optional<Array> weight = {}, bias = {};  // [channels]
  StateIndex<Averages> averages = {};
  BatchNormMode mode = BatchNormMode::batch;
  double eps = 1e-5, momentum = 0.99;
  bool inference = false;

  static BatchNorm make(Dim channels, std::string axis_name, BatchNormOptions options = {},
                        Loc loc = Loc::here());
  std::pair<Array, State> operator()(Operand x, State state) const;
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
