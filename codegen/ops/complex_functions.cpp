// codegen/ops/complex_functions.cpp -- exponential, logarithm, roots, powers and
// circular functions of pairs of real arrays.
//
// Values are made part by part, with branches that are chosen, not taken; a derivative through all
// of that would be NaN where a branch that is not chosen has none. So each function brings its
// complex derivative with it.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include "codegen/lax/align.h"
#include "codegen/ops/linalg.h"
#include "codegen/primitives/matrix.h"
#include "codegen/trace/eager.h"
#include "gnomon/complex.h"
#include "gnomon/custom.h"
#include "gnomon/numeric.h"

namespace gnomon {
namespace {

using namespace matrix;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

/// A complex number in a formula: both parts have one shape and dtype.
struct Z {
  Term re, im;
};
Z times_i(const Z& a) { return {-a.im, a.re}; }
Z over_i(const Z& a) { return {a.im, -a.re}; }
/// 1 + a and 1 - a: the zeros of the imaginary part keep their sign.
Z one_plus(const Z& a) { return {a.re + 1.0, a.im}; }
Z one_minus(const Z& a) { return {-a.re + 1.0, -a.im}; }

Term function(const Primitive& p, const Term& x) { return lax::unary(p, x.a); }
Term angle_of(const Term& y, const Term& x) { return emit1(atan2_p, {}, {y.a, x.a}, {}); }
Term length_of(const Z& z) { return emit1(hypot_p, {}, {z.re.a, z.im.a}, {}); }
Term with_sign(const Term& size, const Term& sign) { return copysign({size.a, {}}, {sign.a, {}}); }
Array both(const Array& a, const Array& b) { return lax::logical_and(a, b); }
Array infinite(const Term& x) { return equals(magnitude(x), inf); }

/// a b, and a zero with the sign of that where either is zero: next to infinities and NaN, too.
Term product_of(const Term& a, const Term& b) {
  const Array zero = either(equals(a, 0), equals(b, 0));
  const Term one = number_like(a, 1), nothing = number_like(a, 0);
  return choose(zero, with_sign(nothing, with_sign(one, a) * with_sign(one, b)), a * b);
}

/// What is large or small in a type of floats.
struct FloatRange {
  int digits, least, most;  // of normal numbers: 2^least <= |x| < 2^most
  double exponential;       // e to this is well in range
  double saturated;         // from here on sinh is cosh, and their squares are in range
};
FloatRange float_range(const Term& x) {
  switch (x.a.dtype()) {
    case DType::f16:
      return {11, -14, 16, 10, 5};
    case DType::bf16:
      return {8, -126, 128, 80, 20};
    case DType::f64:
      return {53, -1022, 1024, 700, 20};
    default:
      return {24, -126, 128, 80, 20};
  }
}

// ---- values

Z exp_of(const Z& z) {
  // Of large arguments as the product of two halves: the cosine may bring the result into range.
  const Array large = exceeds(z.re, float_range(z.re).exponential);
  const Term part = function(exp_p, choose(large, z.re * 0.5, z.re));
  const Term rest = choose(large, part, number_like(part, 1));
  const Array wild = emit1(not_p, {}, {lax::unary(isfinite_p, z.im)}, {});
  const Array vanishes = both(wild, equals(z.re, -inf)), grows = both(wild, equals(z.re, inf));
  const Term none = number_like(part, 0);
  const Term re = part * function(cos_p, z.im) * rest, im = part * function(sin_p, z.im) * rest;
  return {choose(vanishes, none, choose(grows, number_like(part, inf), re)),
          choose(equals(z.im, 0), z.im, choose(vanishes, none, im))};
}

Z expm1_of(const Z& z) {
  const Z e = exp_of(z);
  const Term half = function(sin_p, z.im * 0.5);
  const Term near = function(expm1_p, z.re) * function(cos_p, z.im) - half * half * 2.0;
  return {choose(exceeds(z.re, 1.0), e.re + -1.0, near), e.im};
}

/// log|z|.
Term log_length(const Z& z) {
  const Term x = magnitude(z.re), y = magnitude(z.im), a = larger(x, y), b = smaller(x, y);
  // Near 1 the length's distance from it counts, which the length itself has lost.
  const Array near = both(exceeds(a, 0.5), exceeds(number_like(a, 2), a));
  const Array pole = either(equals(a, 0), equals(a, inf));
  const Term ratio = choose(pole, number_like(a, 0), b / choose(pole, number_like(a, 1), a));
  const Term beyond = choose(near, (a + -1.0) * (a + 1.0) + b * b, ratio * ratio);
  const Term rest = function(log1p_p, beyond) * 0.5;
  const Term all = choose(near, rest, function(log_p, a) + rest);
  return choose(either(infinite(z.re), infinite(z.im)), number_like(a, inf), all);
}
Z log_of(const Z& z) { return {log_length(z), angle_of(z.im, z.re)}; }
Z log1p_of(const Z& z) {
  const Z w = one_plus(z);
  const Array near = exceeds(number_like(z.re, 0.5), larger(magnitude(z.re), magnitude(z.im)));
  const Term beyond = z.re * (z.re + 2.0) + z.im * z.im;
  const Term small = function(log1p_p, choose(near, beyond, number_like(beyond, 0))) * 0.5;
  return {choose(near, small, log_length(w)), angle_of(w.im, w.re)};
}

Z sqrt_of(const Z& given) {
  // By a power of 4, so that sums stay in range and keep their digits.
  const FloatRange range = float_range(given.re);
  const Term size = larger(magnitude(given.re), magnitude(given.im));
  const int even = range.digits + range.digits % 2;
  const Array huge = exceeds(size, std::ldexp(1.0, range.most - 4));
  const Array tiny = exceeds(number_like(size, std::ldexp(1.0, range.least + range.digits)), size);
  const auto by = [&](double of_huge, double of_tiny) {
    const Term one = number_like(size, 1);
    return choose(huge, number_like(one, of_huge), choose(tiny, number_like(one, of_tiny), one));
  };
  const Term scale = by(1.0 / 16, std::ldexp(1.0, even));
  const Term back = by(4, std::ldexp(1.0, -even / 2));
  const Z z{given.re * scale, given.im * scale};
  const Term t = square_root((magnitude(z.re) + length_of(z)) * 0.5), none = number_like(t, 0);
  const Array zero = equals(t, 0), right = at_least(z.re, none);
  const Term other = z.im / (choose(zero, number_like(t, 1), t) * 2.0);
  const Z w{choose(right, t, magnitude(other)), choose(right, other, with_sign(t, given.im))};
  const Array upwards = infinite(given.im);
  return {choose(upwards, number_like(t, inf), choose(zero, none, w.re * back)),
          choose(either(upwards, zero), given.im, w.im * back)};
}

/// sinh x = s f and cosh x = c f, where f may be as large as either.
struct Hyperbolic {
  Term s, c, f;
};
Hyperbolic hyperbolic(const Term& x) {
  const Array large = exceeds(magnitude(x), float_range(x).saturated);
  const Term one = number_like(x, 1);
  const Term f = function(exp_p, choose(large, magnitude(x) * 0.5, number_like(x, 0)));
  return {choose(large, with_sign(f * 0.5, x), function(sinh_p, x)),
          choose(large, f * 0.5, function(cosh_p, x)), choose(large, f, one)};
}
Z sinh_of(const Z& z) {
  const Hyperbolic h = hyperbolic(z.re);
  return {product_of(product_of(h.s, function(cos_p, z.im)), h.f),
          product_of(product_of(h.c, function(sin_p, z.im)), h.f)};
}
Z cosh_of(const Z& z) {
  const Hyperbolic h = hyperbolic(z.re);
  return {product_of(product_of(h.c, function(cos_p, z.im)), h.f),
          product_of(product_of(h.s, function(sin_p, z.im)), h.f)};
}
Z tanh_of(const Z& z) {
  const Array large = exceeds(magnitude(z.re), float_range(z.re).saturated);
  const Term s = function(sinh_p, z.re), c = function(cosh_p, z.re);
  const Term sine = function(sin_p, z.im), cosine = function(cos_p, z.im);
  const Term whole = s * s + cosine * cosine;
  const Term far = function(exp_p, magnitude(z.re) * -2.0) * 4.0;
  return {choose(large, with_sign(number_like(s, 1), z.re), s * c / whole),
          product_of(sine * cosine, choose(large, far, 1.0 / whole))};
}
Z sin_of(const Z& z) { return over_i(sinh_of(times_i(z))); }
Z cos_of(const Z& z) { return cosh_of(times_i(z)); }
Z tan_of(const Z& z) { return over_i(tanh_of(times_i(z))); }

// Kahan's formulas: the products of roots keep the side of the cut that a zero names.
Z asin_of(const Z& z) {
  const Z s = sqrt_of(one_minus(z)), t = sqrt_of(one_plus(z));
  return {angle_of(z.re, s.re * t.re - s.im * t.im), function(asinh_p, s.re * t.im - s.im * t.re)};
}
Z acos_of(const Z& z) {
  const Z s = sqrt_of(one_minus(z)), t = sqrt_of(one_plus(z));
  return {angle_of(s.re, t.re) * 2.0, function(asinh_p, t.re * s.im - t.im * s.re)};
}
Z acosh_of(const Z& z) {
  const Z p = sqrt_of({z.re + -1.0, z.im}), q = sqrt_of(one_plus(z));
  return {function(asinh_p, p.re * q.re + p.im * q.im), angle_of(p.im, q.re) * 2.0};
}
Z atanh_of(const Z& z) {
  // Far away squares are out of range, and the result is i pi / 2 + 1 / z.
  const Term x = magnitude(z.re), y = magnitude(z.im), size = larger(x, y);
  const Array far = exceeds(size, std::ldexp(1.0, float_range(z.re).most / 2 - 2));
  const Term none = number_like(x, 0), one = number_like(x, 1);
  const Term u = choose(far, none, x), v = choose(far, none, z.im), gap = -u + 1.0;
  const Term near = function(log1p_p, u * 4.0 / (gap * gap + v * v)) * 0.25;
  const Term scale = choose(far, size, one), p = x / scale, q = y / scale;
  const Array nowhere = either(infinite(z.re), infinite(z.im));
  const Term inverse = choose(nowhere, none, p / (p * p + q * q) / scale);
  return {with_sign(choose(far, inverse, near), z.re),
          choose(far, with_sign(number_like(x, std::numbers::pi / 2), z.im),
                 angle_of(v * 2.0, gap * (u + 1.0) - v * v) * 0.5)};
}
Z asinh_of(const Z& z) { return over_i(asin_of(times_i(z))); }
Z atan_of(const Z& z) { return over_i(atanh_of(times_i(z))); }

/// z^(c + i d); d may be missing.
Z pow_of(const Z& z, const Term& c, const Term* d) {
  const Term length = length_of(z), angle = angle_of(z.im, z.re);
  Term size = emit1(pow_p, {}, {length.a, c.a}, {}), turn = c * angle;
  Array nothing = equals(c, 0);
  if (d != nullptr) {
    size = size * function(exp_p, -(*d * angle));
    turn = turn + product_of(*d, log_length(z));
    nothing = both(nothing, equals(*d, 0));
  }
  // Of 0.
  const Term none = number_like(c, 0), one = number_like(c, 1);
  const Array zero = equals(length, 0);
  const Array vanishes = exceeds(c, 0);
  const Term unknown = number_like(c, nan);
  const Term re = choose(vanishes, none, choose(nothing, one, unknown));
  const Term im = choose(either(vanishes, nothing), none, unknown);
  return {choose(zero, re, size * function(cos_p, turn)),
          choose(zero, im, size * function(sin_p, turn))};
}

// ---- functions with their derivatives

Z z_of(const Complex& z) { return {z.re, z.im}; }
Complex complex_of(const Z& z) { return {z.re.a, z.im.a}; }

/// value(z), whose derivative in the direction dz is slope(z, value(z), dz).
template <class Slope>
Complex holomorphic(const ComplexOperand& z, Z (*value)(const Z&), const Slope& slope) {
  const Loc loc = z.loc();
  const linalg::At at(loc);
  const auto f = [&](const Complex& x) { return complex_of(value(z_of(x))); };
  const auto rule = [&](const Complex& x, const Complex& y, const Complex& dx) {
    return Complex(slope(x, y, dx));
  };
  return custom_jvp(f, rule, loc)(complex(z.re(), z.im()));
}

using C = const Complex&;

/// sqrt(1 - z) sqrt(1 + z): on the side of its cuts that derivatives of asin need.
Complex roots_around(C z) { return sqrt(1 - z) * sqrt(1 + z); }
Complex turned(C z) { return complex_of(times_i(z_of(z))); }

// A rule is traced with its function, so one that needed the function again would have no end:
// derivatives up to the order `depth` bring theirs, the next are those of a plain formula.

/// sinh, or cosh.
template <int depth>
Complex hyperbolic_of(bool odd, const ComplexOperand& z) {
  if constexpr (depth == 0) {
    const Term x = z.re().array(), y = z.im().array();
    const Term s = function(sinh_p, x), c = function(cosh_p, x);
    const Term cosine = function(cos_p, y), sine = function(sin_p, y);
    return odd ? complex_of({s * cosine, c * sine}) : complex_of({c * cosine, s * sine});
  } else {
    return holomorphic(z, odd ? sinh_of : cosh_of,
                       [odd](C x, C, C dz) { return dz * hyperbolic_of<depth - 1>(!odd, x); });
  }
}
/// sin, or cos.
template <int depth>
Complex circular_of(bool odd, const ComplexOperand& z) {
  if constexpr (depth == 0) {
    const Complex x = hyperbolic_of<0>(odd, turned({z.re().array(), z.im().array()}));
    return odd ? complex_of(over_i(z_of(x))) : x;
  } else {
    return holomorphic(z, odd ? sin_of : cos_of, [odd](C x, C, C dz) {
      const Complex dw = dz * circular_of<depth - 1>(!odd, x);
      return odd ? dw : -dw;
    });
  }
}

}  // namespace

Complex exp(ComplexOperand z) {
  return holomorphic(z, exp_of, [](C, C y, C dz) { return dz * y; });
}
Complex expm1(ComplexOperand z) {
  return holomorphic(z, expm1_of, [](C, C y, C dz) { return dz * (y + 1); });
}
Complex log(ComplexOperand z) {
  return holomorphic(z, log_of, [](C x, C, C dz) { return dz / x; });
}
Complex log1p(ComplexOperand z) {
  return holomorphic(z, log1p_of, [](C x, C, C dz) { return dz / (x + 1); });
}
Complex sqrt(ComplexOperand z) {
  return holomorphic(z, sqrt_of, [](C, C y, C dz) { return dz / (y * 2); });
}
Complex sin(ComplexOperand z) { return circular_of<2>(true, z); }
Complex cos(ComplexOperand z) { return circular_of<2>(false, z); }
Complex tan(ComplexOperand z) {
  return holomorphic(z, tan_of, [](C, C y, C dz) { return dz * (y * y + 1); });
}
Complex sinh(ComplexOperand z) { return hyperbolic_of<2>(true, z); }
Complex cosh(ComplexOperand z) { return hyperbolic_of<2>(false, z); }
Complex tanh(ComplexOperand z) {
  return holomorphic(z, tanh_of, [](C, C y, C dz) { return dz * (1 - y * y); });
}
Complex asin(ComplexOperand z) {
  return holomorphic(z, asin_of, [](C x, C, C dz) { return dz / roots_around(x); });
}
Complex acos(ComplexOperand z) {
  return holomorphic(z, acos_of, [](C x, C, C dz) { return -dz / roots_around(x); });
}
Complex atan(ComplexOperand z) {
  return holomorphic(z, atan_of, [](C x, C, C dz) {
    const Complex t = turned(x);
    return dz / ((1 - t) * (1 + t));
  });
}
Complex asinh(ComplexOperand z) {
  return holomorphic(z, asinh_of, [](C x, C, C dz) { return dz / roots_around(turned(x)); });
}
Complex acosh(ComplexOperand z) {
  return holomorphic(z, acosh_of, [](C x, C, C dz) { return dz / (sqrt(x - 1) * sqrt(x + 1)); });
}
Complex atanh(ComplexOperand z) {
  return holomorphic(z, atanh_of, [](C x, C, C dz) { return dz / ((1 - x) * (1 + x)); });
}

namespace {

/// Complex and real parts of a power, all of one shape and dtype.
Arrays power_operands(std::initializer_list<Operand> parts) {
  const std::vector<Operand> all(parts);
  return align::aligned("pow", all, align::float_dtype(align::common_dtype("pow", all)));
}

/// w z^(w - 1) dz + log(z) z^w dw for p = z^w. `unit`: where w is 0, and the first term with it,
/// whatever z^-1 is. The second one is 0 where z is. `lower(less)` is z^(w - less).
template <class W, class Lower>
Complex power_slope(C z, const W& w, C p, C dz, const W& dw, const Array& unit,
                    const Lower& lower) {
  const Array none = lax::zeros_like(z.re);
  const Array zero = both(lax::eq(z.re, none), lax::eq(z.im, none));
  const Complex safe{lax::select(zero, lax::full_like(z.re, 1), z.re), z.im};
  const Array less = lax::select(unit, none, lax::full_like(z.re, 1));
  return dz * lower(less) * w + log(safe) * p * dw;
}

/// exp(w log z), and 1 for w = 0.
Complex plain_power(C z, C w, const Array& unit) {
  const Complex base{lax::select(unit, lax::full_like(z.re, 1), z.re),
                     lax::select(unit, lax::zeros_like(z.im), z.im)};
  return exp(log(base) * w);
}

template <int depth>
Complex power(C z, C w) {
  const auto unit_of = [](C y) {
    const Array none = lax::zeros_like(y.re);
    return both(lax::eq(y.re, none), lax::eq(y.im, none));
  };
  if constexpr (depth == 0) {
    return plain_power(z, w, unit_of(w));
  } else {
    const auto f = [](C x, C y) {
      const Z exponent = z_of(y);
      return complex_of(pow_of(z_of(x), exponent.re, &exponent.im));
    };
    const auto rule = [&](C x, C y, C p, C dx, C dy) {
      const auto lower = [&](const Array& less) {
        return power<depth - 1>(x, Complex{lax::sub(y.re, less), y.im});
      };
      return power_slope(x, y, p, dx, dy, unit_of(y), lower);
    };
    return custom_jvp(f, rule, Trace::active().loc)(z, w);
  }
}
template <int depth>
Complex power(C z, const Array& w) {
  const auto unit_of = [](const Array& y) { return lax::eq(y, lax::zeros_like(y)); };
  if constexpr (depth == 0) {
    return plain_power(z, Complex{w, lax::zeros_like(w)}, unit_of(w));
  } else {
    const auto f = [](C x, const Array& y) { return complex_of(pow_of(z_of(x), y, nullptr)); };
    const auto rule = [&](C x, const Array& y, C p, C dx, const Array& dy) {
      const auto lower = [&](const Array& less) { return power<depth - 1>(x, lax::sub(y, less)); };
      return power_slope(x, y, p, dx, dy, unit_of(y), lower);
    };
    return custom_jvp(f, rule, Trace::active().loc)(z, w);
  }
}

/// `power` of what `operands` are brought to, as one program at once.
template <class Make>
Complex power_at_once(std::initializer_list<Operand> operands, Loc loc, Make make) {
  const Arrays r = at_once("pow", loc, [&] {
    const Complex y = make(power_operands(operands));
    return Arrays{y.re, y.im};
  });
  return {r[0], r[1]};
}

}  // namespace

Complex pow(ComplexOperand z, const Complex& w) {
  const linalg::At at(z.loc());
  return power_at_once({z.re(), z.im(), {w.re, z.loc()}, {w.im, z.loc()}}, z.loc(),
                       [](const Arrays& x) {
                         return power<2>(Complex{x[0], x[1]}, Complex{x[2], x[3]});
                       });
}
Complex pow(ComplexOperand z, Operand w) {
  const linalg::At at(z.loc());
  return power_at_once({z.re(), z.im(), w}, z.loc(), [](const Arrays& x) {
    return power<2>(Complex{x[0], x[1]}, x[2]);
  });
}
Complex pow(Operand z, const Complex& w) {
  const linalg::At at(z.loc());
  return power_at_once({z, {w.re, z.loc()}, {w.im, z.loc()}}, z.loc(), [](const Arrays& x) {
    return power<2>(Complex{x[0], lax::zeros_like(x[0])}, Complex{x[1], x[2]});
  });
}

}  // namespace gnomon
