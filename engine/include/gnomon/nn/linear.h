// engine/include/gnomon/nn/linear.h -- affine maps, and perceptrons of several of them.
#pragma once
#include <concepts>
#include <optional>
#include <vector>

#include "gnomon/nn/activation.h"
#include "gnomon/nn/initialise.h"
#include "gnomon/random.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

struct ScalarFeature {};
/// In the place of a number of features: one number, an array without axes instead of one of
/// length 1.
inline constexpr ScalarFeature scalar{};

/// How many features a layer takes or gives.
class Features {
 public:
  template <std::integral I>
  constexpr Features(I count) : count_(static_cast<Dim>(count)) {}    // NOLINT: implicit on purpose
  constexpr Features(ScalarFeature) : count_(1), is_scalar_(true) {}  // NOLINT: likewise
  constexpr Dim count() const { return count_; }
  constexpr bool is_scalar() const { return is_scalar_; }

 private:
  Dim count_;
  bool is_scalar_ = false;
};

struct LinearOptions {
  bool use_bias = true;
  DType dtype = DType::f32;
};

/// weight x + bias.
///
///   const auto layer = nn::Linear::make(3, 8, std::move(key));
///   const Array y = layer(x);               // f[3] -> f[8]
///   const Array ys = vmap(layer)(batch);    // f[n,3] -> f[n,8]
///
/// Both are drawn by `uniform_by_fan_in` from a key each, as Equinox does.
/// Throws UsageError for an input of another shape.
struct Linear {
  Array weight;                                // [out, in]
  std::optional<Array> bias = {};              // [out]
  bool scalar_in = false, scalar_out = false;  // one feature without an axis

  static Linear make(Features in, Features out, Key key, LinearOptions options = {},
                     Loc loc = Loc::here());
  Array operator()(Operand x) const;
};

struct MlpOptions {
  Activation activation = relu;  // behind every layer but the last
  Activation final_activation = identity;
  bool use_bias = true;  // in every layer but the last
  bool use_final_bias = true;
  DType dtype = DType::f32;
};

/// A multi-layer perceptron: `depth` hidden layers of `width` features, and one that gives the
/// result. A depth of 0 is one Linear.
///
///   const auto net = nn::Mlp::make(2, nn::scalar, 64, 3, std::move(key), {.activation = tanh});
///
/// The first layer takes the first of depth + 1 keys, as in Equinox.
struct Mlp {
  std::vector<Linear> layers;
  Activation activation = relu, final_activation = identity;

  static Mlp make(Features in, Features out, Dim width, Dim depth, Key key, MlpOptions options = {},
                  Loc loc = Loc::here());
  Array operator()(Operand x) const;
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
