// shaders/math/special_support.h -- what the special functions share: one formula for two types,
// branches that are skipped where no lane is in them, bounded loops. Internal to shaders/math.
#pragma once
#include <cmath>
#include <functional>
#include <vector>

#include "shaders/math/elementary.h"
#include "shaders/math/twofold.h"

namespace gnomon::math {

/// A polynomial with coefficients for either type.
template <class T>
Floating<T> fitted(Floating<T> x, std::initializer_list<double> wide,
                   std::initializer_list<float> narrow) {
  if constexpr (sizeof(T) == 8)
    return polynomial(x, std::span(wide.begin(), wide.size()));
  else
    return polynomial(x, std::span(narrow.begin(), narrow.size()));
}

/// Calls `f` on Floating<double>s when the operands are f64, else on Floating<float>s; f16 and bf16
/// travel through f32. Arithmetic is exact.
template <class F, class... Values>
Value in_either(Builder& b, F f, Value first, Values... more) {
  const Builder::Exactly exactly(b);
  const DType t = b.type(first).scalar;
  if (t == DType::f64) return f(Floating<double>{&b, first}, Floating<double>{&b, more}...).v;
  const auto narrow = [&](Value x) { return Floating<float>{&b, b.convert(x, DType::f32)}; };
  return b.convert(f(narrow(first), narrow(more)...).v, t);
}

template <class T>
using Vector = std::vector<Floating<T>>;

/// `compute()` where `p` holds, `otherwise` elsewhere; skipped when no lane wants it.
template <class T, class F>
Vector<T> where(Real p, F compute, const Vector<T>& otherwise) {
  Builder& b = *p.b;
  const auto values = [](const Vector<T>& v) {
    kernel::Values r;
    for (const Floating<T>& x : v) r.push_back(x.v);
    return r;
  };
  const kernel::Values chosen = b.if_(
      b.any(p.v),
      [&] {
        Vector<T> v = compute();
        for (std::size_t k = 0; k < v.size(); ++k) v[k] = select(p, v[k], otherwise[k]);
        return values(v);
      },
      [&] { return values(otherwise); });
  Vector<T> r;
  for (const Value v : chosen) r.push_back({&b, v});
  return r;
}

/// Repeats `step(k, state)` for k = 1, 2, ... while `more(state)` holds, at most `trips` times.
template <class T>
Vector<T> repeat(const Vector<T>& init, int trips,
                 const std::function<Real(const Vector<T>&)>& more,
                 const std::function<Vector<T>(Floating<T>, const Vector<T>&)>& step) {
  Builder& b = *init[0].b;
  kernel::Values carried{init[0].like(1).v};
  for (const Floating<T>& x : init) carried.push_back(x.v);
  const auto state = [&](std::span<const Value> c) {
    Vector<T> s;
    for (const Value v : c.subspan(1)) s.push_back({&b, v});
    return s;
  };
  const kernel::Values end = b.loop(
      carried, static_cast<std::uint64_t>(trips),
      [&](std::span<const Value> c) {
        const Floating<T> k{&b, c[0]};
        return b.any((more(state(c)) & (k <= static_cast<T>(trips))).v);
      },
      [&](std::span<const Value> c) {
        const Floating<T> k{&b, c[0]};
        kernel::Values next{(k + T(1)).v};
        for (const Floating<T>& x : step(k, state(c))) next.push_back(x.v);
        return next;
      });
  return state(end);
}

/// Terms smaller than that times their sum do not change it.
template <class T>
constexpr T negligible = std::numeric_limits<T>::epsilon() / 4;

/// e^(high + low).
template <class T>
Floating<T> exp_sum(Twofold<T> x) {
  Builder& b = *x.high.b;
  const Floating<T> e{&b, exp(b, x.high.v)};
  return select(magnitude(x.low) < T(1), e + e * x.low, e);
}

/// False.
template <class T>
Real never(Floating<T> x) {
  return {x.b, x.b->constant({DType::boolean, x.b->type(x.v).width}, 0)};
}

}  // namespace gnomon::math
