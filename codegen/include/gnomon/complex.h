// codegen/include/gnomon/complex.h -- complex numbers: a pair of real arrays, a tree like any
// other.
//
// There is no complex dtype. A Complex goes through jit, vmap, loops and derivatives as the two
// arrays it is made of: the gradient of a real function of z is the pair of its derivatives in the
// real and the imaginary part (JAX's gradient is the conjugate of that). Parts broadcast and
// promote as ordinary operands do.
//
// Accuracy      functions are within a few units of the last place of |result|, and overflow no
//               sooner than their result, except `pow`.
// Branch cuts   are those of C: along an axis, continuous from the side that the sign of a zero
//               names. log, sqrt and exp have C's values at infinities and NaN (C17, annex G.6).
// Derivatives   all functions are holomorphic: theirs is the complex derivative times dz, of any
//               order, finite wherever it exists.
#pragma once
#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon {

struct Complex {
  Array re, im;
};

/// A Complex as an argument, with the line of the call.
class ComplexOperand {
 public:
  ComplexOperand(const Complex& z, Loc loc = Loc::here())  // NOLINT: implicit on purpose
      : re_(z.re, loc), im_(z.im, loc) {}
  const Operand& re() const { return re_; }
  const Operand& im() const { return im_; }
  Loc loc() const { return re_.loc(); }

 private:
  Operand re_, im_;
};

/// re + 0 i, with an imaginary part of the same shape.
Complex complex(Operand re);
/// re + i im, broadcast to one shape and dtype.
Complex complex(Operand re, Operand im);
/// magnitude (cos angle + i sin angle).
Complex polar(Operand magnitude, Operand angle);

Complex operator+(ComplexOperand a, const Complex& b);
Complex operator-(ComplexOperand a, const Complex& b);
Complex operator*(ComplexOperand a, const Complex& b);
/// a conj(b) / |b|^2, with b scaled by its larger part: no overflow where the result has none.
Complex operator/(ComplexOperand a, const Complex& b);
Complex operator-(ComplexOperand z);
Complex operator+(ComplexOperand a, Operand b);
Complex operator-(ComplexOperand a, Operand b);
Complex operator*(ComplexOperand a, Operand b);
Complex operator/(ComplexOperand a, Operand b);
Complex operator+(Operand a, const Complex& b);
Complex operator-(Operand a, const Complex& b);
Complex operator*(Operand a, const Complex& b);
Complex operator/(Operand a, const Complex& b);

Complex conj(ComplexOperand z);
/// |z|, as `hypot` of the parts.
Array abs(ComplexOperand z);
/// |z|^2.
Array norm_squared(ComplexOperand z);
/// The angle in [-pi, pi]: that of -0 i is -pi on the negative axis.
Array angle(ComplexOperand z);
/// Whether both parts are equal.
Array equal(ComplexOperand a, const Complex& b);

// ---- functions

Complex exp(ComplexOperand z);
/// exp(z) - 1, accurate near 0.
Complex expm1(ComplexOperand z);
/// log|z| + i angle(z); cut along the negative axis. Accurate near 1, where |z| is 1.
Complex log(ComplexOperand z);
/// log(1 + z), accurate near 0.
Complex log1p(ComplexOperand z);
/// The root with a real part that is not negative; cut along the negative axis.
Complex sqrt(ComplexOperand z);
/// exp(w log z), with |z| raised as a real number: |z| and |z|^re(w) have to be in range. 0^w is 0
/// for re(w) > 0, 1 for w = 0 and NaN otherwise; its derivative in w there is 0.
Complex pow(ComplexOperand z, const Complex& w);
Complex pow(ComplexOperand z, Operand w);
Complex pow(Operand z, const Complex& w);

Complex sin(ComplexOperand z);
Complex cos(ComplexOperand z);
Complex tan(ComplexOperand z);
Complex sinh(ComplexOperand z);
Complex cosh(ComplexOperand z);
Complex tanh(ComplexOperand z);
/// Cut along the real axis outside [-1, 1]; likewise acos and atanh. asinh and atan are cut along
/// the imaginary axis outside [-i, i], acosh along the real axis below 1.
/// Source: Kahan, Branch cuts for complex elementary functions (1987).
Complex asin(ComplexOperand z);
Complex acos(ComplexOperand z);
Complex atan(ComplexOperand z);
Complex asinh(ComplexOperand z);
Complex acosh(ComplexOperand z);
Complex atanh(ComplexOperand z);

// ---- sums and products

Complex sum(ComplexOperand z, const Axes& axes = {}, ReduceOptions options = {});
Complex mean(ComplexOperand z, const Axes& axes = {}, ReduceOptions options = {});
/// As `matmul` and `dot` of arrays, by four real products.
Complex matmul(ComplexOperand a, const Complex& b);
Complex dot(ComplexOperand a, const Complex& b);
/// The sum of conj(a) b over the flattened operands.
Complex vdot(ComplexOperand a, const Complex& b);
/// The conjugates of matrices (the last two axes), transposed.
Complex adjoint(ComplexOperand a);

}  // namespace gnomon
#pragma GCC visibility pop
