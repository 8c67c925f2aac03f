// codegen/ops/activation.cpp -- the nonlinear functions of networks.
#include <cmath>
#include <numbers>

#include "codegen/lax/align.h"
#include "codegen/trace/eager.h"
#include "gnomon/activations.h"

namespace gnomon {
namespace {

/// `above` where a > 0, `below` elsewhere: a choice, so that the derivative is one of theirs.
Array by_sign(const Array& a, const Array& above, const Array& below, Loc loc) {
  return lax::select(lax::lt(lax::zeros_like(a, loc), a, loc), above, below, loc);
}

/// a where it is negative, 0 elsewhere: keeps exponentials of large numbers out of derivatives.
Array negative_part(const Array& a, Loc loc) { return by_sign(a, lax::zeros_like(a, loc), a, loc); }

struct Parametrised {
  Array x, parameter;
};
Parametrised with_parameter(std::string_view op, const Operand& x, const Operand& parameter) {
  const std::array pair{x, parameter};
  const Arrays a = align::aligned(op, pair, align::float_dtype(align::common_dtype(op, pair)));
  return {a[0], a[1]};
}

}  // namespace

Array silu(Operand x) {
  const Array a = align::as_float("silu", x);
  return lax::mul(a, lax::unary(logistic_p, a, x.loc()), x.loc());
}

Array gelu(Operand x, bool approximate) {
  const Loc loc = x.loc();
  const Array a = align::as_float("gelu", x);
  if (approximate) {
    // (1 + tanh(u)) / 2 is the sigmoid of 2 u, which keeps its digits where tanh is next to -1.
    // From 32 on it is 0 or 1 in every dtype, and the cube stays in range.
    const Array inside = clip({a, loc}, -32, 32);
    const Array cubic =
        lax::add(inside, lax::mul(lax::integer_pow(inside, 3, loc), 0.044715, loc), loc);
    const double factor = 2 * std::sqrt(2 / std::numbers::pi);
    return lax::mul(a, lax::unary(logistic_p, lax::mul(cubic, factor, loc), loc), loc);
  }
  const Array half = lax::mul(a, 0.5, loc);
  // Far below 0, 1 + erf would cancel.
  const Array scaled = lax::mul(a, -1 / std::numbers::sqrt2, loc);
  return lax::mul(half, lax::unary(erfc_p, scaled, loc), loc);
}

Array elu(Operand x, Operand alpha) {
  const Loc loc = x.loc();
  return at_once("elu", loc, [&]() -> Array {
    const auto [a, factor] = with_parameter("elu", x, alpha);
    const Array below = lax::unary(expm1_p, negative_part(a, loc), loc);
    return by_sign(a, a, lax::mul(factor, below, loc), loc);
  });
}

Array celu(Operand x, Operand alpha) {
  const Loc loc = x.loc();
  return at_once("celu", loc, [&]() -> Array {
    const auto [a, factor] = with_parameter("celu", x, alpha);
    const Array below = lax::unary(expm1_p, lax::div(negative_part(a, loc), factor, loc), loc);
    return by_sign(a, a, lax::mul(factor, below, loc), loc);
  });
}

Array selu(Operand x) {
  constexpr double alpha = 1.6732632423543772848170429916717;
  constexpr double scale = 1.0507009873554804934193349852946;
  return lax::mul(elu(x, {alpha, x.loc()}), scale, x.loc());
}

Array leaky_relu(Operand x, Operand slope) {
  const Loc loc = x.loc();
  return at_once("leaky_relu", loc, [&]() -> Array {
    const auto [a, factor] = with_parameter("leaky_relu", x, slope);
    return by_sign(a, a, lax::mul(a, factor, loc), loc);
  });
}

Array relu6(Operand x) { return clip({align::as_float("relu6", x), x.loc()}, 0, 6); }

Array soft_sign(Operand x) {
  const Loc loc = x.loc();
  const Array a = align::as_float("soft_sign", x), size = lax::unary(abs_p, a, loc);
  const Array one = lax::full_like(a, 1, loc);
  // From 1 on as +-(1 - 1 / (1 + |x|)): the derivative of the quotient loses its digits there.
  const Array far = lax::lt(one, size, loc), near = lax::select(far, one, a, loc);
  const Array quotient = lax::div(near, lax::add(lax::unary(abs_p, near, loc), 1, loc), loc);
  const Array rest = lax::sub_from(1, lax::div(one, lax::add(size, 1, loc), loc), loc);
  return lax::select(far, lax::mul(lax::unary(sign_p, a, loc), rest, loc), quotient, loc);
}

Array hard_tanh(Operand x) { return clip({align::as_float("hard_tanh", x), x.loc()}, -1, 1); }

Array hard_sigmoid(Operand x) {
  const Loc loc = x.loc();
  const Array shifted = lax::add(align::as_float("hard_sigmoid", x), 3, loc);
  return lax::mul(relu6({shifted, loc}), 1.0 / 6, loc);
}

Array hard_silu(Operand x) {
  const Array a = align::as_float("hard_silu", x);
  return lax::mul(a, hard_sigmoid({a, x.loc()}), x.loc());
}

Array log_sigmoid(Operand x) {
  const Loc loc = x.loc();
  return lax::neg(softplus({lax::neg(align::as_float("log_sigmoid", x), loc), loc}), loc);
}

Array mish(Operand x) {
  const Loc loc = x.loc();
  const Array a = align::as_float("mish", x);
  return lax::mul(a, lax::unary(tanh_p, softplus({a, loc}), loc), loc);
}

Array glu(Operand x, int axis) {
  const Loc loc = x.loc();
  const Array a = align::as_float("glu", x);
  const int along = align::axis_of("glu", axis, a, loc);
  const Dim n = a.shape()[along];
  if (n % 2 != 0)
    usage_error(
        "glu",
        "axis " + std::to_string(along) + " of " + to_string(a.aval()) + " has no two halves", loc);
  const Array gate = lax::unary(logistic_p, lax::slice_axis(a, along, n / 2, n, loc), loc);
  return lax::mul(lax::slice_axis(a, along, 0, n / 2, loc), gate, loc);
}

}  // namespace gnomon
