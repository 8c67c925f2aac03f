// engine/include/gnomon/nn/activation.h -- activations as parts of models.
#pragma once
#include "gnomon/activations.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

/// A function of one array, as a static field of a layer: relu, gelu, tanh and their like, or a
/// lambda without captures: `[](Operand x) { return leaky_relu(x, 0.2); }`.
using Activation = Array (*)(Operand);

/// x itself.
Array identity(Operand x);

}  // namespace gnomon::nn
#pragma GCC visibility pop
