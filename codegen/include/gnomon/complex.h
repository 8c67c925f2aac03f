// codegen/include/gnomon/complex.h -- complex numbers: a pair of real arrays, a tree like any
// other.
//
// There is no complex dtype. A Complex goes through jit, vmap, loops and derivatives as the two
// arrays it is made of: the gradient of a real function of z is the pair of its derivatives in the
// real and the imaginary part (JAX's gradient is the conjugate of that). Parts broadcast and
// promote as ordinary operands do.
#pragma once
#include "gnomon/ops.h"

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
/// The angle in (-pi, pi].
Array angle(ComplexOperand z);
Complex exp(ComplexOperand z);

}  // namespace gnomon
