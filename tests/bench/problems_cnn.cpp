// tests/bench/problems_cnn.cpp -- input, reference and check of train_cnn.
#include "problems_cnn.h"

#include <cmath>

#include "checking.h"

namespace bench {
namespace {

using P = TrainCnn;
using Doubles = std::vector<double>;

/// In [-1, 1).
float signed_uniform(size_t index, uint32_t seed) {
  return std::ldexp(
             static_cast<float>(threefry({0, seed}, {0, static_cast<uint32_t>(index)})[0] >> 8),
             -23) -
         1.0f;
}

/// Calls visit(sample and output channel and pixel, sample and input channel and pixel, weight) for
/// all products of a convolution of images [batch, in, side, side].
template <class Visit>
void for_each_product(size_t in, size_t out, size_t side, const Visit& visit) {
  for (size_t n = 0; n < P::batch; n++)
    for (size_t o = 0; o < out; o++)
      for (size_t c = 0; c < in; c++)
        for (size_t k = 0; k < P::taps; k++)
          for (size_t y = 0; y < side; y++)
            for (size_t x = 0; x < side; x++) {
              const size_t sy = y + k / 3 - 1, sx = x + k % 3 - 1;
              if (sy < side && sx < side)
                visit(((n * out + o) * side + y) * side + x, ((n * in + c) * side + sy) * side + sx,
                      (o * in + c) * P::taps + k);
            }
}

/// Normalisation of [batch, channels, pixels] and relu behind it.
struct Norm {
  size_t channels, pixels;
  Doubles mean, variance, hat, out;

