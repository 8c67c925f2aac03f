// tests/bench/native_training.cpp -- dense training, attention and recurrent networks with GCC
// vector extensions, 16 wide, on two threads.
#include "native_training.h"

#include <algorithm>
#include <cmath>

#include "native_vector.h"
#include "problems_training.h"

namespace bench::native {
namespace {

/// Where an element lies: of a left operand [rows, depth].
struct Left {
  const float* at;
  size_t row, step;
};
struct Right {
  const float* at;
  size_t row;  // [depth, columns], columns side by side
};

/// out(i, j, two vectors) for a block of 8 rows by 32 columns in registers at a time, a panel of
/// the right operand copied side by side. Unchecked: rows a multiple of 8, depth at most 1,024; of
/// columns that are no multiple of 32 there are 16.
template <class Out>
inline void product(const Left& a, const Right& b, size_t rows, size_t depth, size_t columns,
                    const Out& out) {
  constexpr size_t block = 8;
  alignas(64) float panel[1024 * 2 * width];
  for (size_t j = 0; j < columns; j += 2 * width) {
    for (size_t k = 0; k < depth; k++) {
      store(panel + k * 2 * width, load(b.at + k * b.row + j));
      store(panel + k * 2 * width + width,
            j + width < columns ? load(b.at + k * b.row + j + width) : V{});
    }
    for (size_t i = 0; i < rows; i += block) {
      V sums[block][2] = {};
      const float* left = a.at + i * a.row;
      const float* right = panel;
      for (size_t k = 0; k < depth; k++, right += 2 * width, left += a.step) {
        const V b0 = load(right), b1 = load(right + width);
#pragma GCC unroll 8
        for (size_t r = 0; r < block; r++) {
          const V t = all(left[r * a.row]);
          sums[r][0] += t * b0;
          sums[r][1] += t * b1;
        }
      }
#pragma GCC unroll 8
      for (size_t r = 0; r < block; r++) out(i + r, j, sums[r][0], sums[r][1]);
    }
  }
}

/// What `product` calls to store its results.
struct Into {
  float* c;
  size_t row;
  void operator()(size_t i, size_t j, V v0, V v1) const {
    store(c + i * row + j, v0);
    store(c + i * row + j + width, v1);
  }
};

/// The same, added to what is there.
struct AddedTo {
  float* c;
  size_t row;
  void operator()(size_t i, size_t j, V v0, V v1) const {
    store(c + i * row + j, load(c + i * row + j) + v0);
    store(c + i * row + j + width, load(c + i * row + j + width) + v1);
  }
};

/// to[column, row] = from[row, column], whose rows lie `from_row` and `to_row` floats apart.
void turn(const float* from, float* to, size_t rows, size_t columns, size_t from_row,
          size_t to_row) {
  constexpr size_t side = 16;
  for (size_t i = 0; i < rows; i += side)
    for (size_t j = 0; j < columns; j++)
      for (size_t k = i; k < std::min(i + side, rows); k++)
        to[j * to_row + k] = from[k * from_row + j];
}

V exp_of(V x) { return exp2_of(vmax(x * 1.44269504f, all(-126.0f))); }
V sigmoid_of(V x) { return 1.0f / (1.0f + exp_of(vmin(-x, all(80.0f)))); }
V tanh_of(V x) { return 2.0f * sigmoid_of(2.0f * x) - 1.0f; }

}  // namespace

void train_mlp(Pair& pair, const float* input, float* scratch, float* result) {
  using P = TrainMlp;
  constexpr size_t n = P::batch, in = P::inputs, hidden = P::hidden, classes = P::classes,
                   padded = 16, half = n / 2;
  const float *w1 = input + P::w1, *w2 = input + P::w2, *w3 = input + P::w3;
  const float *x = input + P::samples, *labels = input + P::labels;
  const auto part = [&](size_t floats) {
    float* p = scratch;
    scratch += floats;
    return p;
  };
  float *w1t = part(in * hidden), *w2t = part(hidden * hidden), *w3t = part(hidden * padded);
  float *h1 = part(n * hidden), *h2 = part(n * hidden), *d3 = part(n * padded);
  float *d1 = part(n * hidden), *d2 = part(n * hidden);
  float losses[2] = {};
  pair.both([&](int t) {
    const size_t from = static_cast<size_t>(t) * half;
    turn(w1 + from * in, w1t + from, half, in, in, hidden);
    turn(w2 + from * hidden, w2t + from, half, hidden, hidden, hidden);
    if (t != 0) return;
    std::fill(w3t, w3t + hidden * padded, 0.0f);
    turn(w3, w3t, classes, hidden, hidden, padded);
  });
  pair.both([&](int t) {
    const size_t from = static_cast<size_t>(t) * half;
    const auto layer = [&](const float* of, size_t depth, const float* w, const float* bias,
                           float* to) {
      product({of + from * depth, depth, 1}, {w, hidden}, half, depth, hidden,
              [&](size_t i, size_t j, V v0, V v1) {
                float* y = to + (from + i) * hidden + j;
                store(y, vmax(v0 + load(bias + j), V{}));
                store(y + width, vmax(v1 + load(bias + j + width), V{}));
              });
    };
    layer(x, in, w1t, input + P::b1, h1);
    layer(h1, hidden, w2t, input + P::b2, h2);
    product({h2 + from * hidden, hidden, 1}, {w3t, padded}, half, hidden, padded,
            [&](size_t i, size_t, V v0, V) { store(d3 + (from + i) * padded, v0); });
    for (size_t i = from; i < from + half; i++) {
      float *y = d3 + i * padded, sum = 0;
      const size_t label = static_cast<size_t>(labels[i]);
      for (size_t c = 0; c < classes; c++) y[c] += input[P::b3 + c];
      const float top = *std::max_element(y, y + classes), wanted = y[label] - top;
      for (size_t c = 0; c < classes; c++) sum += y[c] = std::exp(y[c] - top);
      losses[t] += (std::log(sum) - wanted) / static_cast<float>(n);
      for (size_t c = 0; c < classes; c++)
        y[c] = (y[c] / sum - (c == label ? 1.0f : 0.0f)) / static_cast<float>(n);
    }
    const auto back = [&](const float* of, size_t row, size_t depth, const float* w, const float* h,
                          float* to) {
      product({of + from * row, row, 1}, {w, hidden}, half, depth, hidden,
              [&](size_t i, size_t j, V v0, V v1) {
                const size_t e = (from + i) * hidden + j;
                store(to + e, load(h + e) > 0.0f ? v0 : V{});
                store(to + e + width, load(h + e + width) > 0.0f ? v1 : V{});
              });
    };
    back(d3, padded, classes, w3, h2, d2);
    back(d2, hidden, hidden, w2, h1, d1);
  });
  result[0] = losses[0] + losses[1];
  float *p = result + 1, *m = p + P::parameters, *v = m + P::parameters;
  const auto adam = [&](size_t at, const V& g) {
    const V first = (1 - P::beta1) * g, second = (1 - P::beta2) * g * g;
    store(m + at, first);
    store(v + at, second);
    const V root = sqrt_of(second / (1 - P::beta2));
    store(p + at, load(input + at) - P::rate * (first / (1 - P::beta1)) / (root + P::epsilon));
  };
  const auto adam_one = [&](size_t at, float g) {
    m[at] = (1 - P::beta1) * g;
    v[at] = (1 - P::beta2) * g * g;
    p[at] = input[at] -
            P::rate * (m[at] / (1 - P::beta1)) / (std::sqrt(v[at] / (1 - P::beta2)) + P::epsilon);
  };
  pair.both([&](int t) {
    const auto weights = [&](const float* of, size_t rows, const float* x_, size_t columns,
                             size_t w) {
      const size_t first = static_cast<size_t>(t) * rows / 2;
      product({of + first, 1, hidden}, {x_, columns}, rows / 2, n, columns,
              [&](size_t i, size_t j, V g0, V g1) {
                adam(w + (first + i) * columns + j, g0);
                if (j + width < columns) adam(w + (first + i) * columns + j + width, g1);
              });
    };
    const auto biases = [&](const float* of, size_t b) {
      const size_t first = static_cast<size_t>(t) * hidden / 2;
      for (size_t j = first; j < first + hidden / 2; j += width) {
        V g{};
        for (size_t i = 0; i < n; i++) g += load(of + i * hidden + j);
        adam(b + j, g);
      }
    };
    weights(d1, hidden, x, in, P::w1);
    weights(d2, hidden, h1, hidden, P::w2);
    biases(d1, P::b1);
    biases(d2, P::b2);
    if (t == 0) return;
    product({d3, 1, padded}, {h2, hidden}, padded, n, hidden, [&](size_t i, size_t j, V g0, V g1) {
      if (i >= classes) return;
      adam(P::w3 + i * hidden + j, g0);
      adam(P::w3 + i * hidden + j + width, g1);
    });
    for (size_t c = 0; c < classes; c++) {
      float g = 0;
      for (size_t i = 0; i < n; i++) g += d3[i * padded + c];
      adam_one(P::b3 + c, g);
    }
  });
}

void attention(Pair& pair, const float* input, float* scratch, float* result) {
  using P = Attention;
  constexpr size_t n = P::length, d = P::size, row = P::row, heads = size_t{P::batch} * P::heads;
  pair.both([&](int t) {
    float* p = scratch + static_cast<size_t>(t) * (attention_scratch / 2);
    float *of_s = p + n * n, *turned = of_s + n * n;
    for (size_t h = static_cast<size_t>(t) * heads / 2; h < static_cast<size_t>(t + 1) * heads / 2;
         h++) {
      const float *q = input + P::begin(h), *k = q + P::array, *v = k + P::array, *w = v + P::array;
      float *out = result + P::begin(h), *of_q = out + P::array, *of_k = of_q + P::array,
            *of_v = of_k + P::array;
      turn(k, turned, n, d, row, n);
      product({q, row, 1}, {turned, n}, n, d, n, Into{p, n});
      for (size_t i = 0; i < n; i++) {
        float* s = p + i * n;
        V m = load(s), sums{};
        for (size_t j = width; j < n; j += width) m = vmax(m, load(s + j));
        float top = m[0];
        for (int j = 1; j < width; j++) top = std::max(top, m[j]);
        for (size_t j = 0; j < n; j += width) {
          const V e = exp_of(P::scale * (load(s + j) - top));
          store(s + j, e);
          sums += e;
        }
        const float scale = 1.0f / sum(sums);
        for (size_t j = 0; j < n; j += width) store(s + j, load(s + j) * scale);
      }
      product({p, n, 1}, {v, row}, n, n, d, Into{out, row});
      product({p, 1, n}, {w, row}, n, n, d, Into{of_v, row});
      turn(v, turned, n, d, row, n);
      product({w, row, 1}, {turned, n}, n, d, n, Into{of_s, n});
      for (size_t i = 0; i < n; i++) {
        V inner{};
        for (size_t j = 0; j < d; j += width)
          inner += load(w + i * row + j) * load(out + i * row + j);
        const float of_sum = sum(inner);
        for (size_t j = 0; j < n; j += width) {
          float* s = of_s + i * n + j;
          store(s, P::scale * load(p + i * n + j) * (load(s) - of_sum));
        }
      }
      product({of_s, n, 1}, {k, row}, n, n, d, Into{of_q, row});
      product({of_s, 1, n}, {q, row}, n, n, d, Into{of_k, row});
    }
  });
}

void gru_scan(Pair& pair, const float* input, float* scratch, float* result) {
  using P = GruScan;
  constexpr size_t half = P::batch / 2, steps = P::steps, in = P::inputs, hidden = P::hidden,
                   gates = P::gates, rows = half * steps;
  const float *wi = input + P::wi, *wh = input + P::wh, *bias = input + P::b, *bn = input + P::bn;
  const float terms = static_cast<float>(P::batch * hidden);
  float losses[2] = {};
  // Histories [step, sample, ...], `of_m` and `of_l` over what the forward pass left there.
  const size_t each = gru_scan_scratch / 2;
  pair.both([&](int t) {
    float* next = scratch + static_cast<size_t>(t) * each;
    const auto part = [&](size_t floats) {
      float* p = next;
      next += floats;
      return p;
    };
    float *x = part(rows * in), *l = part(rows * gates), *m = part(rows * gates);
    float *h = part((steps + 1) * half * hidden), *of_h = part(half * hidden);
    float *wit = part(in * gates), *wht = part(hidden * gates), *g = part(P::parameters);
    const size_t from = static_cast<size_t>(t) * half;
    for (size_t b = 0; b < half; b++)
      for (size_t s = 0; s < steps; s++)
        std::memcpy(x + (s * half + b) * in, input + P::samples + ((from + b) * steps + s) * in,
                    in * sizeof(float));
    turn(wi, wit, gates, in, in, gates);
    turn(wh, wht, gates, hidden, hidden, gates);
    std::fill(h, h + half * hidden, 0.0f);
    product({x, in, 1}, {wit, gates}, rows, in, gates, [&](size_t i, size_t j, V v0, V v1) {
      store(l + i * gates + j, v0 + load(bias + j));
      store(l + i * gates + j + width, v1 + load(bias + j + width));
    });
    for (size_t s = 0; s < steps; s++) {
      const float* h0 = h + s * half * hidden;
      float *ls = l + s * half * gates, *ms = m + s * half * gates,
            *h1 = h + (s + 1) * half * hidden;
      product({h0, hidden, 1}, {wht, gates}, half, hidden, gates, Into{ms, gates});
      for (size_t b = 0; b < half; b++)
        for (size_t j = 0; j < hidden; j += width) {
          float *l0 = ls + b * gates + j, *m0 = ms + b * gates + j;
          const V r = sigmoid_of(load(l0) + load(m0));
          const V z = sigmoid_of(load(l0 + hidden) + load(m0 + hidden));
          const V of_r = load(m0 + 2 * hidden) + load(bn + j);
          const V n = tanh_of(load(l0 + 2 * hidden) + r * of_r);
          store(l0, r);
          store(l0 + hidden, z);
          store(l0 + 2 * hidden, n);
          store(m0 + 2 * hidden, of_r);
          store(h1 + b * hidden + j, n + z * (load(h0 + b * hidden + j) - n));
        }
    }
    V squares{};
    for (size_t i = 0; i < half * hidden; i += width) {
      const V off =
          load(h + steps * half * hidden + i) - load(input + P::targets + from * hidden + i);
      squares += off * off;
      store(of_h + i, 2 / terms * off);
    }
    losses[t] = sum(squares) / terms;
    std::fill(g, g + P::parameters, 0.0f);
    V of_bn[hidden / width] = {}, of_b[gates / width] = {};
    for (size_t s = steps; s-- > 0;) {
      const float* h0 = h + s * half * hidden;
      float *ls = l + s * half * gates, *ms = m + s * half * gates;
      for (size_t b = 0; b < half; b++)
        for (size_t j = 0; j < hidden; j += width) {
          float *l0 = ls + b * gates + j, *m0 = ms + b * gates + j, *of = of_h + b * hidden + j;
          const V r = load(l0), z = load(l0 + hidden), n = load(l0 + 2 * hidden), o = load(of);
          const V of_n = o * (1.0f - z) * (1.0f - n * n);
          const V of_r = of_n * load(m0 + 2 * hidden) * r * (1.0f - r);
          const V of_z = o * (load(h0 + b * hidden + j) - n) * z * (1.0f - z);
          store(l0, of_r);
          store(m0, of_r);
          store(l0 + hidden, of_z);
          store(m0 + hidden, of_z);
          store(l0 + 2 * hidden, of_n);
          store(m0 + 2 * hidden, of_n * r);
          store(of, o * z);
          of_b[j / width] += of_r;
          of_b[(hidden + j) / width] += of_z;
          of_b[(2 * hidden + j) / width] += of_n;
          of_bn[j / width] += of_n * r;
        }
      product({ms, gates, 1}, {wh, hidden}, half, gates, hidden, AddedTo{of_h, hidden});
    }
    for (size_t j = 0; j < gates; j += width) store(g + P::b + j, of_b[j / width]);
    for (size_t j = 0; j < hidden; j += width) store(g + P::bn + j, of_bn[j / width]);
    constexpr size_t block = 512;
    for (size_t i = 0; i < rows; i += block) {
      product({l + i * gates, 1, gates}, {x + i * in, in}, gates, block, in,
              AddedTo{g + P::wi, in});
      product({m + i * gates, 1, gates}, {h + i * hidden, hidden}, gates, block, hidden,
              AddedTo{g + P::wh, hidden});
    }
  });
  result[0] = losses[0] + losses[1];
  const size_t g = rows * (in + 2 * gates) + (steps + 2) * half * hidden + gates * (in + hidden);
  for (size_t i = 0; i < P::parameters; i++) result[1 + i] = scratch[g + i] + scratch[each + g + i];
}

}  // namespace bench::native
