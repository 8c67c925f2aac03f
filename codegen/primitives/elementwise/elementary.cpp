// codegen/primitives/elementwise/elementary.cpp -- elementary functions of floats.
//
// Host and kernel compute them differently (libm; shaders/math), so they agree to rounding only.
#include <cmath>
#include <numbers>

#include "codegen/lax/elementwise.h"
#include "codegen/primitives/families.h"
#include "gnomon/ops.h"
#include "shaders/math/elementary.h"

namespace gnomon {
using namespace rules;
using kernel::Builder;
using kernel::Value;

namespace {

using kernel::Op;

template <const Primitive& P, auto Host, auto Kernel, auto Derivative>
constexpr Primitive elementary(std::string_view name) {
  return unary<P, Accepts::floats, Host, Kernel, Derivative>(name, Cost::heavy);
}
/// With a built-in function of the drivers for fast_math.
template <const Primitive& P, auto Host, auto Kernel, auto Derivative, Op BuiltIn>
constexpr Primitive elementary(std::string_view name) {
  Primitive entry = elementary<P, Host, Kernel, Derivative>(name);
  entry.lower = Lowering::per_element(element1_or_built_in<Kernel, BuiltIn>, Cost::heavy);
  return entry;
}

Array square(const Array& x) { return lax::integer_pow(x, 2); }
Array rsqrt(const Array& x) { return lax::unary(rsqrt_p, x); }
/// 1 - x^2 without loss next to -1 and 1, where 1 - x and 1 + x are exact.
Array one_minus_square(const Array& x) { return lax::mul(lax::add(x, 1), lax::sub_from(1, x)); }

/// 1 / sqrt(1 + x^2) where the square leaves the range as well: 1 / |x| from where 1 does not
/// count.
Array rsqrt_one_plus_square(const Array& x) {
  const double far = x.dtype() == DType::f16 ? 0x1p7 : 0x1p60;
  const Array size = lax::unary(abs_p, x);
  const Array one = lax::full_like(x, 1), is_far = lax::lt(lax::full_like(x, far), size);
  // Each side has arguments of its own region only: what is not chosen has derivatives, too.
  const Array near = lax::select(is_far, one, x), beyond = lax::select(is_far, size, one);
  return lax::select(is_far, lax::div(one, beyond), rsqrt(lax::add(square(near), 1)));
}

template <class T>
T logistic(T x) {
  // e^-x leaves the range long before the result does.
  const T e = std::exp(x < 0 ? x : -x);
  return (x < 0 ? e : T{1}) / (T{1} + e);
}

// Giles, "Approximating the erfinv function" (GPU Computing Gems, 2011), single precision.
float erf_inv_giles(float x) {
  if (std::fabs(x) == 1) return x * std::numeric_limits<float>::infinity();
  constexpr float central[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                               -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                               -0.00417768164f,  0.246640727f,    1.50140941f};
  constexpr float tail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                            -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                            0.00943887047f,   1.00167406f,     2.83297682f};
  float w = -std::log1p(-x * x);
  const bool inside = w < 5;
  w = inside ? w - 2.5f : std::sqrt(w) - 3.0f;
  float p = inside ? central[0] : tail[0];
  for (std::size_t i = 1; i < 9; ++i) p = p * w + (inside ? central[i] : tail[i]);
  return p * x;
}
// Newton's method from the single-precision value; erfc keeps its precision in the tails.
double erf_inv(double x) {
  if (std::fabs(x) >= 1 || x != x)
    return std::fabs(x) == 1 ? x * std::numeric_limits<double>::infinity() : NAN;
  const double a = std::fabs(x);
  double y = erf_inv_giles(static_cast<float>(std::fmin(a, 0.99999994)));
  if (a > 0.99999) {
    // There floats end, and Newton's method is slow from afar: erfc(y) is nearly
    // e^-y^2 / (y sqrt(pi)).
    for (int i = 0; i < 8; ++i) y = std::sqrt(-std::log((1 - a) * std::sqrt(std::numbers::pi) * y));
  }
  for (int i = 0; i < 4; ++i) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    y -= error * (std::sqrt(std::numbers::pi) / 2) * std::exp(y * y);
  }
  return std::copysign(y, x);
}
float erf_inv(float x) { return static_cast<float>(erf_inv(double{x})); }
double erf_inv_giles(double x) { return erf_inv(x); }

