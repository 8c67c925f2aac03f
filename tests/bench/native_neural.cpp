// tests/bench/native_neural.cpp -- neural_ode_step with GCC vector extensions, 16 wide.
//
// Each thread takes half of the samples through all steps and back, values of a layer lying
// [unit, sample], and keeps what the pullback looks at; derivatives in the middle weights are one
// contraction over all evaluations and samples in the end.
#include <algorithm>
#include <cmath>
#include <vector>

#include "native_vector.h"
#include "problems.h"

namespace bench::native {
namespace {

using P = NeuralOde;
constexpr int hidden = P::hidden, half = P::batch / 2, vectors = half / width;
constexpr int evaluations = 4 * P::steps;
constexpr int layer_size = hidden * half;
constexpr float share[4] = {P::step / 6, P::step / 3, P::step / 3, P::step / 6};
constexpr float ahead[4] = {0.0f, P::step / 2, P::step / 2, P::step};

inline V tanh_of(V x) {
  const V limited = vmin(vmax(x, all(-20.0f)), all(20.0f));
  return 1.0f - 2.0f / (1.0f + exp2_of(limited * 2.885390081777927f));
}

/// out(j, v, sum over i of w[j][i] in[i]) for all units j and vectors v; `w` f32[hidden, hidden].
template <class Out>
inline void product(const float* w, const float* in, const Out& out) {
  constexpr int units = 8, side = 2;
  for (int v = 0; v < vectors; v += side)
    for (int j = 0; j < hidden; j += units) {
      V sums[units][side] = {};
      for (int i = 0; i < hidden; i++) {
        V x[side];
        for (int s = 0; s < side; s++) x[s] = load(in + i * half + (v + s) * width);
#pragma GCC unroll 8
        for (int u = 0; u < units; u++)
          for (int s = 0; s < side; s++) sums[u][s] += w[i * hidden + j + u] * x[s];
      }
      for (int u = 0; u < units; u++)
        for (int s = 0; s < side; s++) out(j + u, (v + s) * width, sums[u][s]);
    }
}

/// One thread's samples.
class Half {
 public:
  Half()
      : at_(size_t{evaluations} * 2 * half),
        first_(size_t{evaluations} * layer_size),
        second_(first_.size()),
        of_second_(first_.size()),
        off_(size_t{P::steps} * 2 * half) {}

  /// `turned`: w2 as [out, in]. Leaves the share of the loss and of the gradient.
  void run(const float* p, const float* turned, const float* start, const float* targets,
           int from) {
    forward(p, start, targets, from);
    std::fill(gradient, gradient + P::parameters, 0.0f);
    backward(p, turned);
    contract();
  }

  float loss = 0.0f;
  float gradient[P::parameters];

 private:
  void forward(const float* p, const float* start, const float* targets, int from) {
    alignas(64) float y[2][half], next[2][half], k[2][half] = {};
    for (int b = 0; b < half; b++)
      for (int c = 0; c < 2; c++) y[c][b] = start[2 * (from + b) + c];
    V squares{};
    for (int n = 0; n < static_cast<int>(P::steps); n++) {
      std::memcpy(next, y, sizeof y);
      for (int q = 0; q < 4; q++) {
        const size_t e = static_cast<size_t>(4 * n + q);
        float* at = &at_[e * 2 * half];
        for (int i = 0; i < 2 * half; i += width)
          store(at + i, load(&y[0][0] + i) + ahead[q] * load(&k[0][0] + i));
        field(p, at, &first_[e * layer_size], &second_[e * layer_size], &k[0][0]);
        for (int i = 0; i < 2 * half; i += width)
          store(&next[0][0] + i, load(&next[0][0] + i) + share[q] * load(&k[0][0] + i));
      }
      std::memcpy(y, next, sizeof y);
      for (int c = 0; c < 2; c++) {
        float* off = &off_[static_cast<size_t>(2 * n + c) * half];
        for (int b = 0; b < half; b++)
          off[b] = y[c][b] -
                   targets[2 * (static_cast<size_t>(n) * P::batch + static_cast<size_t>(from + b)) +
                           static_cast<size_t>(c)];
        for (int b = 0; b < half; b += width) squares += load(off + b) * load(off + b);
      }
    }
    loss = sum(squares) / static_cast<float>(P::terms);
  }

  static void field(const float* p, const float* y, float* first, float* second, float* k) {
    for (int j = 0; j < hidden; j++)
      for (int b = 0; b < half; b += width)
        store(first + j * half + b,
              tanh_of(p[P::w1 + j] * load(y + b) + p[P::w1 + hidden + j] * load(y + half + b) +
                      p[P::b1 + j]));
    product(p + P::w2, first,
            [&](int j, int b, V s) { store(second + j * half + b, tanh_of(s + p[P::b2 + j])); });
    for (int b = 0; b < half; b += width) {
      V k0 = all(p[P::b3]), k1 = all(p[P::b3 + 1]);
      for (int j = 0; j < hidden; j++) {
        const V h = load(second + j * half + b);
        k0 += p[P::w3 + 2 * j] * h;
        k1 += p[P::w3 + 2 * j + 1] * h;
      }
      store(k + b, k0);
      store(k + half + b, k1);
    }
  }

