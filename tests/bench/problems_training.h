// tests/bench/problems_training.h -- what the workloads of dense training, attention and recurrent
// networks compute.
#pragma once
#include <vector>

#include "problems.h"

namespace bench {

/// One training step of a classifier 784-256-256-10 with relu: the mean over 256 samples of the
/// softmax cross entropy, its gradient, and Adam from nothing.
///
/// Input: parameters w1[256, 784], b1, w2[256, 256], b2, w3[10, 256], b3 (a layer is w x + b),
/// samples [256, 784] in [-1, 1), labels [256] as floats. Result: the loss, parameters, first and
/// second moments.
struct TrainMlp {
  static constexpr uint32_t batch = 256, inputs = 784, hidden = 256, classes = 10;
  static constexpr uint32_t w1 = 0, b1 = w1 + hidden * inputs, w2 = b1 + hidden,
                            b2 = w2 + hidden * hidden, w3 = b2 + hidden, b3 = w3 + classes * hidden,
                            parameters = b3 + classes;
  static constexpr uint32_t samples = parameters, labels = samples + batch * inputs;
  static constexpr float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
};
std::vector<float> train_mlp_input();
Check train_mlp_check();

/// softmax(q k^T / 8) v for 8 examples of 8 heads, sequences of 256, heads of 64, and the gradient
/// of its product with given weights.
///
/// Input: q, k, v and the weights, each [batch, length, heads, size]. Result: the output, and the
/// cotangents of q, k, v.
struct Attention {
  static constexpr uint32_t batch = 8, heads = 8, length = 256, size = 64, row = heads * size,
                            array = batch * length * row;
  /// Where head `i` of all examples begins, its positions `row` apart.
  static constexpr size_t begin(size_t i) { return i / heads * length * row + i % heads * size; }
  static constexpr float scale = 0.125f;
};
std::vector<float> attention_input();
Check attention_check();

/// A GRU of 64 units over 64 steps of 32 numbers for 256 samples, from nothing: the mean square of
/// what the last states are off their targets, and the gradient of all weights.
///
///   l = wi x + b,  m = wh h,  r = sigmoid(l0 + m0),  z = sigmoid(l1 + m1),
///   n = tanh(l2 + r (m2 + bn)),  h' = n + z (h - n)
/// Input: wi[192, 32], wh[192, 64], b[192], bn[64], samples [256, 64, 32], targets [256, 64].
/// Result: the loss and the gradient.
struct GruScan {
  static constexpr uint32_t batch = 256, steps = 64, inputs = 32, hidden = 64, gates = 3 * hidden;
  static constexpr uint32_t wi = 0, wh = wi + gates * inputs, b = wh + gates * hidden,
                            bn = b + gates, parameters = bn + hidden;
  static constexpr uint32_t samples = parameters, targets = samples + batch * steps * inputs;
};
std::vector<float> gru_scan_input();
Check gru_scan_check();

}  // namespace bench
