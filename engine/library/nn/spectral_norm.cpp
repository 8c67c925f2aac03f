// engine/library/nn/spectral_norm.cpp -- power iterations for the largest singular value.
#include "gnomon/nn/spectral_norm.h"

#include "engine/library/nn/checks.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"

namespace gnomon::nn::detail {
namespace {

constexpr int warm_up = 15;

/// The first axis by all others.
Array matrix(const Array& weight, Loc loc) {
  if (weight.rank() < 2)
    fail("SpectralNorm",
         "the weight is " + to_string(weight.aval()) +
             " and no matrix; name an array of two axes or more, or use WeightNorm",
         loc);
  return reshape({weight, loc}, {weight.dim(0), weight.size() / std::max<Dim>(weight.dim(0), 1)});
}

Array unit(const Array& x, double eps, Loc loc) {
  const Array length = sqrt({sum({square({x, loc}), loc}), loc});
  return divide({x, loc}, {maximum({length, loc}, {eps, loc}), loc});
}

Array product(const Array& a, const Array& b, Loc loc) { return matmul({a, loc}, {b, loc}); }

}  // namespace

SingularPair next_pair(const Array& weight, SingularPair pair, int iterations, double eps,
                       Loc loc) {
  const Array w = stop_gradient(matrix(weight, loc));
  for (int i = 0; i < iterations; ++i) {
    pair.right = unit(product(pair.left, w, loc), eps, loc);
    pair.left = unit(product(w, pair.right, loc), eps, loc);
  }
  return pair;
}

SingularPair first_pair(const Array& weight, Key key, double eps, Loc loc) {
  const Array w = matrix(weight, loc);
  auto [a, b] = random::split<2>(std::move(key), loc);
  const SingularPair drawn{random::normal(std::move(a), {w.dim(0)}, w.dtype(), loc),
                           random::normal(std::move(b), {w.dim(1)}, w.dtype(), loc)};
  return next_pair(weight, drawn, warm_up, eps, loc);
}

Array over_spectral_norm(const Array& weight, const SingularPair& pair, Loc loc) {
  const Array sigma = product(pair.left, product(matrix(weight, loc), pair.right, loc), loc);
  return divide({weight, loc}, {sigma, loc});
}

}  // namespace gnomon::nn::detail
