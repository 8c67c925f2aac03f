// tests/bench/native_cnn.cpp -- what stands between the convolutions of the digits network, with
// GCC vector extensions on two threads. Images have their channels last: a vector is a pixel.
#include "native_cnn.h"

#include <algorithm>
#include <cmath>

#include "native_vector.h"
#include "problems_cnn.h"

namespace bench::native {
namespace {

using P = TrainCnn;
using V8 = float __attribute__((vector_size(32)));
constexpr size_t half = P::batch / 2;

template <class T>
T get(const float* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void put(float* p, T v) {
  std::memcpy(p, &v, sizeof v);
}
template <class T>
T positive(T x) {
  return x > 0.0f ? x : T{};
}

/// What a normalisation knows of its batch; T holds the channels.
template <class T>
struct Norm {
  static constexpr size_t channels = sizeof(T) / sizeof(float);
  size_t count;                     // pixels of all images
  T sums[2] = {}, squares[2] = {};  // by thread
  T mean = {}, variance = {}, inverse = {}, scale = {}, bias = {};
  T of_scale[2] = {}, of_bias[2] = {};  // by thread

  void add_up(int t, const float* y, size_t pixels) {
    T s{}, q{};
    for (size_t i = 0; i < pixels; i++) {
      const T v = get<T>(y + i * channels);
      s += v;
      q += v * v;
    }
    sums[t] = s;
    squares[t] = q;
  }
  void finish(const float* of_scales, const float* of_biases) {
    const float n = static_cast<float>(count);
    mean = (sums[0] + sums[1]) / n;
    variance = (squares[0] + squares[1]) / n - mean * mean;
    for (size_t c = 0; c < channels; c++) inverse[c] = 1.0f / std::sqrt(variance[c] + P::eps);
    scale = get<T>(of_scales);
    bias = get<T>(of_biases);
  }
  T hat(T y) const { return (y - mean) * inverse; }
  T out(T y) const { return positive(hat(y) * scale + bias); }
  /// In place: cotangents of the outputs in front of the relu become those of y.
  void back(const float* y, float* of, size_t pixels) const {
    const float n = static_cast<float>(count);
    const T by_bias = (of_bias[0] + of_bias[1]) / n, by_scale = (of_scale[0] + of_scale[1]) / n,
            factor = scale * inverse;
    for (size_t i = 0; i < pixels * channels; i += channels)
      put(of + i, factor * (get<T>(of + i) - by_bias - hat(get<T>(y + i)) * by_scale));
  }
};

/// f[count] of 0 or 1 / kept for the features of a sample, in the order [pixel, channel] where the
/// numbers that are drawn are in the order [channel, pixel].
void draw(uint32_t sample, float* gains) {
  const U zero{};
  const Words key = threefry({zero, zero + P::seed}, {zero, zero + sample});
  U lane{};
  for (uint32_t c = 0; c < width; c++) lane[c] = c * P::pooled;
  for (uint32_t p = 0; p < P::pooled; p++) {
    const Words w = threefry(key, {zero, lane + p});
    const V u = bits_of<V>((w.first ^ w.second) >> 9 | 0x3F800000u) - 1.0f;
    put(gains + p * width, u < P::kept ? all(1.0f / P::kept) : V{});
  }
}

/// What the last layer adds up, by thread.
struct Head {
  float of_weight[P::classes][P::features] = {}, of_bias[P::classes] = {}, loss = 0;
};

}  // namespace

void train_cnn(Pair& pair, Convolutions& convolutions, const float* input, float* scratch,
               float* result) {
  const auto part = [&](size_t floats) {
    float* p = scratch;
    scratch += floats;
    return p;
  };
  constexpr size_t rows1 = half * P::pixels, rows2 = half * P::pooled;
  // The outputs of the first normalisation lie where their cotangents come to.
  float *y1 = part(2 * rows1 * P::c1), *of1 = part(2 * rows1 * P::c1);
  float *pooled = part(2 * rows2 * P::c1), *of_pooled = part(2 * rows2 * P::c1);
  float *y2 = part(2 * rows2 * P::c2), *of2 = part(2 * rows2 * P::c2), *g = part(P::parameters);
  Norm<V8> first{2 * rows1};
  Norm<V> second{2 * rows2};
  Head heads[2];
  alignas(64) float w3[P::classes][P::features];  // pixels first
  for (size_t c = 0; c < P::classes; c++)
    for (size_t i = 0; i < P::features; i++)
      w3[c][i % P::pooled * P::c2 + i / P::pooled] = input[P::w3 + c * P::features + i];
  // The corner of each window of two by two, of the images of one thread.
  const auto windows = [](size_t t, const auto& visit) {
    for (size_t n = t * half; n < (t + 1) * half; n++)
      for (size_t p = 0; p < P::pooled; p++)
        visit((n * P::pixels + p / 4 * 2 * P::side + p % 4 * 2) * P::c1,
              (n * P::pooled + p) * P::c1);
  };
  constexpr size_t corners[4] = {0, P::c1, P::side * P::c1, (P::side + 1) * P::c1};

  convolutions.forward(0, input + P::images, input + P::w1, y1);
  pair.both([&](int t) { first.add_up(t, y1 + size_t(t) * rows1 * P::c1, rows1); });
  first.finish(input + P::s1, input + P::b1);
  pair.both([&](int t) {
    windows(size_t(t), [&](size_t from, size_t to) {
      V8 top{};  // no output is below 0
      for (const size_t at : corners) {
        const V8 z = first.out(get<V8>(y1 + from + at));
        put(of1 + from + at, z);
        top = z > top ? z : top;
      }
      put(pooled + to, top);
    });
  });
  convolutions.forward(1, pooled, input + P::w2, y2);
  pair.both([&](int t) { second.add_up(t, y2 + size_t(t) * rows2 * P::c2, rows2); });
  second.finish(input + P::s2, input + P::b2);
  pair.both([&](int t) {
    Head& head = heads[t];
    V of_scale{}, of_bias{};
    for (size_t n = size_t(t) * half; n < size_t(t + 1) * half; n++) {
      alignas(64) float gains[P::features], x[P::features];
      draw(static_cast<uint32_t>(n), gains);
      const float* y = y2 + n * P::features;
      for (size_t i = 0; i < P::features; i += width)
        put(x + i, second.out(get<V>(y + i)) * get<V>(gains + i));
      float logits[P::classes], total = 0;
      for (size_t c = 0; c < P::classes; c++) {
        V s{};
        for (size_t i = 0; i < P::features; i += width) s += get<V>(x + i) * get<V>(w3[c] + i);
        logits[c] = sum(s) + input[P::b3 + c];
      }
      const auto label = static_cast<size_t>(input[P::labels + n]);
      const float top = *std::max_element(logits, logits + P::classes), at = logits[label] - top;
      for (float& l : logits) total += l = std::exp(l - top);
      head.loss += (std::log(total) - at) / P::batch;
      for (size_t c = 0; c < P::classes; c++) {
        logits[c] = (logits[c] / total - (c == label ? 1.0f : 0.0f)) / P::batch;
        head.of_bias[c] += logits[c];
      }
      for (size_t i = 0; i < P::features; i += width) {
        const V xs = get<V>(x + i), hat = second.hat(get<V>(y + i));
        V of{};
        for (size_t c = 0; c < P::classes; c++) {
          put(head.of_weight[c] + i, get<V>(head.of_weight[c] + i) + logits[c] * xs);
          of += logits[c] * get<V>(w3[c] + i);
        }
        of = hat * second.scale + second.bias > 0.0f ? of * get<V>(gains + i) : V{};
        put(of2 + n * P::features + i, of);
        of_scale += of * hat;
        of_bias += of;
      }
    }
    second.of_scale[t] = of_scale;
    second.of_bias[t] = of_bias;
  });
  pair.both([&](int t) {
    second.back(y2 + size_t(t) * rows2 * P::c2, of2 + size_t(t) * rows2 * P::c2, rows2);
  });
  convolutions.of_kernel(1, pooled, of2, g + P::w2);
  convolutions.of_images(1, of2, input + P::w2, of_pooled);
  pair.both([&](int t) {
    V8 of_scale{}, of_bias{};
    windows(size_t(t), [&](size_t from, size_t to) {
      const V8 top = get<V8>(pooled + to);
      V8 left = top > 0.0f ? get<V8>(of_pooled + to) : V8{};  // until the first of equals has it
      for (const size_t at : corners) {
        const V8 hat = first.hat(get<V8>(y1 + from + at));
        const auto is = get<V8>(of1 + from + at) == top;
        const V8 of = is ? left : V8{};
        left = is ? V8{} : left;
        put(of1 + from + at, of);
        of_scale += of * hat;
        of_bias += of;
      }
    });
    first.of_scale[t] = of_scale;
    first.of_bias[t] = of_bias;
  });
  pair.both([&](int t) {
    first.back(y1 + size_t(t) * rows1 * P::c1, of1 + size_t(t) * rows1 * P::c1, rows1);
  });
  convolutions.of_kernel(0, input + P::images, of1, g + P::w1);

  put(g + P::s1, first.of_scale[0] + first.of_scale[1]);
  put(g + P::b1, first.of_bias[0] + first.of_bias[1]);
  put(g + P::s2, second.of_scale[0] + second.of_scale[1]);
  put(g + P::b2, second.of_bias[0] + second.of_bias[1]);
  for (size_t c = 0; c < P::classes; c++) {
    g[P::b3 + c] = heads[0].of_bias[c] + heads[1].of_bias[c];
    for (size_t i = 0; i < P::features; i++) {
      const size_t at = i % P::pooled * P::c2 + i / P::pooled;
      g[P::w3 + c * P::features + i] = heads[0].of_weight[c][at] + heads[1].of_weight[c][at];
    }
  }
  result[0] = heads[0].loss + heads[1].loss;
  float *p = result + 1, *m = p + P::parameters, *v = m + P::parameters;
  for (size_t i = 0; i < P::parameters; i++) {
    m[i] = (1 - P::beta1) * g[i];
    v[i] = (1 - P::beta2) * g[i] * g[i];
    p[i] = input[i] -
           P::rate * (m[i] / (1 - P::beta1)) / (std::sqrt(v[i] / (1 - P::beta2)) + P::epsilon);
  }
  auto average = [out = v + P::parameters](const auto& x, float start) mutable {
    put(out, P::momentum * start + (1 - P::momentum) * x);
    out += sizeof x / sizeof(float);
  };
  average(first.mean, 0.0f);
  average(first.variance, 1.0f);
  average(second.mean, 0.0f);
  average(second.variance, 1.0f);
}

}  // namespace bench::native
