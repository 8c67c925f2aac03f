// tests/bench/native_cnn.h -- a training step of the digits network for this processor.
#pragma once
#include "native.h"

namespace bench::native {

/// Somebody's convolutions of images [batch, side, side, channels] with kernels [out, in, 3, 3]:
/// layer 0 from 1 to 8 channels of 8 x 8 pixels, layer 1 from 8 to 16 channels of 4 x 4.
class Convolutions {
 public:
  virtual ~Convolutions() = default;
  virtual void forward(int layer, const float* images, const float* kernel, float* result) = 0;
  virtual void of_images(int layer, const float* of, const float* kernel, float* images) = 0;
  virtual void of_kernel(int layer, const float* images, const float* of, float* kernel) = 0;
};

/// Input and result as stated in problems_cnn.h.
constexpr size_t train_cnn_scratch = 1u << 20;
void train_cnn(Pair& pair, Convolutions& convolutions, const float* input, float* scratch,
               float* result);

}  // namespace bench::native
