// codegen/primitives/elementwise/hypot.cpp -- the length of a vector of two, and its direction.
#include <cmath>

#include "codegen/lax/elementwise.h"
#include "codegen/primitives/families.h"
#include "gnomon/ops.h"
#include "shaders/math/elementary.h"

namespace gnomon {
using namespace rules;

namespace {

/// A power of two by which neither the length of both overflows nor small ones lose digits. As near
/// to 1 as that allows: the smaller operand may be small already.
Array scale_of(const Array& a, const Array& b) {
  const bool wide = a.dtype() == DType::f64;
  const Array size = emit1(max_p, {}, {lax::unary(abs_p, a), lax::unary(abs_p, b)}, {});
  const auto power = [&](int n) { return lax::full_like(a, std::ldexp(1.0, n)); };
  const Array huge = lax::lt(power(wide ? 1021 : 125), size);
  const Array tiny = lax::lt(size, power(wide ? -400 : -60));
  return lax::select(huge, power(-2), lax::select(tiny, power(wide ? 500 : 64), power(0)));
}

/// `a` in f32 where it has fewer bits.
Array in_single(const Array& a) {
  return lax::convert(a, a.dtype() == DType::f64 ? DType::f64 : DType::f32);
}

/// a / sqrt(a^2 + b^2): 0 at the origin; where an operand is infinite the direction of the limit,
/// or 0 for the finite one.
Array direction(const Array& a, const Array& b) {
  const Array x = in_single(a), y = in_single(b);
  const auto endless = [](const Array& v) {
    return lax::eq(lax::unary(abs_p, v),
                   lax::full_like(v, std::numeric_limits<double>::infinity()));
  };
  const Array any = emit1(or_p, {}, {endless(x), endless(y)}, {});
  const auto end = [&](const Array& v) {
    const Array zero = lax::zeros_like(v);
    return lax::select(any, lax::select(endless(v), lax::unary(sign_p, v), zero), v);
  };
  const Array u = end(x), v = end(y), scale = scale_of(u, v), scaled = lax::mul(u, scale);
  const Array length = emit1(hypot_p, {}, {scaled, lax::mul(v, scale)}, {});
  const Array nowhere = lax::eq(length, lax::zeros_like(length));
  const Array cosine = lax::div(scaled, lax::select(nowhere, lax::full_like(length, 1), length));
  return lax::convert(cosine, a.dtype());
}

}  // namespace

/// Infinite where either operand is, also beside a NaN. The derivative at the origin is 0.
const Primitive hypot_p =
    binary<hypot_p, Accepts::floats, [](auto a, auto b) { return std::hypot(a, b); }, math::hypot,
           [](const Array& a, const Array& b, const Array&, const Array& d) {
             return lax::mul(d, direction(a, b));
           },
           [](const Array& a, const Array& b, const Array&, const Array& d) {
             return lax::mul(d, direction(b, a));
           }>("hypot", Cost::heavy);

Array hypot(Operand a, Operand b) { return elementwise::binary_float("hypot", hypot_p, a, b); }

}  // namespace gnomon
