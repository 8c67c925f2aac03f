// codegen/ops/complex.cpp -- arithmetic on pairs of real arrays.
#include "gnomon/complex.h"

#include <array>

#include "codegen/lax/align.h"
#include "codegen/trace/eager.h"
#include "gnomon/numeric.h"

namespace gnomon {
namespace {

Operand here(const Array& a, Loc loc) { return {a, loc}; }

Arrays quotient_parts(const Operand& re, const Operand& im, const Complex& b, Loc loc) {
  // Both parts over the larger magnitude: their squares neither overflow nor vanish together.
  const Operand c = here(b.re, loc), d = here(b.im, loc);
  const Array size = maximum(here(abs(c), loc), here(abs(d), loc));
  const Operand scale = here(where(here(equal(here(size, loc), {0, loc}), loc), {1, loc},
                                   here(stop_gradient(here(size, loc)), loc)),
                             loc);
  const Operand x = here(divide(c, scale), loc), y = here(divide(d, scale), loc);
  const Array square_sum = add(here(multiply(x, x), loc), here(multiply(y, y), loc));
  const Operand whole = here(multiply(here(square_sum, loc), scale), loc);
  const Array real = add(here(multiply(re, x), loc), here(multiply(im, y), loc));
  const Array imaginary = subtract(here(multiply(im, x), loc), here(multiply(re, y), loc));
  return {divide(here(real, loc), whole), divide(here(imaginary, loc), whole)};
}

Complex quotient(const Operand& re, const Operand& im, const Complex& b, Loc loc) {
  const Arrays r = at_once("divide", loc, [&] { return quotient_parts(re, im, b, loc); });
  return {r[0], r[1]};
}

}  // namespace

Complex complex(Operand re) {
  const Array x = align::as_float("complex", re);
  return {x, lax::zeros_like(x, re.loc())};
}

Complex complex(Operand re, Operand im) {
  const std::array both{re, im};
  const Arrays x =
      align::aligned("complex", both, align::float_dtype(align::common_dtype("complex", both)));
  // Functions of the one look at each part alone: both go where one of them is.
  return {beside(x[1], x[0]), beside(x[0], x[1])};
}

Complex polar(Operand magnitude, Operand angle) {
  const Loc loc = magnitude.loc();
  const std::array both{magnitude, angle};
  const Arrays r = at_once("polar", loc, [&] {
    const Arrays x =
        align::aligned("polar", both, align::float_dtype(align::common_dtype("polar", both)));
    return Arrays{lax::mul(x[0], lax::unary(cos_p, x[1], loc), loc),
                  lax::mul(x[0], lax::unary(sin_p, x[1], loc), loc)};
  });
  return {r[0], r[1]};
}

Complex operator+(ComplexOperand a, const Complex& b) {
  return {add(a.re(), here(b.re, a.loc())), add(a.im(), here(b.im, a.loc()))};
}
Complex operator-(ComplexOperand a, const Complex& b) {
  return {subtract(a.re(), here(b.re, a.loc())), subtract(a.im(), here(b.im, a.loc()))};
}
Complex operator*(ComplexOperand a, const Complex& b) {
  const Loc loc = a.loc();
  const Operand re = here(b.re, loc), im = here(b.im, loc);
  return {subtract(here(multiply(a.re(), re), loc), here(multiply(a.im(), im), loc)),
          add(here(multiply(a.re(), im), loc), here(multiply(a.im(), re), loc))};
}
Complex operator/(ComplexOperand a, const Complex& b) {
  return quotient(a.re(), a.im(), b, a.loc());
}
Complex operator-(ComplexOperand z) { return {negative(z.re()), negative(z.im())}; }

Complex operator+(ComplexOperand a, Operand b) {
  return complex(here(add(a.re(), b), a.loc()), a.im());
}
Complex operator-(ComplexOperand a, Operand b) {
  return complex(here(subtract(a.re(), b), a.loc()), a.im());
}
Complex operator*(ComplexOperand a, Operand b) {
  return {multiply(a.re(), b), multiply(a.im(), b)};
}
Complex operator/(ComplexOperand a, Operand b) { return {divide(a.re(), b), divide(a.im(), b)}; }

Complex operator+(Operand a, const Complex& b) { return ComplexOperand(b, a.loc()) + a; }
Complex operator-(Operand a, const Complex& b) { return -ComplexOperand(b, a.loc()) + a; }
Complex operator*(Operand a, const Complex& b) { return ComplexOperand(b, a.loc()) * a; }
Complex operator/(Operand a, const Complex& b) {
  const Loc loc = a.loc();
  return quotient(a, a.is_array() ? here(zeros_like(a), loc) : Operand(0, loc), b, loc);
}

Complex conj(ComplexOperand z) { return {z.re().array(), negative(z.im())}; }
Array abs(ComplexOperand z) { return hypot(z.re(), z.im()); }
Array norm_squared(ComplexOperand z) {
  const Loc loc = z.loc();
  return add(here(multiply(z.re(), z.re()), loc), here(multiply(z.im(), z.im()), loc));
}
Array angle(ComplexOperand z) { return atan2(z.im(), z.re()); }
Array equal(ComplexOperand a, const Complex& b) {
  const Loc loc = a.loc();
  return logical_and(here(equal(a.re(), here(b.re, loc)), loc),
                     here(equal(a.im(), here(b.im, loc)), loc));
}

Complex sum(ComplexOperand z, const Axes& axes, ReduceOptions options) {
  return {sum(z.re(), axes, options), sum(z.im(), axes, options)};
}
Complex mean(ComplexOperand z, const Axes& axes, ReduceOptions options) {
  return {mean(z.re(), axes, options), mean(z.im(), axes, options)};
}

namespace {

/// (a + i b)(c + i d) for any bilinear product.
Complex multiplied(const ComplexOperand& a, const Complex& b, Array (*product)(Operand, Operand)) {
  const Loc loc = a.loc();
  const Operand re = here(b.re, loc), im = here(b.im, loc);
  return {subtract(here(product(a.re(), re), loc), here(product(a.im(), im), loc)),
          add(here(product(a.re(), im), loc), here(product(a.im(), re), loc))};
}

}  // namespace

Complex matmul(ComplexOperand a, const Complex& b) { return multiplied(a, b, matmul); }
Complex dot(ComplexOperand a, const Complex& b) { return multiplied(a, b, dot); }
Complex vdot(ComplexOperand a, const Complex& b) { return multiplied({conj(a), a.loc()}, b, vdot); }
Complex adjoint(ComplexOperand a) {
  const Complex z = conj(a);
  return {swapaxes(here(z.re, a.loc()), -1, -2), swapaxes(here(z.im, a.loc()), -1, -2)};
}

}  // namespace gnomon
