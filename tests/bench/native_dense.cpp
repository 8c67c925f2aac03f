// tests/bench/native_dense.cpp -- sums, rows and products with GCC vector extensions, 16 wide, on
// two threads.
#include "native_vector.h"

namespace bench::native {
namespace {

/// C rows [first, last): 8 rows by two vectors of columns in registers, one panel of B at a time.
void product_rows(const float* a, const float* b, float* c, size_t depth, size_t columns,
                  size_t first, size_t last) {
  constexpr size_t rows = 8;
  for (size_t j = 0; j < columns; j += 2 * width)
    for (size_t i = first; i < last; i += rows) {
      V acc[rows][2] = {};
      const float* left = a + i * depth;
      const float* right = b + j;
      for (size_t k = 0; k < depth; k++, right += columns) {
        const V b0 = load(right), b1 = load(right + width);
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
          const V t = all(left[r * depth + k]);
          acc[r][0] += t * b0;
          acc[r][1] += t * b1;
        }
      }
      for (size_t r = 0; r < rows; r++) {
        store(c + (i + r) * columns + j, acc[r][0]);
        store(c + (i + r) * columns + j + width, acc[r][1]);
      }
    }
}

}  // namespace

void triad(Pair& pair, const float* x, const float* y, float* z, size_t n) {
  pair.halves(n, 64, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; i += width) store(z + i, load(x + i) + 0.5f * load(y + i));
  });
}

void sum(Pair& pair, const float* x, float* total, size_t n) {
  float part[2];
  pair.both([&](int half) {
    const size_t begin = half * n / 2, end = begin + n / 2;
    V t[4] = {};
    for (size_t i = begin; i < end; i += 4 * width)
#pragma GCC unroll 4
      for (int u = 0; u < 4; u++) t[u] += load(x + i + u * width);
    part[half] = sum((t[0] + t[1]) + (t[2] + t[3]));
  });
  *total = part[0] + part[1];
}

void softmax(Pair& pair, const float* x, float* y, size_t rows, size_t columns) {
  pair.halves(rows, 1, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++) {
      const float* in = x + r * columns;
      float* out = y + r * columns;
      V m = load(in);
      for (size_t i = width; i < columns; i += width) {
        const V v = load(in + i);
        m = vmax(m, v);
      }
      float top = m[0];
      for (int i = 1; i < width; i++) top = m[i] > top ? m[i] : top;
      V t[4] = {};
      for (size_t i = 0; i < columns; i += 4 * width)
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++) {
          const V e = exp2_of(vmax((load(in + i + u * width) - top) * 1.44269504f, all(-126.0f)));
          store(out + i + u * width, e);
          t[u] += e;
        }
      const float scale = 1.0f / sum((t[0] + t[1]) + (t[2] + t[3]));
      for (size_t i = 0; i < columns; i += width) store(out + i, load(out + i) * scale);
    }
  });
}

void matmul(Pair& pair, const float* a, const float* b, float* c, size_t batch, size_t rows,
            size_t depth, size_t columns) {
  if (batch == 1) {
    pair.halves(rows, 8, [&](size_t begin, size_t end) {
      product_rows(a, b, c, depth, columns, begin, end);
    });
    return;
  }
  pair.halves(batch, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
      product_rows(a + i * rows * depth, b + i * depth * columns, c + i * rows * columns, depth,
                   columns, 0, rows);
  });
}

void hutchinson(Pair& pair, const float* a, float* z, float* product, float* forms, size_t n,
                size_t probes) {
  pair.halves(n * probes / 32, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
      uint32_t h = static_cast<uint32_t>(i) * 0x9E3779B9u + 1u;
      h = (h ^ h >> 16) * 0x7FEB352Du;
      h = (h ^ h >> 15) * 0x846CA68Bu;
      h ^= h >> 16;
      for (uint32_t k = 0; k < 32; k++) z[32 * i + k] = (h >> k & 1u) != 0 ? 1.0f : -1.0f;
    }
  });
  constexpr size_t most = 256;
  float part[2][most];
  pair.both([&](int half) {
    const size_t begin = half * n / 2, end = begin + n / 2;
    product_rows(a, z, product, n, probes, begin, end);
    for (size_t m = 0; m < probes; m += width) {
      V t{};
      for (size_t i = begin; i < end; i++)
        t += load(z + i * probes + m) * load(product + i * probes + m);
      store(part[half] + m, t);
    }
  });
  for (size_t m = 0; m < probes; m++) forms[m] = part[0][m] + part[1][m];
}

}  // namespace bench::native
