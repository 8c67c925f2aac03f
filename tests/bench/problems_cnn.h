// tests/bench/problems_cnn.h -- what a training step of a small convolutional network computes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "problems.h"

namespace bench {

/// One training step of the network that reads digits of 8 x 8 pixels: convolution to 8 channels,
/// batch normalisation, relu, maximum of 2 x 2, convolution to 16 channels, normalisation, relu,
/// dropout of a fifth, linear to 10 classes; windows of 3 x 3, borders of zeros, no bias in front
/// of a normalisation. The mean over 128 samples of the softmax cross entropy, its gradient, and
/// Adam from nothing.
///
/// Dropout draws as random::bernoulli does by split keys of random::key(seed), one for a sample.
/// Input: parameters w1[8, 1, 3, 3], s1[8], b1[8], w2[16, 8, 3, 3], s2[16], b2[16], w3[10, 256],
/// b3[10] (s and b of normalisations), images [128, 1, 8, 8], labels [128] as floats. Result: the
/// loss, parameters, first and second moments, running means and variances of both normalisations.
struct TrainCnn {
  static constexpr uint32_t batch = 128, side = 8, pixels = side * side, c1 = 8, c2 = 16, taps = 9,
                            pooled = pixels / 4, features = c2 * pooled, classes = 10;
  static constexpr uint32_t w1 = 0, s1 = w1 + c1 * taps, b1 = s1 + c1, w2 = b1 + c1,
                            s2 = w2 + c2 * c1 * taps, b2 = s2 + c2, w3 = b2 + c2,
                            b3 = w3 + classes * features, parameters = b3 + classes;
  static constexpr uint32_t images = parameters, labels = images + batch * pixels,
                            averages = 2 * (c1 + c2), results = 1 + 3 * parameters + averages;
  static constexpr uint32_t seed = 7;
  static constexpr float kept = 0.8f, momentum = 0.9f, eps = 1e-5f;
  static constexpr float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
};
std::vector<float> train_cnn_input();
Check train_cnn_check();

}  // namespace bench
