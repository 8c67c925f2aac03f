// engine/library/operators/svd.cpp -- singular values by products with random vectors.
#include <algorithm>
#include <utility>

#include "gnomon/operators/eigen.h"

namespace gnomon::operators {
namespace {

// A X for matrices X[n, k]: the arrays of a vector below each other.
Array product(const Operator& a, const Array& x, Loc loc) {
  const Dim k = x.dim(1);
  std::vector<Array> block;
  Dim start = 0;
  for (const Aval& aval : a.in().arrays) {
    const Dim size = Space{{aval}}.size();
    std::vector<Dim> shape(aval.shape.begin(), aval.shape.end());
    shape.push_back(k);
    block.push_back(
        astype(reshape(slice(x, {start, 0}, {start + size, k}), Shape(shape)), aval.dtype));
    start += size;
  }
  std::vector<Array> rows;
  for (const Array& y : a.mm(block, loc))
    rows.push_back(astype(reshape(y, {y.size() / k, k}), a.out().dtype()));
  return rows.size() == 1 ? rows[0] : concatenate(rows, 0);
}

}  // namespace

linalg::Svd randomized_svd(const Operator& a, Dim rank, Key key,
                           const RandomizedSvdOptions& options, Loc loc) {
  if (rank < 1)
    usage_error("randomized_svd",
                "rank is " + std::to_string(rank) + "; ask for one singular value at least", loc);
  if (options.oversample < 0 || options.power_iterations < 0)
    usage_error("randomized_svd",
                "oversample is " + std::to_string(options.oversample) +
                    " and power_iterations is " + std::to_string(options.power_iterations) +
                    "; neither can be negative",
                loc);
  const Dim least = std::min(a.rows(), a.columns());
  const Dim k = std::min(rank, least), sampled = std::min(k + options.oversample, least);
  const Operator t = a.transpose(loc);
  // Bases between products: without them small singular values drown in rounding (algorithm 4.4).
  Array q =
      linalg::qr(
          product(a, random::normal(std::move(key), {a.columns(), sampled}, a.in().dtype(), loc),
                  loc))
          .q;
  for (Dim i = 0; i < options.power_iterations; ++i)
    q = linalg::qr(product(a, linalg::qr(product(t, q, loc)).q, loc)).q;
  const linalg::Svd small = linalg::svd(transpose(product(t, q, loc)));
  return {matmul(q, slice(small.u, {0, 0}, {sampled, k})), slice(small.s, {0}, {k}),
          slice(small.vt, {0, 0}, {k, a.columns()})};
}

}  // namespace gnomon::operators
