// samples/common/adam.h -- Adam's steps over any tree of parameters.
#pragma once
#include <gnomon/gnomon.h>

namespace sample {

template <class T>
struct Adam {
  T params, mean, square;
  gnomon::Array count;  // f32[]: steps taken
};

template <class T>
Adam<T> adam(const T& params) {
  const auto zeros = gnomon::tree::zeros_like(params);
  return {params, zeros, zeros, gnomon::zeros({})};
}

/// Source: D. Kingma and J. Ba, Adam: a method for stochastic optimization, ICLR 2015.
template <class T>
Adam<T> step(const Adam<T>& at, const T& slope, const gnomon::Array& rate, float kept = 0.99f) {
  using gnomon::Array;
  const Array count = at.count + 1.0f;
  const auto mean = [](const Array& m, const Array& g) { return 0.9f * m + 0.1f * g; };
  const auto square = [&](const Array& s, const Array& g) {
    return kept * s + (1.0f - kept) * g * g;
  };
  Adam<T> next{at.params, gnomon::tree::map(mean, at.mean, slope),
               gnomon::tree::map(square, at.square, slope), count};
  const Array unbias = 1.0f - gnomon::pow(0.9f, count),
              unbias_square = 1.0f - gnomon::pow(kept, count);
  const auto move = [&](const Array& p, const Array& m, const Array& s) {
    return p - rate * (m / unbias) / (gnomon::sqrt(s / unbias_square) + 1e-8f);
  };
  next.params = gnomon::tree::map(move, at.params, next.mean, next.square);
  return next;
}

}  // namespace sample
