// tests/bench/problems_conv.cpp -- inputs, references and checks of convolutions.
#include "problems_conv.h"

#include "checking.h"
#include "inputs.h"

namespace bench {
namespace {

using P = Conv2d;
constexpr size_t side = P::side, window = P::window, border = window / 2;

/// visit(first column of the result, of the image, number of columns) for each row of the result
/// that a tap meets the image in: rows `y` of the result and `y + ky - border` of the image.
template <class Visit>
void for_each_row(size_t ky, size_t kx, const Visit& visit) {
  const size_t first = kx < border ? border - kx : 0;
  const size_t last = kx > border ? side - (kx - border) : side;
  for (size_t y = 0; y < side; y++) {
    if (y + ky < border || y + ky - border >= side) continue;
    visit(y * side + first, (y + ky - border) * side + first + kx - border, last - first);
  }
}

/// image, result, tap: pointers to a channel each, and the weight's number.
template <class Visit>
void for_each_pair(size_t n, const Visit& visit) {
  for (size_t o = 0; o < P::out; o++)
    for (size_t c = 0; c < P::in; c++)
      visit((n * P::in + c) * P::pixels, (n * P::out + o) * P::pixels, (o * P::in + c) * P::taps);
}

}  // namespace

std::vector<float> conv2d_images() { return eighths(P::images, 1); }
std::vector<float> conv2d_kernel() { return eighths(P::kernel, 2); }
std::vector<float> conv2d_cotangent() { return eighths(P::result, 3); }

Check conv2d_check() {
  const std::vector<float> x = conv2d_images(), w = conv2d_kernel();
  std::vector<double> y(P::result);
  for_each_index(P::batch, [&](size_t n) {
    for_each_pair(n, [&](size_t image, size_t result, size_t weights) {
      for (size_t k = 0; k < P::taps; k++) {
        const double weight = w[weights + k];
        for_each_row(k / window, k % window, [&](size_t to, size_t from, size_t count) {
          for (size_t i = 0; i < count; i++) y[result + to + i] += weight * x[image + from + i];
        });
      }
    });
  });
  return against(std::move(y), 0.0, 0.0);
}

Check conv2d_grad_check() {
  const std::vector<float> x = conv2d_images(), w = conv2d_kernel(), ct = conv2d_cotangent();
  std::vector<double> all(size_t{P::images} + P::kernel);
  std::vector<std::vector<double>> of_kernel(P::batch, std::vector<double>(P::kernel));
  for_each_index(P::batch, [&](size_t n) {
    for_each_pair(n, [&](size_t image, size_t result, size_t weights) {
      for (size_t k = 0; k < P::taps; k++) {
        const double weight = w[weights + k];
        double sum = 0.0;
        for_each_row(k / window, k % window, [&](size_t to, size_t from, size_t count) {
          for (size_t i = 0; i < count; i++) {
            all[image + from + i] += weight * ct[result + to + i];
            sum += static_cast<double>(x[image + from + i]) * ct[result + to + i];
          }
        });
        of_kernel[n][weights + k] = sum;
      }
    });
  });
  for (const std::vector<double>& part : of_kernel)
    for (size_t i = 0; i < P::kernel; i++) all[P::images + i] += part[i];
  return against(std::move(all), 0.0, 0.0);
}

}  // namespace bench
