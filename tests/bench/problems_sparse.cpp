// tests/bench/problems_sparse.cpp -- a large sparse matrix, and the checks of what is made of it.
#include <algorithm>
#include <cmath>

#include "checking.h"
#include "inputs.h"
#include "problems.h"

namespace bench {
namespace {

/// A multiple of 1/8 in [-1, 1] that is not 0.
float eighth(uint32_t bits) {
  const int k = static_cast<int>(scrambled(bits) % 16u) - 8;
  return static_cast<float>(k < 0 ? k : k + 1) / 8.0f;
}

}  // namespace

static SparseMatrix made_matrix() {
  constexpr uint32_t rows = TraceSparse::rows;
  const uint32_t edges = rows / 2 * (TraceSparse::per_row - 1);
  const auto ends = [=](uint32_t e) {
    const uint32_t u = scrambled(2 * e + 1) % rows, v = scrambled(2 * e + 2) % rows;
    return std::pair{u, u == v ? (v + 1) % rows : v};
  };
  SparseMatrix a;
  a.offsets.assign(rows + 1, 1);  // the diagonal
  a.offsets[0] = 0;
  for (uint32_t e = 0; e < edges; e++) {
    const auto [u, v] = ends(e);
    a.offsets[u + 1]++, a.offsets[v + 1]++;
  }
  for (uint32_t i = 0; i < rows; i++) {
    a.longest = std::max(a.longest, a.offsets[i + 1]);
    a.offsets[i + 1] += a.offsets[i];
  }
  a.columns.resize(static_cast<size_t>(a.offsets.back()));
  std::vector<int32_t> next(a.offsets.begin(), a.offsets.end() - 1);
  for (uint32_t i = 0; i < rows; i++)
    a.columns[static_cast<size_t>(next[i]++)] = static_cast<int32_t>(i);
  for (uint32_t e = 0; e < edges; e++) {
    const auto [u, v] = ends(e);
    a.columns[static_cast<size_t>(next[u]++)] = static_cast<int32_t>(v);
    a.columns[static_cast<size_t>(next[v]++)] = static_cast<int32_t>(u);
  }
  a.values.resize(a.columns.size());
  for_each_index(rows, [&](size_t i) {
    const auto first = a.columns.begin() + a.offsets[i],
               last = a.columns.begin() + a.offsets[i + 1];
    std::sort(first, last);
    for (auto c = first; c != last; ++c) {
      // The same on both sides of the diagonal.
      const auto j = static_cast<uint32_t>(*c), k = static_cast<uint32_t>(i);
      a.values[static_cast<size_t>(c - a.columns.begin())] =
          j == k ? 8.0f : eighth(std::min(j, k) * 0x9E3779B9u + std::max(j, k));
    }
  });
  return a;
}

const SparseMatrix& trace_sparse_matrix() {
  static const SparseMatrix a = made_matrix();
  return a;
}

std::vector<float> trace_sparse_probes() {
  std::vector<float> x(size_t{TraceSparse::rows} * TraceSparse::probes);
  for (size_t i = 0; i < x.size(); i++) x[i] = eighth(static_cast<uint32_t>(i));
  return x;
}

Check trace_sparse_check() {
  constexpr size_t k = TraceSparse::probes;
  const SparseMatrix& a = trace_sparse_matrix();
  const std::vector<float> x = trace_sparse_probes();
  std::vector<double> y(x.size());
  for_each_index(TraceSparse::rows, [&](size_t i) {
    for (int32_t e = a.offsets[i]; e < a.offsets[i + 1]; e++) {
      const auto at = static_cast<size_t>(e);
      const float* row = x.data() + static_cast<size_t>(a.columns[at]) * k;
      for (size_t j = 0; j < k; j++) y[i * k + j] += static_cast<double>(a.values[at]) * row[j];
    }
  });
  return against(std::move(y), 0.0, 0.0);
}

Check trace_sparse_gather_check() {
  constexpr size_t k = TraceSparse::probes, n = TraceSparse::per_row;
  const SparseMatrix& a = trace_sparse_matrix();
  const std::vector<float> x = trace_sparse_probes();
  std::vector<double> y(x.size());
  for_each_index(TraceSparse::rows, [&](size_t i) {
    for (size_t e = i * n; e < i * n + n; e++)
      for (size_t j = 0; j < k; j++)
        y[i * k + j] += static_cast<double>(x[static_cast<size_t>(a.columns[e]) * k + j]);
  });
  return against(std::move(y), 0.0, 0.0);
}

Check trace_sparse_estimate_check(bool squared) {
  const SparseMatrix& a = trace_sparse_matrix();
  double want = 0.0;
  for (size_t i = 0; i < TraceSparse::rows; i++)
    for (int32_t e = a.offsets[i]; e < a.offsets[i + 1]; e++) {
      const auto at = static_cast<size_t>(e);
      if (squared) want += static_cast<double>(a.values[at]) * a.values[at];
      if (!squared && a.columns[at] == static_cast<int32_t>(i)) want += a.values[at];
    }
  return estimate_of(want);
}

}  // namespace bench
