// codegen/ops/numeric.cpp -- everyday operations element by element: parts of floats,
// integer arithmetic, tests, angles.
#include "gnomon/numeric.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "codegen/lax/align.h"
#include "codegen/lax/positions.h"
#include "codegen/trace/eager.h"
#include "gnomon/control.h"
#include "gnomon/transform.h"

namespace gnomon {
namespace {

/// Floats looked at as bits: integers of the same size.
struct Bits {
  DType dtype;  // of the float
  DType word;   // the unsigned integer
  Array of(const Array& x, Loc loc) const { return lax::bitcast(x, word, loc); }
  Array back(const Array& bits, Loc loc) const { return lax::bitcast(bits, dtype, loc); }
  std::int64_t sign_bit() const {
    return word == DType::u64 ? std::numeric_limits<std::int64_t>::min() : std::int64_t{1} << 31;
  }
};
Bits bits_of_float(DType t) { return {t, t == DType::f64 ? DType::u64 : DType::u32}; }
Array integer_like(const Array& a, std::int64_t x, Loc loc) {
  return lax::broadcast(lax::scalar_integer(a.dtype(), x, loc), a.shape(), {}, loc);
}

Arrays aligned_floats(std::string_view op, const Operand& a, const Operand& b) {
  const std::array pair{a, b};
  return align::aligned(op, pair, align::float_dtype(align::common_dtype(op, pair)));
}
Array either(const Array& a, const Array& b, Loc loc) { return emit1(or_p, {}, {a, b}, loc); }
Array both(const Array& a, const Array& b, Loc loc) { return emit1(and_p, {}, {a, b}, loc); }

}  // namespace

Array nextafter(Operand x, Operand y) {
  const Loc loc = x.loc();
  return at_once("nextafter", loc, [&]() -> Array {
    const Arrays a = aligned_floats("nextafter", x, y);
    const Bits floats = bits_of_float(a[0].dtype());
    const Array from = floats.of(a[0], loc), to = floats.of(a[1], loc);
    const Array sign = integer_like(from, floats.sign_bit(), loc);
    const Array one = integer_like(from, 1, loc), zero = lax::zeros_like(from, loc);
    const Array size = both(from, lax::unary(not_p, sign, loc), loc);
    const Array grows = lax::eq(lax::lt(a[0], a[1], loc), lax::eq(from, size, loc), loc);
    const Array stepped =
        lax::select(grows, lax::add(from, one, loc), lax::sub(from, one, loc), loc);
    // From zero the step has the sign of the target.
    const Array leaves_zero = either(both(to, sign, loc), one, loc);
    const Array moved = lax::select(lax::eq(size, zero, loc), leaves_zero, stepped, loc);
    const Array result = lax::select(lax::eq(a[0], a[1], loc), to, moved, loc);
    const Array unordered =
        either(lax::unary(isnan_p, a[0], loc), lax::unary(isnan_p, a[1], loc), loc);
    const Array nan = lax::full_like(a[0], std::numeric_limits<double>::quiet_NaN(), loc);
    return lax::select(unordered, nan, floats.back(result, loc), loc);
  });
}

Array signbit(Operand x) {
  const Loc loc = x.loc();
  const Array a = align::as_float("signbit", x);
  const Bits floats = bits_of_float(a.dtype());
  const Array bits = floats.of(a, loc);
  const Array sign = both(bits, integer_like(bits, floats.sign_bit(), loc), loc);
  return emit1(ne_p, {}, {sign, lax::zeros_like(sign, loc)}, loc);
}

Array copysign(Operand x, Operand y) {
  const Loc loc = x.loc();
  return at_once("copysign", loc, [&]() -> Array {
    const Arrays a = aligned_floats("copysign", x, y);
    const Array differ = emit1(ne_p, {}, {signbit({a[0], loc}), signbit({a[1], loc})}, loc);
    return lax::select(differ, lax::neg(a[0], loc), a[0], loc);
  });
}

namespace {

/// 2^n for i32 n within the exponents of normal numbers.
Array power_of_two(const Array& n, DType t, Loc loc) {
  const bool wide = t == DType::f64;
  const DType word = wide ? DType::i64 : DType::i32;
  const Array biased = lax::add(lax::convert(n, word, loc), wide ? 1023 : 127, loc);
  const Array shift = lax::full_like(biased, wide ? 52 : 23, loc);
  return lax::bitcast(emit1(shl_p, {}, {biased, shift}, loc), t, loc);
}

/// x 2^n with one rounding. In three steps, so that no factor leaves the range; those before the
/// last one keep what they would make subnormal, and so round, as many digits away from there: what
/// is subnormal after all is less than half of the smallest number at the end.
Array scaled(const Array& x, const Array& exponent, Loc loc) {
  const bool wide = x.dtype() == DType::f64;
  const double top = wide ? 1022 : 126, digits = wide ? 53 : 24;
  Array y = x, rest = exponent;
  for (int step = 0; step < 3; ++step) {
    Array part = emit1(
        clamp_p, {}, {lax::full_like(rest, -top, loc), rest, lax::full_like(rest, top, loc)}, loc);
    if (step < 2) {
      const Array far = emit1(lt_p, {}, {rest, lax::full_like(rest, -top, loc)}, loc);
      part = lax::select(far, lax::full_like(rest, digits - top, loc), part, loc);
    }
    y = lax::mul(y, power_of_two(part, x.dtype(), loc), loc);
    rest = lax::sub(rest, part, loc);
  }
  return y;
}

Array require_integers(std::string_view op, const Array& a, Loc loc) {
  if (!is_integer(a.dtype()))
    usage_error(op, "takes integers, got " + to_string(a.aval()) + "; cast it first", loc);
  return a;
}

Array nonzero_of(const Array& a, Loc loc) {
  return emit1(ne_p, {}, {a, lax::zeros_like(a, loc)}, loc);
}

/// Euclid's algorithm for one pair of non-negative integers.
struct Euclid {
  Loc loc;
  Array operator()(const Array& a, const Array& b) const {
    using Pair = std::vector<Array>;
    // Of all 64-bit numbers, neighbours in Fibonacci's sequence take longest.
    return while_loop([&](const Pair& p) -> Array { return nonzero_of(p[1], loc); },
                      [&](Pair p) {
                        return Pair{p[1], emit1(rem_p, {}, {p[0], p[1]}, loc)};
                      },
                      Pair{a, b}, {.max_steps = 96}, loc)[0];
  }
};

double largest(DType t) {
  return t == DType::f64 ? std::numeric_limits<double>::max()
                         : static_cast<double>(std::numeric_limits<float>::max());
}
using align::infinity;

Array equals(const Array& a, double x, Loc loc) {
  return lax::eq(a, lax::full_like(a, x, loc), loc);
}

}  // namespace

Frexp frexp(Operand x) {
  const Loc loc = x.loc();
  const Array a = align::as_float("frexp", x);
  const bool wide = a.dtype() == DType::f64;
  const int mantissa_bits = wide ? 52 : 23, largest_exponent = wide ? 2047 : 255;
  const Bits floats = bits_of_float(a.dtype());
  const auto exponent_field = [&](const Array& v) {
    const Array bits = floats.of(v, loc);
    const Array shifted = emit1(shr_p, {}, {bits, lax::full_like(bits, mantissa_bits, loc)}, loc);
    return lax::convert(both(shifted, integer_like(bits, largest_exponent, loc), loc), DType::i32,
                        loc);
  };
  const Array size = lax::unary(stop_gradient_p, a, loc);
  // Subnormal numbers are made normal first.
  const Array field = exponent_field(size);
  const Array subnormal = equals(field, 0, loc);
  const Array lifted = exponent_field(lax::mul(size, std::ldexp(1.0, mantissa_bits + 1), loc));
  const Array true_field =
      lax::select(subnormal, lax::add(lifted, -(mantissa_bits + 1), loc), field, loc);
  const Array special =
      either(equals(a, 0, loc), lax::unary(not_p, lax::unary(isfinite_p, a, loc), loc), loc);
  const Array exponent = lax::select(special, lax::zeros_like(field, loc),
                                     lax::add(true_field, wide ? -1022 : -126, loc), loc);
  return {scaled(a, lax::neg(exponent, loc), loc), exponent};
}

Array ldexp(Operand x, Operand exponent) {
  const Loc loc = x.loc();
  return at_once("ldexp", loc, [&]() -> Array {
    const Array a = align::as_float("ldexp", x);
    const Array n = require_integers("ldexp", align::as_array("ldexp", exponent), loc);
    const std::array pair{Operand(a, loc), Operand(n, loc)};
    const Shape shape = align::broadcast_shape("ldexp", pair);
    const Array wide = align::broadcast("ldexp", positions::cut_to_i32(n, loc), shape, loc);
    return scaled(align::broadcast("ldexp", a, shape, loc), wide, loc);
  });
}

// ---- arithmetic

Array fmod(Operand a, Operand b) {
  const std::array pair{a, b};
  const Arrays x = align::aligned("fmod", pair);
  return emit1(is_float(x[0].dtype()) ? fmod_p : rem_p, {}, x, a.loc());
}

std::pair<Array, Array> divmod(Operand a, Operand b) {
  return {floor_divide(a, b), remainder(a, b)};
}

namespace {
Array extremum_of_numbers(std::string_view op, const Operand& a, const Operand& b,
                          Array (*pick)(Operand, Operand)) {
  const Loc loc = a.loc();
  return at_once(op, loc, [&]() -> Array {
    const std::array pair{a, b};
    const Arrays x = align::aligned(op, pair);
    if (!is_float(x[0].dtype())) return pick({x[0], loc}, {x[1], loc});
    const Array a_is_nan = lax::unary(isnan_p, x[0], loc),
                b_is_nan = lax::unary(isnan_p, x[1], loc);
    const Array left = lax::select(a_is_nan, x[1], x[0], loc);
    const Array right = lax::select(b_is_nan, x[0], x[1], loc);
    return pick({left, loc}, {right, loc});
  });
}
}  // namespace

Array fmax(Operand a, Operand b) { return extremum_of_numbers("fmax", a, b, maximum); }
Array fmin(Operand a, Operand b) { return extremum_of_numbers("fmin", a, b, minimum); }

Array heaviside(Operand x, Operand at_zero) {
  const Loc loc = x.loc();
  return at_once("heaviside", loc, [&]() -> Array {
    const Arrays a = aligned_floats("heaviside", x, at_zero);
    const Array zero = lax::zeros_like(a[0], loc), one = lax::full_like(a[0], 1, loc);
    const Array sided = lax::select(lax::lt(zero, a[0], loc), one, zero, loc);
    const Array y = lax::select(lax::eq(a[0], zero, loc), a[1], sided, loc);
    const Array nan = lax::full_like(y, std::numeric_limits<double>::quiet_NaN(), loc);
    return lax::select(lax::unary(isnan_p, a[0], loc), nan, y, loc);
  });
}

Array round(Operand x, int decimals, RoundingMethod method) {
  const Loc loc = x.loc();
  const Array a = align::as_array("round", x);
  if (decimals == 0) return round({a, loc}, method);
  if (!is_float(a.dtype())) {
    if (decimals > 0) return a;
    usage_error("round",
                "integers to " + std::to_string(decimals) + " decimals; cast them to a float", loc);
  }
  const double factor = std::pow(10.0, std::abs(decimals));
  const Array ten = lax::full_like(a, factor, loc);
  const auto rounded = [&](const Array& v) { return round({v, loc}, method); };
  if (decimals > 0) return lax::div(rounded(lax::mul(a, ten, loc)), ten, loc);
  return lax::mul(rounded(lax::div(a, ten, loc)), ten, loc);
}

Array gcd(Operand a, Operand b) {
  const Loc loc = a.loc();
  return at_once("gcd", loc, [&]() -> Array {
    const std::array pair{a, b};
    const Arrays x = align::aligned("gcd", pair);
    require_integers("gcd", x[0], loc);
    const Shape shape = x[0].shape();
    if (shape.size() == 0) return x[0];
    const auto flat = [&](const Array& v) {
      return lax::reshape(abs({v, loc}), {shape.size()}, loc);
    };
    return abs({lax::reshape(vmap(Euclid{loc}, {}, loc)(flat(x[0]), flat(x[1])), shape, loc), loc});
  });
}

Array lcm(Operand a, Operand b) {
  const Loc loc = a.loc();
  return at_once("lcm", loc, [&]() -> Array {
    const std::array pair{a, b};
    const Arrays x = align::aligned("lcm", pair);
    const Array divisor = gcd({x[0], loc}, {x[1], loc});
    // Negative where it is the smallest number, which divides itself.
    const Array zero = lax::zeros_like(divisor, loc);
    const Array safe =
        lax::select(lax::eq(divisor, zero, loc), lax::full_like(divisor, 1, loc), divisor, loc);
    return abs({lax::mul(lax::div(x[0], safe, loc), x[1], loc), loc});
  });
}

Array clz(Operand x) {
  const Loc loc = x.loc();
  const Array a = require_integers("clz", align::as_array("clz", x), loc);
  const unsigned width = bits_of(a.dtype());
  const DType word = width == 64   ? DType::u64
                     : width == 32 ? DType::u32
                     : width == 16 ? DType::u16
                                   : DType::u8;
  // Every bit behind the first set one gets set; what is left are the zeros in front.
  Array bits = a.dtype() == word ? a : lax::bitcast(a, word, loc);
  for (unsigned distance = 1; distance < width; distance *= 2)
    bits = either(bits, emit1(shr_p, {}, {bits, lax::full_like(bits, distance, loc)}, loc), loc);
  return lax::convert(lax::unary(popcount_p, lax::unary(not_p, bits, loc), loc), a.dtype(), loc);
}

Array deg2rad(Operand x) {
  return lax::mul(align::as_float("deg2rad", x), std::numbers::pi / 180, x.loc());
}
Array rad2deg(Operand x) {
  return lax::mul(align::as_float("rad2deg", x), 180 / std::numbers::pi, x.loc());
}

Array sinc(Operand x) {
  const Loc loc = x.loc();
  const Array a = align::as_float("sinc", x);
  const Array near = lax::lt(lax::unary(abs_p, a, loc), lax::full_like(a, 0.25, loc), loc);
  // Near 0 the series: the quotient has no derivatives there.
  const Array inside = lax::select(near, a, lax::zeros_like(a, loc), loc);
  const Array angle = lax::mul(inside, std::numbers::pi, loc);
  const Array square = lax::integer_pow(angle, 2, loc);
  // 1 - t / (2 3) (1 - t / (4 5) (1 - ...)).
  Array series = lax::full_like(a, 1, loc);
  for (int k = 9; k >= 1; --k) {
    const Array term = lax::mul(lax::mul(square, series, loc), 1.0 / (2 * k * (2 * k + 1)), loc);
    series = lax::sub_from(1, term, loc);
  }
  // Elsewhere sin(pi x) = +-sin(pi r), where r is x less the nearest integer, exactly: pi x itself
  // is off by more than r where x is large.
  const Array far = lax::select(near, lax::full_like(a, 0.5, loc), a, loc);
  const Array nearest = lax::unary(round_p, far, loc);
  const Array rest = lax::sub(far, nearest, loc);
  const Array half = lax::mul(nearest, 0.5, loc);
  const Array odd = emit1(ne_p, {}, {half, lax::unary(floor_p, half, loc)}, loc);
  const Array wave = lax::unary(sin_p, lax::mul(rest, std::numbers::pi, loc), loc);
  const Array alternating = lax::select(odd, lax::neg(wave, loc), wave, loc);
  const Array quotient = lax::div(lax::mul(alternating, std::numbers::inv_pi, loc), far, loc);
  return lax::select(near, series, quotient, loc);
}

// ---- tests

Array isposinf(Operand x) { return equals(align::as_float("isposinf", x), infinity, x.loc()); }
Array isneginf(Operand x) { return equals(align::as_float("isneginf", x), -infinity, x.loc()); }

Array isclose(Operand a, Operand b, Closeness tolerance) {
  const Loc loc = a.loc();
  return at_once("isclose", loc, [&]() -> Array {
    const Arrays x = aligned_floats("isclose", a, b);
    const Array finite =
        both(lax::unary(isfinite_p, x[0], loc), lax::unary(isfinite_p, x[1], loc), loc);
    const Array off = lax::unary(abs_p, lax::sub(x[0], x[1], loc), loc);
    const Array most =
        lax::add(lax::mul(lax::unary(abs_p, x[1], loc), tolerance.rtol, loc), tolerance.atol, loc);
    const Array near = both(finite, emit1(le_p, {}, {off, most}, loc), loc);
    const Array close = either(near, lax::eq(x[0], x[1], loc), loc);
    if (!tolerance.equal_nan) return close;
    return either(close, both(lax::unary(isnan_p, x[0], loc), lax::unary(isnan_p, x[1], loc), loc),
                  loc);
  });
}

Array allclose(Operand a, Operand b, Closeness tolerance) {
  return all({isclose(a, b, tolerance), a.loc()});
}

Array array_equal(Operand a, Operand b) {
  const Array x = align::as_array("array_equal", a), y = align::as_array("array_equal", b);
  if (x.shape() != y.shape()) return lax::scalar(DType::boolean, 0, a.loc());
  return all({equal(a, b), a.loc()});
}

Array nan_to_num(Operand x, NanReplacement by) {
  const Loc loc = x.loc();
  const Array a = align::as_array("nan_to_num", x);
  if (!is_float(a.dtype())) return a;
  const auto replaced = [&](const Array& where_it_is, double value, const Array& other) {
    return lax::select(where_it_is, lax::full_like(a, value, loc), other, loc);
  };
  Array y = replaced(lax::unary(isnan_p, a, loc), by.nan, a);
  y = replaced(equals(a, infinity, loc), by.posinf.value_or(largest(a.dtype())), y);
  return replaced(equals(a, -infinity, loc), by.neginf.value_or(-largest(a.dtype())), y);
}

}  // namespace gnomon
