// engine/include/gnomon/nn/weight_norm.h -- a layer whose weight is learned as direction and
// length.
#pragma once
#include <optional>
#include <utility>

#include "gnomon/array.h"
#include "gnomon/random.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

namespace detail {
/// Norms over all axes but `axis`, or over all, with the axes left in place.
Array weight_norms(const Array& weight, std::optional<int> axis, Loc);
Array with_norms(const Array& weight, const Array& norms, std::optional<int> axis, Loc);
}  // namespace detail

struct WeightNormOptions {
  /// Each place along it has a length of its own; nothing: one length for all of the weight.
  std::optional<int> axis = 0;
};

/// `layer` with g v / |v| as its weight, v being what it holds: the same function to begin with.
///
///   const auto layer = nn::WeightNorm<nn::Linear>::make(nn::Linear::make(3, 8, std::move(key)));
///
/// `weight` names another array than the layer's weight. Derivatives are NaN where v is 0.
/// Source: T. Salimans, D. Kingma, "Weight Normalization", arXiv:1602.07868.
template <class Layer, Array Layer::*weight = &Layer::weight>
struct WeightNorm {
  Layer layer;
  Array g;
  std::optional<int> axis = 0;

  static WeightNorm make(Layer layer, WeightNormOptions options = {}, Loc loc = Loc::here()) {
    Array g = detail::weight_norms(layer.*weight, options.axis, loc);
    return {std::move(layer), std::move(g), options.axis};
  }
  auto operator()(Operand x) const {
    Layer normed = layer;
    normed.*weight = detail::with_norms(layer.*weight, g, axis, x.loc());
    return normed(x);
  }
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
