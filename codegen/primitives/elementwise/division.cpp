// codegen/primitives/elementwise/division.cpp -- division with a whole quotient, and what it
// leaves.
//
// Host and kernel come to the exact result by different ways: bit by bit here, by floats there
// (shaders/math/division.cpp).
#include <array>
#include <cmath>

#include "codegen/lax/align.h"
#include "codegen/primitives/families.h"
#include "codegen/trace/eager.h"
#include "gnomon/ops.h"
#include "shaders/math/elementary.h"

namespace gnomon {
using namespace rules;

namespace {

/// |a / b| rounded to an integer, downwards or upwards, and that to the nearest float; for finite
/// operands, b not 0.
template <class T>
T whole_quotient(T a, T b, bool up) {
  a = std::fabs(a);
  b = std::fabs(b);
  if (a < b) return up && a != 0 ? T(1) : T(0);
  constexpr int digits = std::numeric_limits<T>::digits;
  int a_exponent = 0, b_exponent = 0;
  const auto whole = [](T x, int& exponent) {
    return static_cast<std::uint64_t>(std::ldexp(std::frexp(x, &exponent), digits));
  };
  const std::uint64_t dividend = whole(a, a_exponent), divisor = whole(b, b_exponent);
  // The quotient is n 2^cut and something: bits that n has no room for only decide how it rounds.
  std::uint64_t n = dividend / divisor, rest = dividend % divisor;
  int cut = 0;
  bool any_cut = false, all_cut = true;
  for (int bit = a_exponent - b_exponent; bit > 0; --bit) {
    rest *= 2;
    const bool one = rest >= divisor;
    if (one) rest -= divisor;
    if (n >> 61) {
      ++cut;
      any_cut |= one;
      all_cut &= one;
    } else {
      n = 2 * n + one;
    }
  }
  if (up && rest != 0) {
    const bool carries = all_cut;
    any_cut = cut > 0 && !carries;
    n += carries;
  }
  return std::ldexp(static_cast<T>(2 * n + any_cut), cut - 1);
}

template <class T>
T trunc_div(T a, T b) {
  if (b == 0 || !std::isfinite(a) || !std::isfinite(b)) return std::trunc(a / b);
  return std::copysign(whole_quotient(a, b, false),
                       std::signbit(a) == std::signbit(b) ? T(1) : T(-1));
}
template <class T>
T floor_div(T a, T b) {
  const bool apart = std::signbit(a) != std::signbit(b);
  if (b == 0 || std::isnan(a) || std::isnan(b)) return a / b;
  if (std::isinf(a)) return std::numeric_limits<T>::quiet_NaN();
  const T n = std::isinf(b) ? T(apart && a != 0 ? 1 : 0) : whole_quotient(a, b, apart);
  return std::copysign(n, apart ? T(-1) : T(1));
}
template <class T>
T floor_mod(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return std::signbit(rest) != std::signbit(b) ? rest + b : rest;
}

}  // namespace

// Of floats; NumPy and C say what comes of zeros and infinities. The derivative in the dividend is
// 1, in the divisor minus the whole quotient.
const Primitive fmod_p =
    binary<fmod_p, Accepts::floats, [](auto a, auto b) { return std::fmod(a, b); }, math::fmod,
           [](const Array&, const Array&, const Array&, const Array& d) { return d; },
           [](const Array& a, const Array& b, const Array&, const Array& d) {
             return lax::neg(lax::mul(d, emit1(trunc_div_p, {}, {a, b}, {})));
           }>("fmod", Cost::heavy);
const Primitive floor_mod_p =
    binary<floor_mod_p, Accepts::floats, [](auto a, auto b) { return floor_mod(a, b); },
           math::floor_mod,
           [](const Array&, const Array&, const Array&, const Array& d) { return d; },
           [](const Array& a, const Array& b, const Array&, const Array& d) {
             return lax::neg(lax::mul(d, emit1(floor_div_p, {}, {a, b}, {})));
           }>("floor_mod", Cost::heavy);
const Primitive trunc_div_p =
    binary<trunc_div_p, Accepts::floats, [](auto a, auto b) { return trunc_div(a, b); },
           math::trunc_div, no_derivative, no_derivative>("trunc_div", Cost::heavy);
const Primitive floor_div_p =
    binary<floor_div_p, Accepts::floats, [](auto a, auto b) { return floor_div(a, b); },
           math::floor_div, no_derivative, no_derivative>("floor_div", Cost::heavy);

Array remainder(Operand a, Operand b) {
  const Loc loc = a.loc();
  return at_once("remainder", loc, [&]() -> Array {
    const Arrays x = align::aligned("remainder", std::array{a, b});
    if (is_float(x[0].dtype())) return emit1(floor_mod_p, {}, x, loc);
    const Array rem = emit1(rem_p, {}, x, loc), zero = lax::zeros_like(rem, loc);
    if (is_unsigned(rem.dtype())) return rem;
    const Array other_sign =
        emit1(ne_p, {}, {lax::lt(rem, zero, loc), lax::lt(x[1], zero, loc)}, loc);
    const Array not_zero = emit1(ne_p, {}, {rem, zero}, loc);
    return lax::select(lax::logical_and(other_sign, not_zero, loc), lax::add(rem, x[1], loc), rem,
                       loc);
  });
}

Array floor_divide(Operand a, Operand b) {
  const Loc loc = a.loc();
  return at_once("floor_divide", loc, [&]() -> Array {
    const Arrays x = align::aligned("floor_divide", std::array{a, b});
    if (is_float(x[0].dtype())) return emit1(floor_div_p, {}, x, loc);
    const Array rem = emit1(rem_p, {}, x, loc), zero = lax::zeros_like(rem, loc);
    if (is_unsigned(rem.dtype())) return lax::div(x[0], x[1], loc);
    const Array inexact = lax::logical_and(
        emit1(ne_p, {}, {rem, zero}, loc),
        emit1(ne_p, {}, {lax::lt(rem, zero, loc), lax::lt(x[1], zero, loc)}, loc), loc);
    const Array quotient = lax::div(x[0], x[1], loc);
    // Division by zero keeps its answer: the remainder is the dividend there, of either sign.
    const Array by_zero = lax::eq(x[1], zero, loc);
    const Array lower = lax::logical_and(inexact, lax::unary(not_p, by_zero, loc), loc);
    return lax::select(lower, lax::add(quotient, -1, loc), quotient, loc);
  });
}

Array trunc_divide(Operand a, Operand b) {
  const Arrays x = align::aligned("trunc_divide", std::array{a, b});
  return emit1(is_float(x[0].dtype()) ? trunc_div_p : div_p, {}, x, a.loc());
}

}  // namespace gnomon
