// tests/bench/problems_training.cpp -- inputs, references and checks of train_mlp, attention and
// gru_scan.
#include "problems_training.h"

#include <array>
#include <cmath>

#include "checking.h"
#include "inputs.h"

namespace bench {
namespace {

using Doubles = std::vector<double>;

void append(std::vector<float>& all, size_t count, float scale, uint32_t seed) {
  for (size_t i = 0; i < count; i++) all.push_back(scale * signed_uniform(all.size(), seed));
}

/// A layer's outputs for one sample: w[out, in] x + b.
Doubles layer(const float* w, const float* b, const Doubles& x, size_t out) {
  Doubles y(out);
  for (size_t j = 0; j < out; j++) {
    y[j] = b[j];
    for (size_t i = 0; i < x.size(); i++) y[j] += double{w[j * x.size() + i]} * x[i];
  }
  return y;
}

/// Adds to the gradients of w and b; gives the cotangent of x.
Doubles layer_back(const float* w, const Doubles& x, const Doubles& of_y, double* of_w,
                   double* of_b) {
  Doubles of_x(x.size());
  for (size_t j = 0; j < of_y.size(); j++) {
    of_b[j] += of_y[j];
    for (size_t i = 0; i < x.size(); i++) {
      of_w[j * x.size() + i] += of_y[j] * x[i];
      of_x[i] += double{w[j * x.size() + i]} * of_y[j];
    }
  }
  return of_x;
}

/// Loss and gradient of `n` parameters, added up over all samples: work(sample, gradient) adds to a
/// gradient and gives a loss.
template <class Work>
std::shared_ptr<Doubles> summed(size_t samples, size_t n, const Work& work) {
  constexpr size_t part = 32;
  std::vector<Doubles> parts(samples / part, Doubles(n + 1));
  for_each_index(parts.size(), [&](size_t i) {
    for (size_t s = i * part; s < (i + 1) * part; s++) parts[i][n] += work(s, parts[i].data());
  });
  auto all = std::make_shared<Doubles>(n + 1);
  for (size_t i = 0; i <= n; i++)
    for (const Doubles& each : parts) (*all)[i] += each[i];
  return all;
}

double mlp_sample(const std::vector<float>& data, size_t s, double* g) {
  using P = TrainMlp;
  const auto relu = [](Doubles x) {
    for (double& v : x) v = std::max(v, 0.0);
    return x;
  };
  const auto masked = [](Doubles x, const Doubles& by) {
    for (size_t i = 0; i < x.size(); i++)
      if (by[i] <= 0) x[i] = 0;
    return x;
  };
  const float* p = data.data();
  const float* first = p + P::samples + s * P::inputs;
  const Doubles x(first, first + P::inputs);
  const Doubles h1 = relu(layer(p + P::w1, p + P::b1, x, P::hidden));
  const Doubles h2 = relu(layer(p + P::w2, p + P::b2, h1, P::hidden));
  Doubles y = layer(p + P::w3, p + P::b3, h2, P::classes);
  const size_t label = static_cast<size_t>(p[P::labels + s]);
  double sum = 0;
  for (double v : y) sum += std::exp(v);
  const double loss = (std::log(sum) - y[label]) / P::batch;
  for (size_t c = 0; c < y.size(); c++)
    y[c] = (std::exp(y[c]) / sum - (c == label ? 1.0 : 0.0)) / P::batch;
  const Doubles of2 = masked(layer_back(p + P::w3, h2, y, g + P::w3, g + P::b3), h2);
  const Doubles of1 = masked(layer_back(p + P::w2, h1, of2, g + P::w2, g + P::b2), h1);
  layer_back(p + P::w1, x, of1, g + P::w1, g + P::b1);
  return loss;
}

/// One head: the output and the cotangents, to `out` and `array` numbers behind it.
void attention_head(const float* q, const float* k, const float* v, const float* w, double* out,
                    size_t array) {
  using P = Attention;
  constexpr size_t n = P::length, d = P::size, row = P::row;
  double *of_q = out + array, *of_k = of_q + array, *of_v = of_k + array;
  for (size_t i = 0; i < n; i++) {
    std::array<double, n> p{}, of_p{};
    double sum = 0, inner = 0;
    for (size_t j = 0; j < n; j++) {
      for (size_t c = 0; c < d; c++) p[j] += double{q[i * row + c]} * k[j * row + c];
      p[j] = std::exp(P::scale * p[j]);
      sum += p[j];
    }
    for (size_t j = 0; j < n; j++) {
      p[j] /= sum;
      for (size_t c = 0; c < d; c++) {
        out[i * row + c] += p[j] * double{v[j * row + c]};
        of_v[j * row + c] += p[j] * double{w[i * row + c]};
        of_p[j] += double{v[j * row + c]} * w[i * row + c];
      }
      inner += p[j] * of_p[j];
    }
    for (size_t j = 0; j < n; j++) {
      const double of_s = p[j] * (of_p[j] - inner) * P::scale;
      for (size_t c = 0; c < d; c++) {
        of_q[i * row + c] += of_s * double{k[j * row + c]};
        of_k[j * row + c] += of_s * double{q[i * row + c]};
      }
    }
  }
}

double gru_sample(const std::vector<float>& data, size_t s, double* g) {
  using P = GruScan;
  constexpr size_t hidden = P::hidden;
  struct Step {
    Doubles x, h, m, r, z, n;
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const float* p = data.data();
  const Doubles none(P::gates);
  const std::vector<float> no_bias(P::gates);
  std::vector<Step> steps;
  Doubles h(hidden);
  for (size_t t = 0; t < P::steps; t++) {
    const float* x = p + P::samples + (s * P::steps + t) * P::inputs;
    Step e{Doubles(x, x + P::inputs), h, {}, h, h, h};
    const Doubles l = layer(p + P::wi, p + P::b, e.x, P::gates);
    e.m = layer(p + P::wh, no_bias.data(), h, P::gates);
    for (size_t j = 0; j < hidden; j++) {
      e.m[2 * hidden + j] += p[P::bn + j];
      e.r[j] = sigmoid(l[j] + e.m[j]);
      e.z[j] = sigmoid(l[hidden + j] + e.m[hidden + j]);
      e.n[j] = std::tanh(l[2 * hidden + j] + e.r[j] * e.m[2 * hidden + j]);
      h[j] = e.n[j] + e.z[j] * (h[j] - e.n[j]);
    }
    steps.push_back(std::move(e));
  }
  double loss = 0;
  constexpr double terms = double{P::batch} * hidden;
  for (size_t j = 0; j < hidden; j++) {
    const double off = h[j] - double{p[P::targets + s * hidden + j]};
    loss += off * off / terms;
    h[j] = 2 * off / terms;
  }
  Doubles of_l(P::gates), of_m(P::gates), unused(P::gates);
  for (size_t t = P::steps; t-- > 0;) {
    const Step& e = steps[t];
    for (size_t j = 0; j < hidden; j++) {
      const double of_n = h[j] * (1 - e.z[j]) * (1 - e.n[j] * e.n[j]);
      of_l[2 * hidden + j] = of_n;
      of_m[2 * hidden + j] = of_n * e.r[j];
      of_l[j] = of_m[j] = of_n * e.m[2 * hidden + j] * e.r[j] * (1 - e.r[j]);
      of_l[hidden + j] = of_m[hidden + j] = h[j] * (e.h[j] - e.n[j]) * e.z[j] * (1 - e.z[j]);
      g[P::bn + j] += of_m[2 * hidden + j];
    }
    layer_back(p + P::wi, e.x, of_l, g + P::wi, g + P::b);
    const Doubles before = layer_back(p + P::wh, e.h, of_m, g + P::wh, unused.data());
    for (size_t j = 0; j < hidden; j++) h[j] = h[j] * e.z[j] + before[j];
  }
  return loss;
}

}  // namespace

std::vector<float> train_mlp_input() {
  using P = TrainMlp;
  std::vector<float> all;
  const auto weights = [&](size_t in, size_t out) {
    append(all, in * out + out, 1 / std::sqrt(static_cast<float>(in)), 11);
  };
  weights(P::inputs, P::hidden);
  weights(P::hidden, P::hidden);
  weights(P::hidden, P::classes);
  append(all, size_t{P::batch} * P::inputs, 1.0f, 12);
  for (size_t i = 0; i < P::batch; i++)
    all.push_back(std::floor(5.0f * (signed_uniform(i, 13) + 1.0f)));
  return all;
}

Check train_mlp_check() {
  using P = TrainMlp;
  const std::vector<float> data = train_mlp_input();
  return adam_check<P>(data, summed(P::batch, P::parameters,
                                    [&](size_t s, double* of) { return mlp_sample(data, s, of); }));
}

std::vector<float> attention_input() {
  std::vector<float> all;
  append(all, 2 * size_t{Attention::array}, 2.0f, 14);
  append(all, 2 * size_t{Attention::array}, 1.0f, 15);
  return all;
}

Check attention_check() {
  using P = Attention;
  const std::vector<float> data = attention_input();
  Doubles reference(size_t{4} * P::array);
  for_each_index(size_t{P::batch} * P::heads, [&](size_t i) {
    const float* q = data.data() + P::begin(i);
    attention_head(q, q + P::array, q + 2 * P::array, q + 3 * P::array,
                   reference.data() + P::begin(i), P::array);
  });
  // Cotangents of v add up 256 products of order 1/256; the others are smaller.
  return against(std::move(reference), 5e-6, 1e-5);
}

std::vector<float> gru_scan_input() {
  using P = GruScan;
  std::vector<float> all;
  append(all, P::parameters, 1 / std::sqrt(static_cast<float>(P::hidden)), 16);
  append(all, size_t{P::batch} * P::steps * P::inputs, 1.0f, 17);
  append(all, size_t{P::batch} * P::hidden, 1.0f, 18);
  return all;
}

Check gru_scan_check() {
  using P = GruScan;
  constexpr size_t n = P::parameters;
  const std::vector<float> data = gru_scan_input();
  const auto g = summed(P::batch, n, [&](size_t s, double* of) { return gru_sample(data, s, of); });
  Doubles wanted{(*g)[n]};
  double largest = 0.0;
  for (size_t i = 0; i < n; i++) {
    wanted.push_back((*g)[i]);
    largest = std::max(largest, std::abs((*g)[i]));
  }
  return against(std::move(wanted), 2e-5 * largest, 2e-5);
}

}  // namespace bench