/// sqrt(pi)/2 e^(y^2) for the y with erf(y) = x, of which `y` is the rounded one: as it stands the
/// rounding of y and y^2 would count y^2 times. So the square is taken in two parts, and what
/// erfc(y) lacks of 1 - x corrects y by a step of Newton's.
Array erf_inv_slope(const Array& x, const Array& y) {
  const Array size = lax::unary(abs_p, y);
  const Array inside = lax::lt(size, lax::full_like(y, std::numeric_limits<double>::infinity()));
  const Array s = lax::select(inside, size, lax::zeros_like(y));
  const Array head =
      lax::mul(lax::unary(round_p, lax::mul(s, 16.0)), 0x1p-4);  // its square is exact
  const Array tail = lax::mul(lax::sub(s, head), lax::add(s, head));
  const Array slope = lax::mul(lax::mul(lax::unary(exp_p, square(head)), lax::unary(exp_p, tail)),
                               0.5 / std::numbers::inv_sqrtpi);
  const Array lacking = lax::sub(lax::sub_from(1, lax::unary(abs_p, x)), lax::unary(erfc_p, s));
  const Array by = lax::mul(lax::mul(lax::mul(s, -2.0), lacking), slope);
  return lax::select(inside, lax::add(slope, lax::mul(slope, by)), square(y));
}

template <class T>
T logaddexp(T x, T y) {
  if (x == y && std::isinf(x)) return x;
  const T larger = x > y ? x : y, smaller = x > y ? y : x;
  return larger + std::log1p(std::exp(smaller - larger));
}

/// d/dx of log(e^x + e^y): e^x / (e^x + e^y), one half where both are the same infinity.
Array share(const Array& x, const Array& y, const Array& d) {
  const Array half = lax::full_like(x, 0.5);
  const Array part = lax::unary(logistic_p, lax::sub(x, y));
  return lax::mul(d, lax::select(lax::eq(x, y), half, part));
}

}  // namespace

// Exponentials and logarithms.
const Primitive exp_p =
    elementary<exp_p, [](auto x) { return std::exp(x); }, math::exp,
               [](const Array&, const Array& y, const Array& d) { return lax::mul(d, y); },
               Op::exp>("exp");
/// exp(x) of x <= 0, which `simplify` finds; anything of a larger x.
const Primitive exp_nonpositive_p =
    elementary<exp_nonpositive_p, [](auto x) { return std::exp(x); }, math::exp_nonpositive,
               [](const Array&, const Array& y, const Array& d) { return lax::mul(d, y); },
               Op::exp>("exp_nonpositive");
const Primitive exp2_p = elementary<exp2_p, [](auto x) { return std::exp2(x); }, math::exp2,
                                    [](const Array&, const Array& y, const Array& d) {
                                      return lax::mul(d, lax::mul(y, std::numbers::ln2));
                                    },
                                    Op::exp2>("exp2");
const Primitive expm1_p = elementary<expm1_p, [](auto x) { return std::expm1(x); }, math::expm1,
                                     // y + 1 has no digits left where y is next to -1.
                                     [](const Array& x, const Array&, const Array& d) {
                                       return lax::mul(d, lax::unary(exp_p, x));
                                     }>("expm1");
const Primitive log_p =
    elementary<log_p, [](auto x) { return std::log(x); }, math::log,
               [](const Array& x, const Array&, const Array& d) { return lax::div(d, x); },
               Op::log>("log");
const Primitive log2_p = elementary<log2_p, [](auto x) { return std::log2(x); }, math::log2,
                                    [](const Array& x, const Array&, const Array& d) {
                                      return lax::div(d, lax::mul(x, std::numbers::ln2));
                                    },
                                    Op::log2>("log2");
const Primitive log10_p = elementary<log10_p, [](auto x) { return std::log10(x); }, math::log10,
                                     [](const Array& x, const Array&, const Array& d) {
                                       return lax::div(d, lax::mul(x, std::numbers::ln10));
                                     }>("log10");
const Primitive log1p_p = elementary<log1p_p, [](auto x) { return std::log1p(x); }, math::log1p,
                                     [](const Array& x, const Array&, const Array& d) {
                                       return lax::div(d, lax::add(x, 1));
                                     }>("log1p");

// Roots.
const Primitive sqrt_p = elementary<sqrt_p, [](auto x) { return std::sqrt(x); }, math::sqrt,
                                    [](const Array&, const Array& y, const Array& d) {
                                      return lax::mul(d, lax::div(lax::full_like(y, 0.5), y));
                                    }>("sqrt");
const Primitive rsqrt_p =
    elementary<rsqrt_p, [](auto x) { return decltype(x){1} / std::sqrt(x); }, math::rsqrt,
               [](const Array& x, const Array& y, const Array& d) {
                 return lax::mul(d, lax::mul(lax::div(y, x), -0.5));
               },
               Op::rsqrt>("rsqrt");
