// tests/ulp/functions.cpp -- the table.
#include "functions.h"

#include <cmath>
#include <limits>

#include "codegen/primitives/elementwise/special_host.h"
#include "gnomon/special.h"
#include "tests/support/mpfr_functions.h"

namespace ulp {
namespace {

using gnomon::Array;
using gnomon::Operand;
using namespace gnomon::testing;

constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::min();

#define GNOMON_ULP_F32(name, bar) \
  { #name, gnomon::name, quick::name, plain::name, bar }

constexpr Unary unary[] = {
    GNOMON_ULP_F32(exp, 2),
    // Of what is known to be no more than zero.
    {"exp(-abs(x))", [](Operand x) { return gnomon::exp(-gnomon::abs(x)); }, quick::exp_of_minus,
     plain::exp_of_minus, 2},
    GNOMON_ULP_F32(exp2, 2),
    GNOMON_ULP_F32(expm1, 2),
    GNOMON_ULP_F32(log, 2),
    GNOMON_ULP_F32(log2, 2),
    GNOMON_ULP_F32(log10, 2),
    GNOMON_ULP_F32(log1p, 2),
    {"sqrt", gnomon::sqrt, sqrt, sqrt, 0.5},
    {"rsqrt", gnomon::rsqrt, rsqrt, rsqrt, 2},
    {"reciprocal", gnomon::reciprocal, reciprocal, reciprocal, 0.5},
    GNOMON_ULP_F32(cbrt, 2),
    // Constant roots as exponents have their own way.
    {"x^(1/3)", [](Operand x) { return gnomon::pow(x, 1.0f / 3.0f); }, quick::cube_root_power,
     plain::cube_root_power, 2},
    {"x^-0.2", [](Operand x) { return gnomon::pow(x, -0.2f); }, quick::inverse_fifth_power,
     plain::inverse_fifth_power, 2},
    GNOMON_ULP_F32(sin, 2),
    GNOMON_ULP_F32(cos, 2),
    GNOMON_ULP_F32(tan, 2),
    GNOMON_ULP_F32(asin, 2),
    GNOMON_ULP_F32(acos, 2),
    GNOMON_ULP_F32(atan, 2),
    GNOMON_ULP_F32(sinh, 2),
    GNOMON_ULP_F32(cosh, 2),
    GNOMON_ULP_F32(tanh, 2),
    GNOMON_ULP_F32(asinh, 2),
    GNOMON_ULP_F32(acosh, 2),
    GNOMON_ULP_F32(atanh, 2),
    GNOMON_ULP_F32(sigmoid, 2),
    GNOMON_ULP_F32(softplus, 2),
    GNOMON_ULP_F32(erf, 2),
    GNOMON_ULP_F32(erfc, 2),
    GNOMON_ULP_F32(erfinv, 2),
    {"lgamma", gnomon::lgamma, quick::lgamma, plain::lgamma, 2, 1},
    {"digamma", gnomon::digamma, quick::digamma, plain::digamma, 2, 1},
    GNOMON_ULP_F32(i0e, 2),
    GNOMON_ULP_F32(i1e, 2),
};

constexpr Binary binary[] = {
    {"divide", gnomon::divide, divide, divide, Pairs::ratios, 0.5},
    {"hypot", gnomon::hypot, hypot, hypot, Pairs::ratios, 2},
    {"pow", gnomon::pow, quick::pow, plain::pow, Pairs::powers, 2},
    {"atan2", gnomon::atan2, quick::atan2, plain::atan2, Pairs::ratios, 2},
    {"logaddexp", gnomon::logaddexp, quick::logaddexp, plain::logaddexp, Pairs::sums, 2, 0x1p-22},
};

template <int order>
long double long_scaled_bessel(long double x) {
  if (!std::isfinite(x)) return unknown;
  return gnomon::host::scaled_bessel(order, x);
}

constexpr Double doubles[] = {
    {"sqrt", gnomon::sqrt, std::sqrt, mpfr_sqrt, smallest, largest, 0.5},
    {"rsqrt", gnomon::rsqrt, long_rsqrt, exact_rsqrt, smallest, largest, 2},
    {"exp", gnomon::exp, std::exp, mpfr_exp, -746, 710, 1},
    {"exp2", gnomon::exp2, std::exp2, mpfr_exp2, -1076, 1025, 1},
    {"expm1", gnomon::expm1, std::expm1, mpfr_expm1, -50, 710, 1.25},
    {"log", gnomon::log, std::log, mpfr_log, smallest, largest, 1},
    {"log2", gnomon::log2, std::log2, mpfr_log2, smallest, largest, 1},
    {"log10", gnomon::log10, std::log10, mpfr_log10, smallest, largest, 1},
    {"log1p", gnomon::log1p, std::log1p, mpfr_log1p, smallest, largest, 1},
    {"cbrt", gnomon::cbrt, std::cbrt, mpfr_cbrt, -largest, largest, 1},
    {"sin", gnomon::sin, std::sin, mpfr_sin, -largest, largest, 1},
    {"cos", gnomon::cos, std::cos, mpfr_cos, -largest, largest, 1},
    {"tan", gnomon::tan, std::tan, mpfr_tan, -largest, largest, 1.5},
    {"asin", gnomon::asin, std::asin, mpfr_asin, -1, 1, 1},
    {"acos", gnomon::acos, std::acos, mpfr_acos, -1, 1, 1},
    {"atan", gnomon::atan, std::atan, mpfr_atan, -largest, largest, 1},
    {"sinh", gnomon::sinh, std::sinh, mpfr_sinh, -711, 711, 1},
    {"cosh", gnomon::cosh, std::cosh, mpfr_cosh, -711, 711, 1.25},
    {"tanh", gnomon::tanh, std::tanh, mpfr_tanh, -23, 23, 1},
    {"asinh", gnomon::asinh, std::asinh, mpfr_asinh, -largest, largest, 1.5},
    {"acosh", gnomon::acosh, std::acosh, mpfr_acosh, 1, largest, 1.5},
    {"atanh", gnomon::atanh, std::atanh, mpfr_atanh, -1, 1, 1},
    {"sigmoid", gnomon::sigmoid, long_logistic, exact_logistic, -746, 746, 2},
    {"erf", gnomon::erf, std::erf, mpfr_erf, -6, 6, 1.5},
    {"erfc", gnomon::erfc, std::erfc, mpfr_erfc, -6, 28, 1.5},
    {"erfinv", gnomon::erfinv, long_erf_inv, exact_erf_inv, -1, 1, 1.5},
    {"lgamma", gnomon::lgamma, long_lgamma, exact_lgamma, -1e6, 1e6, 2, 1},
    {"digamma", gnomon::digamma, long_digamma, exact_digamma, -1e6, 1e6, 2, 1},
    {"i0e", gnomon::i0e, long_scaled_bessel<0>, exact_scaled_bessel<0>, -largest, largest, 2},
    {"i1e", gnomon::i1e, long_scaled_bessel<1>, exact_scaled_bessel<1>, -largest, largest, 2},
};

}  // namespace

std::span<const Unary> unary_functions() { return unary; }
std::span<const Binary> binary_functions() { return binary; }
std::span<const Double> double_functions() { return doubles; }

}  // namespace ulp
