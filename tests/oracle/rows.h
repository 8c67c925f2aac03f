// tests/oracle/rows.h -- short words for rows of arrays.
#pragma once
#include <algorithm>
#include <cmath>

#include "gnomon/ops.h"
#include "table.h"

namespace oracle {

namespace gn = gnomon;
using A = const Arrays&;
using T = const Tensors&;
using I = const Index&;
using Number = long double;

/// An array of the first input's type.
inline Tensor like(T x, const Shape& shape, const std::function<Number(I)>& f) {
  return made(x[0].dtype, shape, f);
}
inline Tensor i32(const Shape& shape, const std::function<Number(I)>& f) {
  return made(DType::i32, shape, f);
}
inline Tensor truth(const Shape& shape, const std::function<Number(I)>& f) {
  return made(DType::boolean, shape, f);
}
inline Dim modulo(Dim a, Dim n) { return ((a % n) + n) % n; }

/// The elements that share a place when `axis` is left out.
inline std::vector<Number> line(const Tensor& x, const Index& at, int axis) {
  std::vector<Number> v;
  Index i = at;
  i.insert(i.begin() + axis, 0);
  for (Dim k = 0; k < x.dim(axis); ++k) {
    i[static_cast<std::size_t>(axis)] = k;
    v.push_back(x.at(i));
  }
  return v;
}
/// f of every line along `axis`.
inline Tensor along(DType t, const Tensor& x, int axis,
                    const std::function<Number(const std::vector<Number>&)>& f) {
  return made(t, x.shape.without(axis), [&](I i) { return f(line(x, i, axis)); });
}
/// Every line along `axis` replaced by f of it, which may have another length.
inline Tensor lines(DType t, const Tensor& x, int axis,
                    const std::function<std::vector<Number>(const std::vector<Number>&)>& f) {
  const Shape rest = x.shape.without(axis);
  Tensor out;
  bool first = true;
  each(rest, [&](I i) {
    const std::vector<Number> y = f(line(x, i, axis));
    if (first) out = Tensor(t, x.shape.with(axis, static_cast<Dim>(y.size())));
    first = false;
    Index at = i;
    at.insert(at.begin() + axis, 0);
    for (std::size_t k = 0; k < y.size(); ++k) {
      at[static_cast<std::size_t>(axis)] = static_cast<Dim>(k);
      out.at(at) = y[k];
    }
  });
  return out;
}
/// Relative errors count against the sum of magnitudes of what is added up: `t.scale`.
inline Tensor scaled(Tensor t, const Tensor& scale) {
  t.scale = scale.v;
  return t;
}
inline Tensor scaled(Tensor t, Number scale) {
  t.scale.assign(t.v.size(), scale);
  return t;
}
inline Number total(const std::vector<Number>& v) {
  Number s = 0;
  for (const Number x : v) s += x;
  return s;
}
inline Number magnitude(const std::vector<Number>& v) {
  Number s = 0;
  for (const Number x : v) s += std::fabs(x);
  return s;
}
inline bool before(Number a, Number b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}  // NaN last

inline constexpr Rule moves{.differentiate = true};

}  // namespace oracle
