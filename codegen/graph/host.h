// codegen/graph/host.h -- what reference rules share: typed access to host arrays and walks
// over positions.
#pragma once
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "codegen/base/host_array.h"
#include "gnomon/error.h"
#include "shaders/support/half.h"

namespace gnomon::host {

/// An element of f16 or bf16: computed with as float, rounded where it is stored.
template <DType D>
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  template <class T>
  requires std::is_arithmetic_v<T> Half(T x) {  // NOLINT: implicit, as between the C++ floats
    const double source = rounded_source(x);
    bits = D == DType::f16 ? f16_bits(source) : bf16_bits(source);
  }
  operator float() const {  // NOLINT: likewise
    return D == DType::f16 ? f16_value(bits) : bf16_value(bits);
  }

 private:
  template <class T>
  static double rounded_source(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return x;
    else
      return half_source(x);
  }
};
using F16 = Half<DType::f16>;
using BF16 = Half<DType::bf16>;
template <class T>
constexpr bool is_half = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || is_half<T>;
/// What elements are computed with.
template <class T>
using Computed = std::conditional_t<is_half<T>, float, T>;

/// Calls `f.template operator()<T>()` with the C++ type of the elements; bool arrays give bool.
template <class F>
decltype(auto) dispatch(DType t, std::string_view op, F&& f) {
  switch (t) {
    case DType::boolean:
      return f.template operator()<bool>();
    case DType::i8:
      return f.template operator()<std::int8_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::i16:
      return f.template operator()<std::int16_t>();
    case DType::u16:
      return f.template operator()<std::uint16_t>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::u32:
      return f.template operator()<std::uint32_t>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::u64:
      return f.template operator()<std::uint64_t>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::f16:
      return f.template operator()<F16>();
    case DType::bf16:
      return f.template operator()<BF16>();
  }
  throw InternalError("gnomon::" + std::string(op) + ": no such element type");
}

template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
T get(const HostArray& a, Dim i) {
  return static_cast<T>(a.as<Stored<T>>()[static_cast<std::size_t>(i)]);
}
template <class T>
void put(HostArray& a, Dim i, T x) {
  a.as<Stored<T>>()[static_cast<std::size_t>(i)] = static_cast<Stored<T>>(x);
}

/// Copies one element of any type.
inline void copy_element(HostArray& to, Dim i, const HostArray& from, Dim j) {
  const std::size_t n = size_of(to.aval.dtype);
  std::memcpy(to.bytes.data() + static_cast<std::size_t>(i) * n,
              from.bytes.data() + static_cast<std::size_t>(j) * n, n);
}

using Coordinates = std::vector<Dim>;

inline Coordinates unravel(const Shape& shape, Dim flat) {
  Coordinates c(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank(); axis-- > 0;) {
    c[static_cast<std::size_t>(axis)] = flat % shape[axis];
    flat /= shape[axis];
  }
  return c;
}
inline Dim ravel(const Shape& shape, const Coordinates& c) {
  Dim flat = 0;
  for (int axis = 0; axis < shape.rank(); ++axis)
    flat = flat * shape[axis] + c[static_cast<std::size_t>(axis)];
  return flat;
}

/// An array whose element at coordinates c is `from` at `source(c)`.
template <class F>
HostArray rearrange(const Aval& out, const HostArray& from, F&& source) {
  HostArray r(out);
  for (Dim i = 0; i < r.size(); ++i)
    copy_element(r, i, from, ravel(from.aval.shape, source(unravel(out.shape, i))));
  return r;
}

/// Calls f(flat position in the indexed array's shape with the axis set to 0, flat position of the
/// index) for every element of `shape`, whose axis runs over the indices.
template <class F>
void for_each_indexed(const Shape& shape, const Shape& indices, int axis, int batch_dims, F&& f) {
  for (Dim i = 0; i < shape.size(); ++i) {
    Coordinates c = unravel(shape, i);
    Coordinates at(c.begin(), c.begin() + batch_dims);
    for (int a = batch_dims; a < indices.rank(); ++a)
      at.push_back(c[static_cast<std::size_t>(axis + a - batch_dims)]);
    f(i, std::move(c), ravel(indices, at));
  }
}

// Integers wrap: computed in 64 unsigned bits and cut off.
template <class T>
T wrap_add(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <class T>
T wrap_sub(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
template <class T>
T wrap_mul(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Addition and multiplication as reductions and dot products do them.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else if constexpr (is_half<T>)
    return T(float{a} + float{b});
  else
    return wrap_add(a, b);
}
template <class T>
T times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else if constexpr (is_half<T>)
    return T(float{a} * float{b});
  else
    return wrap_mul(a, b);
}
/// The larger (smaller) operand, NaN when either is.
template <class T>
T larger(T a, T b) {
  if (a != a) return a;
  return (b > a || b != b) ? b : a;
}
template <class T>
T smaller(T a, T b) {
  if (a != a) return a;
  return (b < a || b != b) ? b : a;
}

}  // namespace gnomon::host
