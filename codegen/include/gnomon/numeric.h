// codegen/include/gnomon/numeric.h -- everyday operations element by element beyond ops.h: parts of
// floats and integers, tests, angles; and numbers along an axis: differences, polynomials,
// interpolation, sliding products.
//
// Promotion, broadcasting, axes and errors as in gnomon/ops.h.
#pragma once
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon {

// ---- the parts of floats

/// The neighbour of `x` in the direction of `y`; y where they are equal, NaN when either is.
/// Derivative zero.
Array nextafter(Operand x, Operand y);
/// Whether the sign bit is set: of -0 as well.
Array signbit(Operand x);
/// |x| with the sign of y. The derivative in x is +-1, in y zero.
Array copysign(Operand x, Operand y);
struct Frexp {
  Array mantissa;  // in [0.5, 1) or (-1, -0.5]; x itself where it is 0, infinite or NaN
  Array exponent;  // i32; 0 there
};
/// x = mantissa 2^exponent. The derivative of the mantissa is 2^-exponent.
Frexp frexp(Operand x);
/// x 2^exponent for integer exponents; those of subnormal results may round twice.
Array ldexp(Operand x, Operand exponent);

// ---- arithmetic

/// The remainder of division rounded towards zero (`trunc_divide`): it has the sign of a, as C's
/// `fmod` and `%`. Of floats it is exact for every pair; fmod(x, inf) is x, fmod(x, 0) NaN. The
/// derivative in b is -trunc(a / b). Cost as `remainder`.
Array fmod(Operand a, Operand b);
/// {floor_divide(a, b), remainder(a, b)}.
std::pair<Array, Array> divmod(Operand a, Operand b);
/// The larger (smaller) element; where one is NaN the other one. Equal elements share the
/// derivative.
Array fmax(Operand a, Operand b);
Array fmin(Operand a, Operand b);
/// 0 for negative x, 1 for positive, `at_zero` at 0; NaN stays. Derivative zero in x.
Array heaviside(Operand x, Operand at_zero);
/// Rounded to `decimals` places (negative: to tens, hundreds, ...), halves as `method` says, by way
/// of a multiplication and a division, which round themselves.
Array round(Operand x, int decimals, RoundingMethod method = RoundingMethod::to_nearest_even);
/// Non-negative; of integers. gcd(0, 0) is 0, and so is lcm with 0; the smallest signed number has
/// no positive counterpart and comes out as it is.
Array gcd(Operand a, Operand b);
Array lcm(Operand a, Operand b);
/// The number of zero bits in front of the first set one; the width of the dtype for 0.
Array clz(Operand x);
Array deg2rad(Operand x);
Array rad2deg(Operand x);
/// sin(pi x) / (pi x), with all its derivatives also at 0 (up to the 7th).
Array sinc(Operand x);

// ---- tests

Array isposinf(Operand x);
Array isneginf(Operand x);
struct Closeness {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
/// |a - b| <= atol + rtol |b|; infinities equal themselves.
Array isclose(Operand a, Operand b, Closeness tolerance = {});
/// Whether all are: bool[].
Array allclose(Operand a, Operand b, Closeness tolerance = {});
Array array_equal(Operand a, Operand b);
struct NanReplacement {
  double nan = 0;
  std::optional<double> posinf = {}, neginf = {};  // else the largest finite numbers of the dtype
};
/// NaN and infinities replaced; the derivative is 0 there.
Array nan_to_num(Operand x, NanReplacement by = {});

// ---- making arrays

struct LinspaceOptions {
  bool endpoint = true;  // else `stop` would be the next one
  DType dtype = DType::f32;
};
Array linspace(double start, double stop, Dim count, LinspaceOptions options,
               Loc loc = Loc::here());
/// base^x for evenly spaced x.
Array logspace(double start, double stop, Dim count, double base = 10, LinspaceOptions options = {},
               Loc loc = Loc::here());
/// Spaced by equal factors from `start` to `stop`, which have one sign and are not 0.
Array geomspace(double start, double stop, Dim count, LinspaceOptions options = {},
                Loc loc = Loc::here());
/// 1 where the last, new axis equals x, else 0: x[..] of integers below `classes` gives
/// [.., classes]; others give zeros.
Array one_hot(Operand x, Dim classes, DType dtype = DType::f32);

// ---- along an axis

/// x[i + 1] - x[i], `n` times; of bool, whether they differ.
Array diff(Operand x, int n = 1, int axis = -1);
/// Differences of neighbours in the flattened array.
Array ediff1d(Operand x);
/// Second-order differences inside, first-order ones at both ends, of values `spacing` apart: the
/// derivative along `axis`, as np.gradient.
Array gradient(Operand x, double spacing = 1, int axis = -1);
/// The same for values at the coordinates `at`, of rank 1.
Array gradient(Operand x, Operand at, int axis = -1);
/// The integral by the trapezoidal rule.
Array trapezoid(Operand y, double spacing = 1, int axis = -1);
Array trapezoid(Operand y, Operand x, int axis = -1);
/// Shifts by multiples of `period` that make neighbours differ by at most half of it.
Array unwrap(Operand x, int axis = -1, double period = 6.283185307179586);

/// c[0] x^(n-1) + ... + c[n-1] by Horner's rule; c has rank 1.
Array polyval(Operand coefficients, Operand x);
/// The piecewise linear function through the points (xp, fp), xp ascending, at x; the first and
/// last value beyond them, or `left` and `right`. NaN at NaN. Differentiable in all three.
Array interp(Operand x, Operand xp, Operand fp, std::optional<double> left = {},
             std::optional<double> right = {});

enum class Overlap : std::uint8_t {
  full,   // n + m - 1 elements: wherever they touch
  same,   // the middle max(n, m) of these
  valid,  // max(n, m) - min(n, m) + 1 elements: where the shorter one lies inside the longer one
};
/// out[k] = sum of a[i] v[k - i], both of rank 1; n m multiplications.
Array convolve(Operand a, Operand v, Overlap overlap = Overlap::full);
/// out[k] = sum of a[i + k] v[i].
Array correlate(Operand a, Operand v, Overlap overlap = Overlap::valid);

// ---- products of vectors

/// Of vectors of length 3 (or 2, giving the third component) along the last axis.
Array cross(Operand a, Operand b);
/// The sum of the products of the flattened operands.
Array vdot(Operand a, Operand b);
/// Over the last axis of both: [.., n] and [.., n] give [.., ..].
Array inner(Operand a, Operand b);

}  // namespace gnomon
#pragma GCC visibility pop
