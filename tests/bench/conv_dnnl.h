// tests/bench/conv_dnnl.h -- convolutions by oneDNN on two threads.
#pragma once
#include <cstdint>
#include <memory>

namespace bench {

/// Windows of `window` x `window`, stride 1, borders of zeros that keep the size. Arrays are
/// [batch, channels, side, side], or [batch, side, side, channels] with `channels_last`; kernels
/// [out, in, window, window]. What oneDNN wants otherwise it reorders, which is part of the call.
struct DnnlShape {
  int64_t batch, in, out, side, window;
  bool channels_last = false;
};

class DnnlConv {
 public:
  explicit DnnlConv(const DnnlShape&);
  ~DnnlConv();
  /// With `bias` null there is none.
  void forward(const float* images, const float* kernel, const float* bias, float* result);
  void backward_images(const float* cotangent, const float* kernel, float* images);
  void backward_kernel(const float* images, const float* cotangent, float* kernel);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Waits until OpenMP's threads, which spin for more work for a while, have gone to sleep.
void let_dnnl_sleep();

}  // namespace bench
