// codegen/primitives/elementwise/gamma_draw.cpp -- draws of the gamma distribution as functions of
// its shape.
//
// The value is the draw that is passed in; its derivative in the shape is that of a draw which
// keeps its probability P(a, x). Derivatives are all that looks at the shape: it is there until
// kernels are made, in the pullbacks of loops' steps too, of which there may be derivatives.
// Source: M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients" (2018), eq. 6.
#include <cmath>
#include <limits>

#include "codegen/operations/special.h"
#include "codegen/primitives/families.h"

namespace gnomon {
using namespace rules;

namespace {

double epsilon(DType t) {
  return t == DType::f64 ? std::numeric_limits<double>::epsilon()
                         : static_cast<double>(std::numeric_limits<float>::epsilon());
}
double smallest(DType t) {
  return t == DType::f64 ? std::numeric_limits<double>::min()
                         : static_cast<double>(std::numeric_limits<float>::min());
}

/// d log(x) / da at a constant P(a, x), from log(x): -(dP/da) / (x dP/dx). Next to 0, where P is
/// x^a / gamma(a + 1) and both factors may be too small for floats, that is
/// (digamma(a + 1) - log(x)) / a.
Array log_slope(const Array& a, const Array& log_x) {
  const DType t = a.dtype();
  const auto number = [&](double v) { return lax::full_like(a, v); };
  const Array near_zero = lax::lt(log_x, number(std::log(epsilon(t) / 4)));
  const Array x = lax::unary(exp_p, lax::select(near_zero, number(0), log_x));
  const Array density = lax::mul(x, emit1(gamma_density_p, {}, {a, x}, {}));
  const Array far = lax::neg(lax::div(emit1(gammainc_da_p, {}, {a, x}, {}), density));
  const Array one_more = lax::unary(digamma_p, lax::add(a, 1));
  return lax::select(near_zero, lax::div(lax::sub(one_more, log_x), a), far);
}

constexpr auto first_on_host = [](auto x, auto) { return x; };
kernel::Value first_in_kernel(kernel::Builder&, kernel::Value x, kernel::Value) { return x; }
/// Kernels have the draw alone.
constexpr Lowering draw_alone = Lowering::expanded(
    [](const Params&, const Arrays& in, const Target&, Loc) { return Arrays{in[0]}; });
constexpr auto of_draw = [](const Array&, const Array&, const Array&, const Array& d) { return d; };

}  // namespace

const Primitive gamma_draw_p = lowered(
    binary<
        gamma_draw_p, Accepts::floats, first_on_host, first_in_kernel, of_draw,
        [](const Array& x, const Array& a, const Array&, const Array& da) {
          // A draw that is 0 in its type does not move.
          const Array positive = emit1(max_p, {}, {x, lax::full_like(x, smallest(x.dtype()))}, {});
          return lax::mul(da, lax::mul(x, log_slope(a, lax::unary(log_p, positive))));
        }>("gamma_draw"),
    draw_alone);

const Primitive loggamma_draw_p =
    lowered(binary<loggamma_draw_p, Accepts::floats, first_on_host, first_in_kernel, of_draw,
                   [](const Array& log_x, const Array& a, const Array&, const Array& da) {
                     return lax::mul(da, log_slope(a, log_x));
                   }>("loggamma_draw"),
            draw_alone);

}  // namespace gnomon
