// engine/include/gnomon/nn/inference.h -- whole models between training and use.
#pragma once
#include <string>
#include <string_view>

#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

/// A copy of `model` of which every static field `bool inference` is `value`: layers that behave in
/// another way while training (Dropout, BatchNorm, SpectralNorm) stop doing so.
///
///   const auto y = nn::inference(model)(x, std::move(state)).first;
///
/// The copy is another model to jit, which traces it once; its arrays are those of the first.
template <class M>
M inference(const M& model, bool value = true) {
  M copy = tree::clone(model);
  const auto set = [&](bool& flag, const std::string& path) {
    if (std::string_view(path).ends_with(".inference")) flag = value;
  };
  tree::for_each_value<bool>(copy, set);
  return copy;
}

/// How many numbers a model learns: elements of its arrays of floats. Tied weights (Shared) count
/// once.
template <class M>
Dim parameter_count(const M& model) {
  Dim count = 0;
  tree::for_each_leaf(model, [&](const Array& a) {
    if (is_float(a.dtype())) count += a.size();
  });
  return count;
}

}  // namespace gnomon::nn
#pragma GCC visibility pop
