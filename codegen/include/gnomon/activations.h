// codegen/include/gnomon/activations.h -- the nonlinear functions of networks. relu, sigmoid,
// softplus, tanh and softmax are in gnomon/ops.h.
//
// Integers and bool become f32. Derivatives at corners are those of the branch named first.
#pragma once
#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon {

// All but glu are functions of one array, as layers take them (nn::Activation); those with a
// parameter have its usual value then, and a function of two with another.

/// x sigmoid(x), also called swish.
Array silu(Operand x);
inline Array swish(Operand x) { return silu(x); }
/// x times the standard normal distribution function at x; or its approximation by tanh, the usual.
/// Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415.
Array gelu(Operand x, bool approximate);
inline Array gelu(Operand x) { return gelu(x, true); }
/// alpha (exp(x) - 1) below 0; alpha is 1.
Array elu(Operand x, Operand alpha);
inline Array elu(Operand x) { return elu(x, 1.0); }
/// alpha (exp(x / alpha) - 1) below 0: smooth for every alpha, which is 1.
Array celu(Operand x, Operand alpha);
inline Array celu(Operand x) { return celu(x, 1.0); }
/// scale elu(x, alpha) with the constants that keep mean and variance.
/// Source: Klambauer et al., "Self-Normalizing Neural Networks", arXiv:1706.02515.
Array selu(Operand x);
/// slope x below 0; the slope is 0.01.
Array leaky_relu(Operand x, Operand slope);
inline Array leaky_relu(Operand x) { return leaky_relu(x, 0.01); }
/// min(max(x, 0), 6), with derivative 0 at both corners.
Array relu6(Operand x);
/// x / (1 + |x|).
Array soft_sign(Operand x);
/// x clipped to [-1, 1], with derivative 0 at both corners.
Array hard_tanh(Operand x);
/// relu6(x + 3) / 6.
Array hard_sigmoid(Operand x);
/// x hard_sigmoid(x).
Array hard_silu(Operand x);
/// log(sigmoid(x)).
Array log_sigmoid(Operand x);
/// x tanh(softplus(x)).
Array mish(Operand x);
/// The first half of an axis times the sigmoid of the second. Throws UsageError for an odd length.
Array glu(Operand x, int axis = -1);

}  // namespace gnomon
#pragma GCC visibility pop
