// tests/bench/problems_dense.cpp -- inputs, references and checks of streams of two operands, sums,
// rows and products.
#include <algorithm>

#include "checking.h"
#include "inputs.h"
#include "problems.h"

namespace bench {

std::vector<float> stream_backwards() {
  std::vector<float> y = stream_input();
  std::reverse(y.begin(), y.end());
  return y;
}

Check triad_check() {
  const std::vector<float> x = stream_input(), y = stream_backwards();
  std::vector<double> reference(x.size());
  for (size_t i = 0; i < x.size(); i++)
    reference[i] = static_cast<double>(x[i]) + 0.5 * static_cast<double>(y[i]);
  return against(std::move(reference), 0x1p-24, 0x1p-23);
}

std::vector<float> sum_input() {
  std::vector<float> x(Stream::elements);
  for (uint32_t i = 0; i < Stream::elements; i += 2) {
    const bool first = (scrambled(i) & 1u) != 0;
    x[i] = first ? 2.0f : 0.0f;
    x[i + 1] = first ? 0.0f : 2.0f;
  }
  return x;
}

Check sum_check() { return against({static_cast<double>(Stream::elements)}, 0.0, 0.0); }

std::vector<float> softmax_input() {
  std::vector<float> x(size_t{Softmax::rows} * Softmax::columns);
  for (size_t i = 0; i < x.size(); i++)
    x[i] = static_cast<float>(scrambled(static_cast<uint32_t>(i)) >> 8) * 0x1p-20f - 8.0f;
  return x;
}

Check softmax_check() {
  constexpr size_t rows = Softmax::rows, columns = Softmax::columns;
  const std::vector<float> x = softmax_input();
  std::vector<double> reference(x.size());
  for_each_index(rows, [&](size_t r) {
    const float* in = x.data() + r * columns;
    double* out = reference.data() + r * columns;
    const double top = *std::max_element(in, in + columns);
    double total = 0.0;
    for (size_t i = 0; i < columns; i++) total += out[i] = std::exp(in[i] - top);
    for (size_t i = 0; i < columns; i++) out[i] /= total;
  });
  // Vulkan's exp is good to 3 + 2 |x| ULP, |x| < 16; a sum of 1,024 positive terms to a few more.
  return against(std::move(reference), 0.0, 64 * 0x1p-24);
}

std::vector<float> matmul_left(const Matmul& m) { return eighths(m.left(), 1); }
std::vector<float> matmul_right(const Matmul& m) { return eighths(m.right(), 2); }

Check matmul_check(const Matmul& m) {
  const std::vector<float> a = matmul_left(m), b = matmul_right(m);
  std::vector<double> c(m.result());
  for_each_index(m.batch * m.rows, [&](size_t row) {
    const float* right = b.data() + row / m.rows * m.depth * m.columns;
    double* out = c.data() + row * m.columns;
    for (size_t k = 0; k < m.depth; k++)
      for (size_t j = 0; j < m.columns; j++)
        out[j] += static_cast<double>(a[row * m.depth + k]) * right[k * m.columns + j];
  });
  return against(std::move(c), 0.0, 0.0);
}

std::vector<float> hutchinson_matrix() {
  constexpr size_t n = Hutchinson::n;
  std::vector<float> a = eighths(n * n, 3);
  for (size_t i = 0; i < n; i++) a[i * n + i] = 8.0f;
  return a;
}

Check hutchinson_check() {
  constexpr size_t n = Hutchinson::n, probes = Hutchinson::probes;
  const std::vector<float> a = hutchinson_matrix();
  double trace = 0.0, variance = 0.0;
  for (size_t i = 0; i < n; i++) {
    trace += a[i * n + i];
    for (size_t j = i + 1; j < n; j++) {
      const double both = static_cast<double>(a[i * n + j]) + a[j * n + i];
      variance += both * both;
    }
  }
  return [=](std::span<const float> result) {
    if (result.size() != probes)
      return Verdict{false, text("%zu elements instead of %zu", result.size(), probes)};
    double mean = 0.0, squares = 0.0;
    for (const float q : result) {
      const double off = (q - trace) / std::sqrt(variance);
      if (!(std::abs(off) < 6.0))
        return Verdict{false, text("an estimate of the trace is off by %.1f deviations", off)};
      mean += off / probes;
      squares += off * off / probes;
    }
    // 64 draws of mean 0 and variance 1: six deviations of either.
    if (!(std::abs(mean) < 0.75 && squares > 0.3 && squares < 2.1))
      return Verdict{false,
                     text("mean %.2f and square %.2f of normalised estimates", mean, squares)};
    return Verdict{true, text("mean %.2f, square %.2f of normalised estimates", mean, squares)};
  };
}

Check hutchinson_estimate_check() {
  const std::vector<float> a = hutchinson_matrix();
  double trace = 0.0;
  for (size_t i = 0; i < Hutchinson::n; i++) trace += a[i * Hutchinson::n + i];
  return estimate_of(trace);
}

}  // namespace bench