  void backward(const float* p, const float* turned) {
    alignas(64) float s[2 * half] = {}, total[2 * half], k[2 * half], y[2 * half];
    alignas(64) static thread_local float of_first[layer_size];
    for (int n = static_cast<int>(P::steps); n-- > 0;) {
      const float* off = &off_[static_cast<size_t>(n) * 2 * half];
      for (int i = 0; i < 2 * half; i += width)
        store(s + i, load(s + i) + static_cast<float>(2 / P::terms) * load(off + i));
      std::memcpy(total, s, sizeof s);
      std::fill(y, y + 2 * half, 0.0f);
      for (int q = 4; q-- > 0;) {
        const float next = q < 3 ? ahead[q + 1] : 0.0f;
        for (int i = 0; i < 2 * half; i += width)
          store(k + i, share[q] * load(s + i) + next * load(y + i));
        pull_back(p, turned, static_cast<size_t>(4 * n + q), k, of_first, y);
        for (int i = 0; i < 2 * half; i += width) store(total + i, load(total + i) + load(y + i));
      }
      std::memcpy(s, total, sizeof s);
    }
  }

  void pull_back(const float* p, const float* turned, size_t e, const float* k, float* of_first,
                 float* y) {
    const float *at = &at_[e * 2 * half], *first = &first_[e * layer_size],
                *second = &second_[e * layer_size];
    float* of_second = &of_second_[e * layer_size];
    for (int j = 0; j < hidden; j++) {
      V g0{}, g1{}, gb{};
      for (int b = 0; b < half; b += width) {
        const V h = load(second + j * half + b), k0 = load(k + b), k1 = load(k + half + b);
        const V d = (p[P::w3 + 2 * j] * k0 + p[P::w3 + 2 * j + 1] * k1) * (1.0f - h * h);
        store(of_second + j * half + b, d);
        g0 += h * k0;
        g1 += h * k1;
        gb += d;
      }
      gradient[P::w3 + 2 * j] += sum(g0);
      gradient[P::w3 + 2 * j + 1] += sum(g1);
      gradient[P::b2 + j] += sum(gb);
    }
    for (int c = 0; c < 2; c++) {
      V g{};
      for (int b = 0; b < half; b += width) g += load(k + c * half + b);
      gradient[P::b3 + c] += sum(g);
    }
    product(turned, of_second, [&](int i, int b, V s) {
      const V h = load(first + i * half + b);
      store(of_first + i * half + b, s * (1.0f - h * h));
    });
    for (int b = 0; b < half; b += width) {
      V y0{}, y1{};
      for (int i = 0; i < hidden; i++) {
        const V d = load(of_first + i * half + b);
        y0 += p[P::w1 + i] * d;
        y1 += p[P::w1 + hidden + i] * d;
      }
      store(y + b, y0);
      store(y + half + b, y1);
    }
    for (int i = 0; i < hidden; i++) {
      V g0{}, g1{}, gb{};
      for (int b = 0; b < half; b += width) {
        const V d = load(of_first + i * half + b);
        g0 += load(at + b) * d;
        g1 += load(at + half + b) * d;
        gb += d;
      }
      gradient[P::w1 + i] += sum(g0);
      gradient[P::w1 + hidden + i] += sum(g1);
      gradient[P::b1 + i] += sum(gb);
    }
  }

  /// The middle weights: first x of_second, summed over evaluations and samples.
  void contract() {
    constexpr int side = 4;
    for (int i = 0; i < hidden; i += side)
      for (int j = 0; j < hidden; j += side) {
        V sums[side][side] = {};
        for (size_t e = 0; e < evaluations; e++) {
          const float* a = &first_[e * layer_size + static_cast<size_t>(i * half)];
          const float* d = &of_second_[e * layer_size + static_cast<size_t>(j * half)];
          for (int b = 0; b < half; b += width)
#pragma GCC unroll 4
            for (int u = 0; u < side; u++)
              for (int s = 0; s < side; s++)
                sums[u][s] += load(a + u * half + b) * load(d + s * half + b);
        }
        for (int u = 0; u < side; u++)
          for (int s = 0; s < side; s++)
            gradient[static_cast<int>(P::w2) + (i + u) * hidden + j + s] = sum(sums[u][s]);
      }
  }

  std::vector<float> at_, first_, second_, of_second_, off_;
};

}  // namespace

struct NeuralScratch {
  Half halves[2];
};
void NeuralScratchDeleter::operator()(NeuralScratch* scratch) const { delete scratch; }
NeuralScratchPtr make_neural_scratch() { return NeuralScratchPtr(new NeuralScratch); }

void neural_ode_step(Pair& pair, NeuralScratch& scratch, const float* input, float* result) {
  const float *start = input + P::parameters, *targets = start + 2 * P::batch;
  alignas(64) float turned[hidden * hidden];
  for (int i = 0; i < hidden; i++)
    for (int j = 0; j < hidden; j++)
      turned[j * hidden + i] = input[static_cast<int>(P::w2) + i * hidden + j];
  pair.both([&](int h) { scratch.halves[h].run(input, turned, start, targets, h * half); });
  result[0] = scratch.halves[0].loss + scratch.halves[1].loss;
  float *p = result + 1, *m = p + P::parameters, *v = m + P::parameters;
  for (size_t i = 0; i < P::parameters; i++) {
    const float g = scratch.halves[0].gradient[i] + scratch.halves[1].gradient[i];
    m[i] = (1 - P::beta1) * g;
    v[i] = (1 - P::beta2) * g * g;
    p[i] = input[i] -
           P::rate * (m[i] / (1 - P::beta1)) / (std::sqrt(v[i] / (1 - P::beta2)) + P::epsilon);
  }
}

}  // namespace bench::native
