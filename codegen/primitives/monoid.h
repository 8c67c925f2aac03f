// codegen/primitives/monoid.h -- what reductions, windows, running results and scatters combine
// with: identity and combination, on the host and in kernels.
#pragma once
#include <limits>

#include "codegen/graph/host.h"
#include "shaders/math/elementary.h"

namespace gnomon::monoid {

// ---- on the host; halves are combined as floats

struct Sum {
  template <class T>
  static T identity() {
    return T{0};
  }
  template <class T>
  static T combine(T a, T b) {
    return host::plus(a, b);
  }
};
struct Product {
  template <class T>
  static T identity() {
    return T{1};
  }
  template <class T>
  static T combine(T a, T b) {
    return host::times(a, b);
  }
};
/// NaN when either operand is.
struct Maximum {
  template <class T>
  static T identity() {
    if constexpr (host::is_real<T>)
      return T(-std::numeric_limits<host::Computed<T>>::infinity());
    else
      return std::numeric_limits<T>::lowest();
  }
  template <class T>
  static T combine(T a, T b) {
    return host::larger(a, b);
  }
};
struct Minimum {
  template <class T>
  static T identity() {
    if constexpr (host::is_real<T>)
      return T(std::numeric_limits<host::Computed<T>>::infinity());
    else
      return std::numeric_limits<T>::max();
  }
  template <class T>
  static T combine(T a, T b) {
    return host::smaller(a, b);
  }
};

// ---- in kernels

inline kernel::Value k_zero(kernel::Builder& k, DType t) { return k.number(t, 0); }
inline kernel::Value k_one(kernel::Builder& k, DType t) { return k.number(t, 1); }
inline kernel::Value k_lowest(kernel::Builder& k, DType t) {
  if (is_float(t)) return k.number(t, -std::numeric_limits<double>::infinity());
  return k.constant({t}, is_signed(t) ? std::uint64_t{1} << (bits_of(t) - 1) : 0);
}
inline kernel::Value k_highest(kernel::Builder& k, DType t) {
  if (is_float(t)) return k.number(t, std::numeric_limits<double>::infinity());
  return k.constant({t}, ~std::uint64_t{0} >> (64 - bits_of(t) + (is_signed(t) ? 1 : 0)));
}
inline kernel::Value k_larger(kernel::Builder& k, kernel::Value a, kernel::Value b) {
  return k.type(a).scalar == DType::boolean ? k.lor(a, b) : math::maximum_nan(k, a, b);
}
inline kernel::Value k_smaller(kernel::Builder& k, kernel::Value a, kernel::Value b) {
  return k.type(a).scalar == DType::boolean ? k.land(a, b) : math::minimum_nan(k, a, b);
}

}  // namespace gnomon::monoid
