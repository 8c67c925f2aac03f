// codegen/primitives/elementwise/incomplete_gamma.cpp -- the incomplete gamma functions and their
// derivatives.
#include <cmath>

#include "codegen/lax/elementwise.h"
#include "codegen/operations/special.h"
#include "codegen/primitives/elementwise/special_host.h"
#include "codegen/primitives/families.h"
#include "gnomon/error.h"
#include "gnomon/special.h"
#include "shaders/math/special.h"

namespace gnomon {
using namespace rules;

namespace {

Array with(const Primitive& p, const Array& a, const Array& x) { return emit1(p, {}, {a, x}, {}); }

/// d log(density) / da.
Array log_slope_in_shape(const Array& a, const Array& x) {
  return lax::sub(lax::unary(log_p, x), lax::unary(digamma_p, a));
}

template <auto F>
constexpr auto on_host = [](auto a, auto x) {
  return static_cast<decltype(x)>(F(static_cast<long double>(a), static_cast<long double>(x)));
};

template <const Primitive& P, auto Host, auto Kernel, auto Left, auto Right>
constexpr Primitive of_shape_and_point(std::string_view name) {
  return binary<P, Accepts::floats, on_host<Host>, Kernel, Left, Right>(name, Cost::heavy);
}

}  // namespace

const Primitive gammainc_p =
    of_shape_and_point<gammainc_p, host::gammainc, math::gammainc,
                       [](const Array& a, const Array& x, const Array&, const Array& da) {
                         return lax::mul(da, with(gammainc_da_p, a, x));
                       },
                       [](const Array& a, const Array& x, const Array&, const Array& dx) {
                         return lax::mul(dx, with(gamma_density_p, a, x));
                       }>("gammainc");

const Primitive gammaincc_p =
    of_shape_and_point<gammaincc_p, host::gammaincc, math::gammaincc,
                       [](const Array& a, const Array& x, const Array&, const Array& da) {
                         return lax::neg(lax::mul(da, with(gammainc_da_p, a, x)));
                       },
                       [](const Array& a, const Array& x, const Array&, const Array& dx) {
                         return lax::neg(lax::mul(dx, with(gamma_density_p, a, x)));
                       }>("gammaincc");

const Primitive gammainc_da_p = of_shape_and_point<
    gammainc_da_p, host::gammainc_da, math::gammainc_da,
    [](const Array&, const Array&, const Array&, const Array&) -> Array {
      usage_error("gammainc",
                  "the second derivative in `a` has no rule; differentiate in `a` once, or stop "
                  "the gradient of the first derivative",
                  {});
    },
    [](const Array& a, const Array& x, const Array&, const Array& dx) {
      return lax::mul(dx, lax::mul(with(gamma_density_p, a, x), log_slope_in_shape(a, x)));
    }>("gammainc_da");

const Primitive gamma_density_p =
    of_shape_and_point<gamma_density_p, host::gamma_density, math::gamma_density,
                       [](const Array& a, const Array& x, const Array& y, const Array& da) {
                         return lax::mul(da, lax::mul(y, log_slope_in_shape(a, x)));
                       },
                       [](const Array& a, const Array& x, const Array& y, const Array& dx) {
                         return lax::mul(dx,
                                         lax::mul(y, lax::add(lax::div(lax::add(a, -1), x), -1)));
                       }>("gamma_density");

// ---- the public functions

using elementwise::binary_float;

Array gammainc(Operand a, Operand x) { return binary_float("gammainc", gammainc_p, a, x); }
Array gammaincc(Operand a, Operand x) { return binary_float("gammaincc", gammaincc_p, a, x); }
Array igamma_grad_a(Operand a, Operand x) {
  return binary_float("igamma_grad_a", gammainc_da_p, a, x);
}
Array random_gamma_grad(Operand a, Operand x) {
  const Array slope = binary_float("random_gamma_grad", gammainc_da_p, a, x);
  const Array density = binary_float("random_gamma_grad", gamma_density_p, a, x);
  return lax::neg(lax::div(slope, density, a.loc()), a.loc());
}

}  // namespace gnomon
