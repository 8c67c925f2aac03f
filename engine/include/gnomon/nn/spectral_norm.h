// engine/include/gnomon/nn/spectral_norm.h -- a layer whose weight is divided by its largest
// singular value.
#pragma once
#include <utility>

#include "gnomon/random.h"
#include "gnomon/state.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

namespace detail {

/// What is known of the singular vectors that belong to the largest singular value.
struct SingularPair {
  Array left, right;
};
SingularPair first_pair(const Array& weight, Key key, double eps, Loc);
SingularPair next_pair(const Array& weight, SingularPair pair, int iterations, double eps, Loc);
/// weight / (left . weight . right).
Array over_spectral_norm(const Array& weight, const SingularPair&, Loc);

}  // namespace detail

struct SpectralNormOptions {
  int power_iterations = 1;  // in each call
  double eps = 1e-12;        // the least length that a vector is divided by
  bool inference = false;
};

/// `layer` with W / sigma as its weight, where sigma = u . W . v and a State has u and v.
///
///   auto made = make_with_state(nn::SpectralNorm<nn::Linear>::make(
///       nn::Linear::make(3, 8, std::move(a)), std::move(b)));
///   auto [y, state] = made.model(x, std::move(made.state));
///
/// Each call takes v to W^T u and u to W v, both of length 1; `make` did so 15 times from normally
/// distributed ones. W is taken as a matrix of its first axis by all others. Derivatives take u and
/// v to be constant. With `inference` set they and the state stay as they are. `weight` names
/// another array than the layer's weight.
/// Throws UsageError for a weight of rank below 2, and as State does.
/// Source: T. Miyato et al., "Spectral Normalization for Generative Adversarial Networks",
/// arXiv:1802.05957.
template <class Layer, Array Layer::*weight = &Layer::weight>
struct SpectralNorm {
  Layer layer;
  StateIndex<detail::SingularPair> vectors;
  int power_iterations = 1;
  double eps = 1e-12;
  bool inference = false;

  static SpectralNorm make(Layer layer, Key key, SpectralNormOptions options = {},
                           Loc loc = Loc::here()) {
    StateIndex first(detail::first_pair(layer.*weight, std::move(key), options.eps, loc));
    return {std::move(layer), std::move(first), options.power_iterations, options.eps,
            options.inference};
  }
  std::pair<Array, State> operator()(Operand x, State state) const {
    const Loc loc = x.loc();
    detail::SingularPair pair = state.get(vectors, loc);
    if (!inference) {
      pair = detail::next_pair(layer.*weight, std::move(pair), power_iterations, eps, loc);
      state = std::move(state).set(vectors, pair, loc);
    }
    Layer normed = layer;
    normed.*weight = detail::over_spectral_norm(layer.*weight, pair, loc);
    return {normed(x), std::move(state)};
  }
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
