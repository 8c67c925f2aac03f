// shaders/math/helpers.cpp -- roots, signs and extrema for every numeric type.
#include <cmath>

#include "shaders/kernel/scalar.h"
#include "shaders/math/elementary.h"
#include "shaders/math/floating.h"
#include "shaders/support/check.h"

namespace gnomon::math {
namespace {

using kernel::Op;
using kernel::Type;

Value number_like(Builder& b, Value x, double number) {
  const Type t = b.type(x);
  return b.constant(t, kernel::from_double(t.scalar, number));
}

/// Through f32 for the 16-bit floats, which have no instructions of their own on most devices.
Value square_root(Builder& b, Value x) {
  const DType t = b.type(x).scalar;
  const bool narrow = t == DType::f16 || t == DType::bf16;
  return b.unary(Op::sqrt, narrow ? b.convert(x, DType::f32) : x);
}

/// A constant that is not NaN.
bool is_number(Builder& b, Value x) {
  return b.is_constant(x) && !std::isnan(kernel::to_double(b.type(x).scalar, b.constant_bits(x)));
}

Value extremum(Builder& b, Op order, Op integer, Value x, Value y) {
  if (!is_float(b.type(x).scalar)) return b.binary(integer, x, y);
  if (x == y) return x;
  // Against a number that is no NaN, one comparison decides: it is false for a NaN, which then is
  // the result.
  if (is_number(b, x)) return b.select(b.compare(order, x, y), x, y);
  if (is_number(b, y)) return b.select(b.compare(order == Op::gt ? Op::lt : Op::gt, x, y), y, x);
  return b.select(b.lor(b.compare(order, x, y), b.unary(Op::is_nan, x)), x, y);
}

/// The integer nearest to a >= 0, even of two: from 2^52 on doubles have no bits behind the point,
/// and sums drop those of smaller ones.
Real64 nearest_integer(Real64 a) {
  constexpr double no_fraction = 0x1p52;
  return select(a < no_fraction, (a + no_fraction) - no_fraction, a);
}

}  // namespace

Value round_even(Builder& b, Value x) {
  if (b.type(x).scalar != DType::f64) return b.unary(Op::round_even, x);
  const Builder::Exactly exactly(b);
  const Real64 v{&b, x};
  return with_sign(nearest_integer(magnitude(v)), v).v;
}

Value trunc(Builder& b, Value x) {
  if (b.type(x).scalar != DType::f64) return b.unary(Op::trunc, x);
  const Builder::Exactly exactly(b);
  const Real64 v{&b, x}, a = magnitude(v), near = nearest_integer(a);
  return with_sign(select(near > a, near - 1.0, near), v).v;
}

Value sqrt(Builder& b, Value x) { return b.convert(square_root(b, x), b.type(x).scalar); }

Value rsqrt(Builder& b, Value x) {
  const Builder::Exactly exactly(b);
  const Value root = square_root(b, x);
  return b.convert(b.div(number_like(b, root, 1), root), b.type(x).scalar);
}

Value sign(Builder& b, Value x) {
  const DType t = b.type(x).scalar;
  const Value zero = number_like(b, x, 0), one = number_like(b, x, 1);
  const Value positive = b.select(b.compare(Op::gt, x, zero), one, x);
  if (is_unsigned(t)) return positive;
  return b.select(b.compare(Op::lt, x, zero), number_like(b, x, -1), positive);
}

Value minimum_nan(Builder& b, Value x, Value y) { return extremum(b, Op::lt, Op::minimum, x, y); }

Value maximum_nan(Builder& b, Value x, Value y) { return extremum(b, Op::gt, Op::maximum, x, y); }

}  // namespace gnomon::math