// glibc's cbrt of doubles errs by up to four units.
const Primitive cbrt_p = elementary<
    cbrt_p, [](auto x) { return static_cast<decltype(x)>(std::cbrt(static_cast<long double>(x))); },
    math::cbrt,
    [](const Array&, const Array& y, const Array& d) {
      return lax::div(d, lax::mul(square(y), 3));
    }>("cbrt");

// Trigonometric functions.
const Primitive sin_p = elementary<sin_p, [](auto x) { return std::sin(x); }, math::sin,
                                   [](const Array& x, const Array&, const Array& d) {
                                     return lax::mul(d, lax::unary(cos_p, x));
                                   },
                                   Op::sin>("sin");
const Primitive cos_p = elementary<cos_p, [](auto x) { return std::cos(x); }, math::cos,
                                   [](const Array& x, const Array&, const Array& d) {
                                     return lax::neg(lax::mul(d, lax::unary(sin_p, x)));
                                   },
                                   Op::cos>("cos");
const Primitive tan_p = elementary<tan_p, [](auto x) { return std::tan(x); }, math::tan,
                                   [](const Array&, const Array& y, const Array& d) {
                                     return lax::mul(d, lax::add(square(y), 1));
                                   },
                                   Op::tan>("tan");
const Primitive asin_p = elementary<asin_p, [](auto x) { return std::asin(x); }, math::asin,
                                    [](const Array& x, const Array&, const Array& d) {
                                      return lax::mul(d, rsqrt(one_minus_square(x)));
                                    },
                                    Op::asin>("asin");
const Primitive acos_p = elementary<acos_p, [](auto x) { return std::acos(x); }, math::acos,
                                    [](const Array& x, const Array&, const Array& d) {
                                      return lax::neg(lax::mul(d, rsqrt(one_minus_square(x))));
                                    },
                                    Op::acos>("acos");
const Primitive atan_p = elementary<atan_p, [](auto x) { return std::atan(x); }, math::atan,
                                    [](const Array& x, const Array&, const Array& d) {
                                      return lax::div(d, lax::add(square(x), 1));
                                    },
                                    Op::atan>("atan");

// Hyperbolic functions.
const Primitive sinh_p = elementary<sinh_p, [](auto x) { return std::sinh(x); }, math::sinh,
                                    [](const Array& x, const Array&, const Array& d) {
                                      return lax::mul(d, lax::unary(cosh_p, x));
                                    },
                                    Op::sinh>("sinh");
const Primitive cosh_p = elementary<cosh_p, [](auto x) { return std::cosh(x); }, math::cosh,
                                    [](const Array& x, const Array&, const Array& d) {
                                      return lax::mul(d, lax::unary(sinh_p, x));
                                    },
                                    Op::cosh>("cosh");
const Primitive tanh_p = elementary<tanh_p, [](auto x) { return std::tanh(x); }, math::tanh,
                                    [](const Array&, const Array& y, const Array& d) {
                                      return lax::mul(d, lax::sub_from(1, square(y)));
                                    },
                                    Op::tanh>("tanh");
const Primitive asinh_p = elementary<asinh_p, [](auto x) { return std::asinh(x); }, math::asinh,
                                     [](const Array& x, const Array&, const Array& d) {
                                       return lax::mul(d, rsqrt_one_plus_square(x));
                                     },
                                     Op::asinh>("asinh");
const Primitive acosh_p =
    elementary<acosh_p, [](auto x) { return std::acosh(x); }, math::acosh,
               [](const Array& x, const Array&, const Array& d) {
                 // Apart: their product leaves the range.
                 return lax::mul(d, lax::mul(rsqrt(lax::add(x, -1)), rsqrt(lax::add(x, 1))));
               },
               Op::acosh>("acosh");
const Primitive atanh_p = elementary<atanh_p, [](auto x) { return std::atanh(x); }, math::atanh,
                                     [](const Array& x, const Array&, const Array& d) {
                                       return lax::div(d, one_minus_square(x));
                                     },
                                     Op::atanh>("atanh");

// Sigmoid and error functions.
const Primitive logistic_p =
    elementary<logistic_p, [](auto x) { return logistic(x); }, math::logistic,
               [](const Array&, const Array& y, const Array& d) {
                 return lax::mul(d, lax::mul(y, lax::sub_from(1, y)));
               }>("logistic");
