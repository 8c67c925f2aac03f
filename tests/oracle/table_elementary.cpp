// tests/oracle/table_elementary.cpp -- elementary functions of floats, and arithmetic on them.
#include <cmath>

#include "gnomon/activations.h"
#include "gnomon/complex.h"
#include "gnomon/numeric.h"
#include "gnomon/ops.h"
#include "gnomon/special.h"
#include "table.h"

namespace oracle {
namespace {

namespace gn = gnomon;
using R = const Real&;
using O = Operand;

/// Derivatives written down: of one argument x, of two arguments a and b.
#define GNOMON_SLOPE(expression)             \
  {                                          \
    [](const Reals& v) {                     \
      [[maybe_unused]] const Real& x = v[0]; \
      return Real(expression);               \
    }                                        \
  }
#define GNOMON_SLOPES(first, second)                        \
  {                                                         \
    [](const Reals& v) {                                    \
      [[maybe_unused]] const Real &a = v[0], &b = v[1];     \
      return Real(first);                                   \
    },                                                      \
        [](const Reals& v) {                                \
          [[maybe_unused]] const Real &a = v[0], &b = v[1]; \
          return Real(second);                              \
        }                                                   \
  }

const Real one = 1, two = 2;
Real no_number() { return Real(NAN); }
constexpr long double selu_alpha = 1.6732632423543772848170429916717L,
                      selu_scale = 1.0507009873554804934193349852946L;
Real hard_sigmoid(R x) { return smaller(larger(x + Real(3), Real(0)), Real(6)) / Real(6); }
/// dP(a, x) / da by differences of 100 digits.
Real gammainc_in_a(R a, R x) {
  const mpfr_prec_t before = Real::digits;
  Real::digits = 360;
  const Real h = a * power_of_two(-100);
  const Real slope = (gammainc(a + h, x) - gammainc(a - h, x)) / (h + h);
  Real::digits = before;
  return slope;
}
/// dP(a, x) / dx.
Real gamma_density(R a, R x) {
  Real gamma;
  mpfr_gamma(gamma.get(), a.get(), MPFR_RNDN);
  return pow(x, a - one) * exp(-x) / gamma;
}
Elementwise::Slopes gelu_slope() {
  return {[](const Reals& v) {
    const Real &x = v[0], c = sqrt(Real(8) / pi()), u = c * (x + Real(0.044715L) * x * x * x);
    const Real turn = c * (one + Real(3 * 0.044715L) * square(x));
    return sigmoid(u) + x * turn * sigmoid(u) * sigmoid(-u);
  }};
}
Real zero_slope(const Reals&) { return Real(0); }
/// Of what has one slope on each side and another in the corner.
std::function<Real(const Reals&)> sided(double left, double corner, double right) {
  return [=](const Reals& x) { return Real(x[0].zero() ? corner : x[0] > Real(0) ? right : left); };
}
/// The derivative of clip in each argument: 1 where it alone decides.
std::function<Real(const Reals&)> clip_slope(std::size_t which) {
  return [=](const Reals& a) {
    const Real &x = a[0], &lo = a[1], &hi = a[2];
    if (which == 0) return Real(lo < x && x < hi ? 1 : 0);
    if (which == 1) return Real(x < lo && lo < hi ? 1 : 0);
    return Real(hi < larger(x, lo) ? 1 : 0);
  };
}

}  // namespace

// Rows are laid out as those of tables.
// clang-format off
Family elementary() {
  return {.name = "Elementary",
          .elementwise = {
              {"exp(Operand)", gn::exp, exp, {.halves = true}, GNOMON_SLOPE(exp(x))},
              {"exp2", gn::exp2, exp2, {}, GNOMON_SLOPE(exp2(x) * log(two))},
              {"expm1(Operand)", gn::expm1, expm1, {}, GNOMON_SLOPE(exp(x))},
              {"log(Operand)", gn::log, log, {.halves = true}, GNOMON_SLOPE(x > Real(0) ? one / x : no_number())},
              {"log2", gn::log2, log2, {}, GNOMON_SLOPE(x > Real(0) ? one / (x * log(two)) : no_number())},
              {"log10", gn::log10, log10, {}, GNOMON_SLOPE(x > Real(0) ? one / (x * log(Real(10))) : no_number())},
              {"log1p(Operand)", gn::log1p, log1p, {}, GNOMON_SLOPE(x > Real(-1) ? one / (x + one) : no_number())},
              {"sqrt(Operand)", gn::sqrt, sqrt, {.ulps = 0.5, .halves = true}, GNOMON_SLOPE(x > Real(0) ? one / (two * sqrt(x)) : no_number())},
              {"rsqrt", gn::rsqrt, rsqrt, {}, GNOMON_SLOPE(x > Real(0) ? -one / (two * x * sqrt(x)) : no_number())},
              {"cbrt", gn::cbrt, cbrt, {}, GNOMON_SLOPE(x.zero() ? no_number() : one / (Real(3) * square(cbrt(x))))},
              {"sin(Operand)", gn::sin, sin, {.halves = true}, GNOMON_SLOPE(cos(x))},
              {"cos(Operand)", gn::cos, cos, {}, GNOMON_SLOPE(-sin(x))},
              {"tan(Operand)", gn::tan, tan, {}, GNOMON_SLOPE(one + square(tan(x)))},
              {"asin(Operand)", gn::asin, asin, {}, GNOMON_SLOPE(abs(x) < one ? rsqrt((one - x) * (one + x)) : no_number())},
              {"acos(Operand)", gn::acos, acos, {}, GNOMON_SLOPE(abs(x) < one ? -rsqrt((one - x) * (one + x)) : no_number())},
              {"atan(Operand)", gn::atan, atan, {}, GNOMON_SLOPE(one / (one + square(x)))},
              {"sinh(Operand)", gn::sinh, sinh, {}, GNOMON_SLOPE(cosh(x))},
              {"cosh(Operand)", gn::cosh, cosh, {}, GNOMON_SLOPE(sinh(x))},
              {"tanh(Operand)", gn::tanh, tanh, {.slope_least = 1, .halves = true}, GNOMON_SLOPE(one / square(cosh(x)))},
              {"asinh(Operand)", gn::asinh, asinh, {}, GNOMON_SLOPE(rsqrt(one + square(x)))},
              {"acosh(Operand)", gn::acosh, acosh, {}, GNOMON_SLOPE(x > one ? rsqrt((x - one) * (x + one)) : no_number())},
              {"atanh(Operand)", gn::atanh, atanh, {}, GNOMON_SLOPE(abs(x) < one ? one / ((one - x) * (one + x)) : no_number())},
              {"sigmoid", gn::sigmoid, sigmoid, {.slope_least = 0.25}, GNOMON_SLOPE(sigmoid(x) * sigmoid(-x))},
              {"softplus", gn::softplus, softplus, {}, GNOMON_SLOPE(sigmoid(x))},
              {"erf", gn::erf, erf, {.spread = 2}, GNOMON_SLOPE(two / sqrt(pi()) * exp(-square(x)))},
              {"erfc", gn::erfc, erfc, {.spread = 2}, GNOMON_SLOPE(-two / sqrt(pi()) * exp(-square(x)))},
              {"erfinv", gn::erfinv, erfinv, {}, {[](const Reals& x) {
                 const Real y = erfinv(x[0]);
                 return y.finite() ? sqrt(pi()) / Real(2) * exp(square(y)) : Real(NAN);
               }}},
              {"abs(Operand)", [](O x) { return gn::abs(x); }, abs, {.ulps = 0},
               GNOMON_SLOPE(x.zero() ? 0 : x > Real(0) ? 1 : -1)},
              {"negative operator-(Operand)", gn::negative, negative, {.ulps = 0, .halves = true}, GNOMON_SLOPE(-1)},
              {"square", gn::square, square, {.ulps = 0.5, .halves = true}, GNOMON_SLOPE(two * x)},
              {"reciprocal", gn::reciprocal, reciprocal, {.ulps = 0.5}, GNOMON_SLOPE(x.zero() ? no_number() : -one / square(x))},
              {"relu", gn::relu, [](R x) { return larger(x, Real(0)); },
               {.ulps = 0, .unsigned_zero = true, .halves = true}, {sided(0, 0, 1)}},
              {"sinc", gn::sinc, sinc, {.ulps = 6, .slope = 24, .spread = 8, .unsigned_zero = true},
               GNOMON_SLOPE(abs(x) < Real(1e-18) ? -square(pi()) * x / Real(3)
                                                 : (cospi(x) - sinc(x)) / x)},
              {"deg2rad", gn::deg2rad, [](R x) { return x * (pi() / Real(180)); }, {}, GNOMON_SLOPE(pi() / Real(180))},
              {"rad2deg", gn::rad2deg, [](R x) { return x * (Real(180) / pi()); }, {}, GNOMON_SLOPE(Real(180) / pi())},

              {"add operator+(Operand,Operand)", gn::add, [](R a, R b) { return a + b; },
               {.ulps = 0.5, .halves = true}, GNOMON_SLOPES(1, 1)},
              {"operator+=", [](O a, O b) { Array x = a.array(); return x += b; },
               [](R a, R b) { return a + b; }, {.ulps = 0.5}, GNOMON_SLOPES(1, 1)},
              {"subtract operator-(Operand,Operand)", gn::subtract,
               [](R a, R b) { return a - b; }, {.ulps = 0.5, .halves = true}, GNOMON_SLOPES(1, -1)},
              {"operator-=", [](O a, O b) { Array x = a.array(); return x -= b; },
               [](R a, R b) { return a - b; }, {.ulps = 0.5}, GNOMON_SLOPES(1, -1)},
              {"multiply operator*(Operand,Operand)", gn::multiply, [](R a, R b) { return a * b; },
               {.ulps = 0.5, .halves = true}, GNOMON_SLOPES(b, a)},
              {"operator*=", [](O a, O b) { Array x = a.array(); return x *= b; },
               [](R a, R b) { return a * b; }, {.ulps = 0.5}, GNOMON_SLOPES(b, a)},
              {"divide operator/(Operand,Operand)", gn::divide, [](R a, R b) { return a / b; },
               {.ulps = 0.5, .halves = true}, GNOMON_SLOPES(b.zero() ? no_number() : one / b, b.zero() ? no_number() : -a / square(b))},
              {"operator/=", [](O a, O b) { Array x = a.array(); return x /= b; },
               [](R a, R b) { return a / b; }, {.ulps = 0.5}, GNOMON_SLOPES(b.zero() ? no_number() : one / b, b.zero() ? no_number() : -a / square(b))},
              // d/dx is 0 where y is, d/dy where x is.
              {"pow(Operand,Operand)", gn::pow, pow, // Its exponent y - 1 rounds: as many units as the logarithm of x.
               {.slope = 400, .spread = 8, .normal_slope = true},
               GNOMON_SLOPES(b.zero() ? Real(0) : a.zero() || (a < Real(0) && abs(b) > Real(0x1p23)) ? no_number() : b * pow(a, b - one),
                             a > Real(0) ? pow(a, b) * log(a) : no_number())},
              {"atan2", gn::atan2, atan2, {.normal_slope = true},
               GNOMON_SLOPES(b / (square(a) + square(b)), -a / (square(a) + square(b)))},
              {"hypot", gn::hypot, hypot, {}, GNOMON_SLOPES(a / hypot(a, b), b / hypot(a, b))},
              {"logaddexp", gn::logaddexp, logaddexp, {.spread = 2, .operand = 0x1p-22},
               GNOMON_SLOPES(sigmoid(a - b), sigmoid(b - a))},
              {"maximum", gn::maximum, larger, {.ulps = 0, .unsigned_zero = true, .halves = true},
               GNOMON_SLOPES(a == b ? 0.5 : a > b ? 1 : 0, a == b ? 0.5 : b > a ? 1 : 0)},
              {"minimum", gn::minimum, smaller, {.ulps = 0, .unsigned_zero = true},
               GNOMON_SLOPES(a == b ? 0.5 : a < b ? 1 : 0, a == b ? 0.5 : b < a ? 1 : 0)},
              {"clip", gn::clip, [](R x, R lo, R hi) { return smaller(larger(x, lo), hi); },
               {.ulps = 0, .unsigned_zero = true}, {clip_slope(0), clip_slope(1), clip_slope(2)}},
              {"pow(Operand,Operand)", [](O x) { return gn::pow(x, 3); }, [](R x) { return x * x * x; }, {}, GNOMON_SLOPE(Real(3) * square(x))},
              {"pow(Operand,Operand)", [](O x) { return gn::pow(x, -2); }, [](R x) { return Real(1) / (x * x); }, {.tiny = infinity}, GNOMON_SLOPE(x.zero() ? no_number() : Real(-2) / (x * x * x))},
              {"pow(Operand,Operand)", [](O x) { return gn::pow(x, 0.5); },
               [](R x) { return pow(x, Real(0.5)); }, {},
               GNOMON_SLOPE(x > Real(0) ? one / (two * sqrt(x)) : no_number())},
              {"pow(Operand,Operand)", [](O x) { return gn::pow(x, -0.25); },
               [](R x) { return pow(x, Real(-0.25)); }, {},
               GNOMON_SLOPE(x > Real(0) ? Real(-0.25) * pow(x, Real(-1.25)) : no_number())},
              {"stop_gradient", gn::stop_gradient, [](R x) { return x; }, {.ulps = 0, .flat = true}},
              {"heaviside", gn::heaviside,
               [](R x, R y) { return x.zero() ? y : above_zero(x, Real(1), Real(0)); },
               {.ulps = 0, .unsigned_zero = true},
               {zero_slope, [](const Reals& x) { return Real(x[0].zero() ? 1 : 0); }}},
              {"nan_to_num", [](O x) { return gn::nan_to_num(x, {.nan = 7, .posinf = 8, .neginf = 9}); },
               [](R x) { return x.finite() ? x : Real(x.nan() ? 7 : x > Real(0) ? 8 : 9); },
               {.ulps = 0, .halves = true}, GNOMON_SLOPE(1)},
              {"round(Operand,int,RoundingMethod)", [](O x) { return gn::round(x, 2); },
               [](R x) {
                 Real y;
                 mpfr_rint(y.get(), (x * Real(100)).get(), MPFR_RNDN);
                 return y / Real(100);
               },
               // What is off by a rounding of the product may round to the other side.
               {.ulps = 1, .low = -1000, .high = 1000, .no_slope = true}},
          }};
}

Family special() {
  constexpr Bounds shapes{.ulps = 40, .slope = 400, .low = 1e-5, .high = 60, .every = 17};
  return {.name = "Special",
          .elementwise = {
              {"lgamma", gn::lgamma, lgamma, {.slope = 8, .slope_least = 1, .least = 1},
               {[](const Reals& x) { return digamma(x[0]); }}},
              {"digamma", gn::digamma, digamma, {.least = 1},
               {[](const Reals& x) { return polygamma(1, x[0]); }}},
              {"polygamma", [](O x) { return gn::polygamma(1, x); },
               [](R x) { return polygamma(1, x); }, {.ulps = 8, .low = 0.001, .high = 200},
               {[](const Reals& x) { return polygamma(2, x[0]); }}},
              {"polygamma", [](O x) { return gn::polygamma(4, x); },
               [](R x) { return polygamma(4, x); }, {.ulps = 24, .slope = 40, .low = 0.1, .high = 200},
               {[](const Reals& x) { return polygamma(5, x[0]); }}},
              {"i0e", gn::i0e, i0e, {.ulps = 4, .slope_value = 1},
               GNOMON_SLOPE(x.zero() ? no_number() : i1e(x) - (x < Real(0) ? -i0e(x) : i0e(x)))},
              {"i1e", gn::i1e, i1e, {.ulps = 4, .slope_value = 1},
               {[](const Reals& x) {
                 const Real flat = x[0].zero() ? Real(0.5) : i1e(x[0]) / x[0];
                 return i0e(x[0]) - flat - abs(i1e(x[0]));
               }}},
              {"i0", gn::i0, i0, {.ulps = 8}, {[](const Reals& x) { return i1(x[0]); }}},
              {"i1", gn::i1, i1, {.ulps = 8, .slope = 16},
               {[](const Reals& x) {
                 return i0(x[0]) - (x[0].zero() ? Real(0.5) : i1(x[0]) / x[0]);
               }}},
              {"betaln", gn::betaln, betaln,
               {.ulps = 2, .slope = 64, .slope_least = 8, .least = 1, .low = 0.001, .high = 100, .every = 5}},
              {"gammainc", gn::gammainc, gammainc, shapes},
              // Differences of 1 - P do not show derivatives that are smaller than the digits.
              {"gammaincc", gn::gammaincc, gammaincc, shapes,
               {[](const Reals& x) { return -gammainc_in_a(x[0], x[1]); },
                [](const Reals& x) { return -gamma_density(x[0], x[1]); }}},
              {"igamma_grad_a", gn::igamma_grad_a, gammainc_in_a,
               {.ulps = 60, .least = 0x1p-10, .low = 0.01, .high = 60, .every = 17, .no_slope = true}},
              {"random_gamma_grad", gn::random_gamma_grad,
               [](R a, R x) { return -gammainc_in_a(a, x) / gamma_density(a, x); },
               {.ulps = 400, .low = 0.1, .high = 20, .every = 17, .no_slope = true}},
              {"betainc", gn::betainc, betainc,
               {.ulps = 80, .low = 0, .high = 40, .every = 7, .no_slope = true}},
          }};
}

Family activations() {
  return {.name = "Activations",
          .elementwise = {
              {"silu swish", gn::silu, [](R x) { return x * sigmoid(x); }, {.ulps = 4, .slope = 16, .slope_least = 1, .tiny = 1024},
               GNOMON_SLOPE(sigmoid(x) * (one + x * sigmoid(-x)))},
              {"gelu(Operand,bool)", [](O x) { return gn::gelu(x, false); },
               [](R x) { return x / Real(2) * erfc(-x / sqrt(Real(2))); },
               {.ulps = 6, .spread = 4, .slope_least = 0.5, .shift = 4, .tiny = 128},
               GNOMON_SLOPE(erfc(-x / sqrt(two)) / two + x * exp(-square(x) / two) / sqrt(two * pi()))},
              {"gelu(Operand)", [](O x) { return gn::gelu(x); },
               [](R x) {
                 const Real u = sqrt(Real(2) / pi()) * (x + Real(0.044715L) * x * x * x);
                 return x * sigmoid(u * Real(2));
               },
               {.ulps = 6, .slope = 64, .spread = 4, .slope_least = 1, .shift = 4, .tiny = 128}, gelu_slope()},
              {"elu(Operand)", [](O x) { return gn::elu(x); },
               [](R x) { return above_zero(x, x, expm1(x)); }, {},
               GNOMON_SLOPE(x > Real(0) ? one : exp(x))},
              {"celu(Operand)", [](O x) { return gn::celu(x); },
               [](R x) { return above_zero(x, x, expm1(x)); }, {.ulps = 3, .spread = 2},
               GNOMON_SLOPE(x > Real(0) ? one : exp(x))},
              {"leaky_relu(Operand)", [](O x) { return gn::leaky_relu(x); },
               [](R x) { return above_zero(x, x, Real(0.01L) * x); }, {.ulps = 2},
               {sided(0.01, 0.01, 1)}},
              {"elu(Operand,Operand)", [](O x) { return gn::elu(x, 0.75); },
               [](R x) { return above_zero(x, x, Real(0.75) * expm1(x)); }, {},
               GNOMON_SLOPE(x > Real(0) ? one : Real(0.75) * exp(x))},
              {"celu(Operand,Operand)", [](O x) { return gn::celu(x, 0.75); },
               [](R x) { return above_zero(x, x, Real(0.75) * expm1(x / Real(0.75))); },
               {.ulps = 3, .spread = 2}, GNOMON_SLOPE(x > Real(0) ? one : exp(x / Real(0.75)))},
              {"selu", gn::selu,
               [](R x) { return Real(selu_scale) * above_zero(x, x, Real(selu_alpha) * expm1(x)); },
               {.ulps = 3},
               GNOMON_SLOPE(Real(selu_scale) * (x > Real(0) ? one : Real(selu_alpha) * exp(x)))},
              {"leaky_relu(Operand,Operand)", [](O x) { return gn::leaky_relu(x, 0.25); },
               [](R x) { return above_zero(x, x, Real(0.25) * x); }, {.ulps = 0.5},
               {sided(0.25, 0.25, 1)}},
              {"relu6", gn::relu6, [](R x) { return smaller(larger(x, Real(0)), Real(6)); },
               {.ulps = 0, .unsigned_zero = true}, GNOMON_SLOPE(x > Real(0) && x < Real(6) ? 1 : 0)},
              {"soft_sign", gn::soft_sign, [](R x) { return x.finite() || x.nan() ? x / (one + abs(x)) : x > Real(0) ? one : -one; },
               {}, GNOMON_SLOPE(one / square(one + abs(x)))},
              {"hard_tanh", gn::hard_tanh,
               [](R x) { return smaller(larger(x, Real(-1)), Real(1)); }, {.ulps = 0},
               GNOMON_SLOPE(abs(x) < one ? 1 : 0)},
              // x + 3 rounds: next to the corners the derivative may be that of the other side.
              {"hard_sigmoid", gn::hard_sigmoid, hard_sigmoid,
               {.ulps = 2, .operand = 0x1p-24, .unsigned_zero = true},
               GNOMON_SLOPE(abs(abs(x) - Real(3)) < Real(1e-5) && !(abs(x) == Real(3))
                                ? no_number()
                                : Real(abs(x) < Real(3) ? 1 : 0) / Real(6))},
              {"hard_silu", gn::hard_silu, [](R x) { return x * hard_sigmoid(x); },
               {.ulps = 2, .slope_least = 1, .operand = 0x1p-23, .unsigned_zero = true},
               GNOMON_SLOPE(abs(abs(x) - Real(3)) < Real(1e-5) && !(abs(x) == Real(3))
                                ? no_number()
                                : hard_sigmoid(x) + Real(abs(x) < Real(3) ? 1 : 0) * x / Real(6))},
              {"log_sigmoid", gn::log_sigmoid, [](R x) { return -softplus(-x); }, {},
               GNOMON_SLOPE(sigmoid(-x))},
              {"mish", gn::mish, [](R x) { return x * tanh(softplus(x)); },
               {.ulps = 6, .slope_least = 1, .tiny = 1024},
               GNOMON_SLOPE(tanh(softplus(x)) + x * sigmoid(x) / square(cosh(softplus(x))))},
          }};
}
// clang-format on

}  // namespace oracle