  Norm(const Doubles& y, const float* scale, const float* bias, size_t c, size_t p)
      : channels(c), pixels(p), mean(c), variance(c), hat(y.size()), out(y.size()) {
    const double n = static_cast<double>(P::batch * p);
    for (size_t i = 0; i < y.size(); i++) mean[i / p % c] += y[i] / n;
    for (size_t i = 0; i < y.size(); i++)
      variance[i / p % c] += (y[i] - mean[i / p % c]) * (y[i] - mean[i / p % c]) / n;
    for (size_t i = 0; i < y.size(); i++) {
      const size_t at = i / p % c;
      hat[i] = (y[i] - mean[at]) / std::sqrt(variance[at] + double{P::eps});
      out[i] = std::max(0.0, hat[i] * double{scale[at]} + double{bias[at]});
    }
  }
  /// Turns the cotangent of `out` into that of y; adds to those of scale and bias.
  void back(Doubles& of, const float* scale, double* of_scale, double* of_bias) const {
    const double n = static_cast<double>(P::batch * pixels);
    for (size_t i = 0; i < of.size(); i++) {
      const size_t at = i / pixels % channels;
      if (out[i] <= 0) of[i] = 0;
      of_scale[at] += of[i] * hat[i];
      of_bias[at] += of[i];
    }
    for (size_t i = 0; i < of.size(); i++) {
      const size_t at = i / pixels % channels;
      of[i] = double{scale[at]} / std::sqrt(variance[at] + double{P::eps}) *
              (of[i] - (of_bias[at] + hat[i] * of_scale[at]) / n);
    }
  }
};

/// The loss behind the gradient of all parameters, and then the averages.
Doubles reference(const std::vector<float>& in) {
  Doubles g(P::parameters + 1), y1(size_t{P::batch} * P::c1 * P::pixels),
      y2(size_t{P::batch} * P::features), pooled(size_t{P::batch} * P::c1 * P::pooled);
  for_each_product(1, P::c1, P::side, [&](size_t to, size_t from, size_t w) {
    y1[to] += double{in[P::w1 + w]} * double{in[P::images + from]};
  });
  const Norm first(y1, &in[P::s1], &in[P::b1], P::c1, P::pixels);
  std::vector<size_t> best(pooled.size());
  for (size_t i = 0; i < pooled.size(); i++) {
    const size_t corner = i / P::pooled * P::pixels + i % P::pooled / 4 * 2 * P::side + i % 4 * 2;
    best[i] = corner;
    for (const size_t at : {corner + 1, corner + P::side, corner + P::side + 1})
      if (first.out[at] > first.out[best[i]]) best[i] = at;
    pooled[i] = first.out[best[i]];
  }
  for_each_product(P::c1, P::c2, P::side / 2, [&](size_t to, size_t from, size_t w) {
    y2[to] += double{in[P::w2 + w]} * pooled[from];
  });
  const Norm second(y2, &in[P::s2], &in[P::b2], P::c2, P::pooled);
  Doubles of2(y2.size()), of1(y1.size());
  for (size_t n = 0; n < P::batch; n++) {
    const Words key = threefry({0, P::seed}, {0, static_cast<uint32_t>(n)});
    double x[P::features], gain[P::features], y[P::classes], sum = 0;
    for (size_t i = 0; i < P::features; i++) {
      const Words bits = threefry(key, {0, static_cast<uint32_t>(i)});
      const bool stays = std::ldexp(static_cast<float>((bits[0] ^ bits[1]) >> 9), -23) < P::kept;
      gain[i] = stays ? 1 / double{P::kept} : 0.0;
      x[i] = gain[i] * second.out[n * P::features + i];
    }
    for (size_t c = 0; c < P::classes; c++) {
      y[c] = in[P::b3 + c];
      for (size_t i = 0; i < P::features; i++)
        y[c] += double{in[P::w3 + c * P::features + i]} * x[i];
      sum += std::exp(y[c]);
    }
    const auto label = static_cast<size_t>(in[P::labels + n]);
    g[P::parameters] += (std::log(sum) - y[label]) / P::batch;
    for (size_t c = 0; c < P::classes; c++) {
      const double of = (std::exp(y[c]) / sum - (c == label ? 1.0 : 0.0)) / P::batch;
      g[P::b3 + c] += of;
      for (size_t i = 0; i < P::features; i++) {
        g[P::w3 + c * P::features + i] += of * x[i];
        of2[n * P::features + i] += of * double{in[P::w3 + c * P::features + i]} * gain[i];
      }
    }
  }
  second.back(of2, &in[P::s2], &g[P::s2], &g[P::b2]);
  for_each_product(P::c1, P::c2, P::side / 2, [&](size_t to, size_t from, size_t w) {
    g[P::w2 + w] += of2[to] * pooled[from];
    of1[best[from]] += of2[to] * double{in[P::w2 + w]};
  });
  first.back(of1, &in[P::s1], &g[P::s1], &g[P::b1]);
  for_each_product(1, P::c1, P::side, [&](size_t to, size_t from, size_t w) {
    g[P::w1 + w] += of1[to] * double{in[P::images + from]};
  });
  for (const Norm* norm : {&first, &second}) {
    for (const double m : norm->mean) g.push_back((1 - double{P::momentum}) * m);
    for (const double v : norm->variance)
      g.push_back(double{P::momentum} + (1 - double{P::momentum}) * v);
  }
  return g;
}

}  // namespace

std::vector<float> train_cnn_input() {
  std::vector<float> all;
  const auto append = [&](size_t count, float scale, float offset) {
    for (size_t i = 0; i < count; i++)
      all.push_back(offset + scale * signed_uniform(all.size(), 41));
  };
  append(P::s1 - P::w1, 1.0f / 3.0f, 0.0f);
  append(P::c1, 0.3f, 1.0f);
  append(P::c1, 0.3f, 0.0f);
  append(P::s2 - P::w2, 0.12f, 0.0f);
  append(P::c2, 0.3f, 1.0f);
  append(P::c2, 0.3f, 0.0f);
  append(P::parameters - P::w3, 1.0f / 16.0f, 0.0f);
  append(size_t{P::batch} * P::pixels, 1.0f, 0.0f);
  for (size_t i = 0; i < P::batch; i++)
    all.push_back(std::floor(5.0f * (signed_uniform(i, 42) + 1.0f)));
  return all;
}

Check train_cnn_check() {
  const std::vector<float> data = train_cnn_input();
  return adam_check<P>(data, std::make_shared<const Doubles>(reference(data)));
}

}  // namespace bench