const Primitive erf_p =
    elementary<erf_p, [](auto x) { return std::erf(x); }, math::erf,
               [](const Array& x, const Array&, const Array& d) {
                 return lax::mul(d, lax::mul(lax::unary(exp_p, lax::neg(square(x))),
                                             2 * std::numbers::inv_sqrtpi));
               }>("erf");
const Primitive erfc_p =
    elementary<erfc_p, [](auto x) { return std::erfc(x); }, math::erfc,
               [](const Array& x, const Array&, const Array& d) {
                 return lax::mul(d, lax::mul(lax::unary(exp_p, lax::neg(square(x))),
                                             -2 * std::numbers::inv_sqrtpi));
               }>("erfc");
const Primitive erf_inv_p = elementary<erf_inv_p, [](auto x) { return erf_inv(x); }, math::erf_inv,
                                       [](const Array& x, const Array& y, const Array& d) {
                                         return lax::mul(d, erf_inv_slope(x, y));
                                       }>("erf_inv");
/// In f32 another function, whose bits random::normal is defined by; the derivative is erf_inv's.
const Primitive erf_inv_giles_p =
    elementary<erf_inv_giles_p, [](auto x) { return erf_inv_giles(x); }, math::erf_inv_giles,
               [](const Array&, const Array& y, const Array& d) {
                 return lax::mul(
                     d, lax::mul(lax::unary(exp_p, square(y)), 0.5 / std::numbers::inv_sqrtpi));
               }>("erf_inv_giles");

// Sums of exponentials.
const Primitive softplus_p =
    elementary<softplus_p, [](auto x) { return logaddexp(x, decltype(x){0}); }, math::softplus,
               [](const Array& x, const Array&, const Array& d) {
                 return lax::mul(d, lax::unary(logistic_p, x));
               }>("softplus");
const Primitive logaddexp_p = binary<
    logaddexp_p, Accepts::floats, [](auto x, auto y) { return logaddexp(x, y); }, math::logaddexp,
    [](const Array& x, const Array& y, const Array&, const Array& d) { return share(x, y, d); },
    [](const Array& x, const Array& y, const Array&, const Array& d) { return share(y, x, d); }>(
    "logaddexp", Cost::heavy);

// ---- the public functions

using elementwise::binary_float;
using elementwise::unary_float;

Array exp(Operand x) { return unary_float("exp", exp_p, x); }
Array exp2(Operand x) { return unary_float("exp2", exp2_p, x); }
Array expm1(Operand x) { return unary_float("expm1", expm1_p, x); }
Array log(Operand x) { return unary_float("log", log_p, x); }
Array log2(Operand x) { return unary_float("log2", log2_p, x); }
Array log10(Operand x) { return unary_float("log10", log10_p, x); }
Array log1p(Operand x) { return unary_float("log1p", log1p_p, x); }
Array sqrt(Operand x) { return unary_float("sqrt", sqrt_p, x); }
Array rsqrt(Operand x) { return unary_float("rsqrt", rsqrt_p, x); }
Array cbrt(Operand x) { return unary_float("cbrt", cbrt_p, x); }
Array sin(Operand x) { return unary_float("sin", sin_p, x); }
Array cos(Operand x) { return unary_float("cos", cos_p, x); }
Array tan(Operand x) { return unary_float("tan", tan_p, x); }
Array asin(Operand x) { return unary_float("asin", asin_p, x); }
Array acos(Operand x) { return unary_float("acos", acos_p, x); }
Array atan(Operand x) { return unary_float("atan", atan_p, x); }
Array sinh(Operand x) { return unary_float("sinh", sinh_p, x); }
Array cosh(Operand x) { return unary_float("cosh", cosh_p, x); }
Array tanh(Operand x) { return unary_float("tanh", tanh_p, x); }
Array asinh(Operand x) { return unary_float("asinh", asinh_p, x); }
Array acosh(Operand x) { return unary_float("acosh", acosh_p, x); }
Array atanh(Operand x) { return unary_float("atanh", atanh_p, x); }
Array sigmoid(Operand x) { return unary_float("sigmoid", logistic_p, x); }
Array erf(Operand x) { return unary_float("erf", erf_p, x); }
Array erfc(Operand x) { return unary_float("erfc", erfc_p, x); }
Array erfinv(Operand x) { return unary_float("erfinv", erf_inv_p, x); }
Array softplus(Operand x) { return unary_float("softplus", softplus_p, x); }
Array logaddexp(Operand a, Operand b) { return binary_float("logaddexp", logaddexp_p, a, b); }

}  // namespace gnomon
