// tests/bench/problems_conv.h -- the workloads that are convolutions; as problems.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "problems.h"

namespace bench {

/// A convolution of images f32[batch, in, side, side] with a kernel f32[out, in, window, window],
/// stride 1, borders of zeros such that the result is as large.
///
/// All elements are multiples of 1/8 in [-1, 1]: sums are exact in any order, and results are
/// compared bit for bit. conv2d: input images, kernel; result f32[batch, out, side, side].
/// conv2d_grad: input also the cotangent of the result; result the cotangents of images and kernel,
/// one behind the other.
struct Conv2d {
  static constexpr uint32_t batch = 32, in = 32, out = 64, side = 32, window = 3;
  static constexpr uint32_t pixels = side * side, taps = window * window;
  static constexpr uint32_t images = batch * in * pixels, kernel = out * in * taps,
                            result = batch * out * pixels;
};
std::vector<float> conv2d_images();
std::vector<float> conv2d_kernel();
std::vector<float> conv2d_cotangent();
Check conv2d_check();
Check conv2d_grad_check();

}  // namespace bench
