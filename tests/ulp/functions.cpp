// tests/ulp/functions.cpp -- the table.
#include "functions.h"

#include <limits>

namespace ulp {
namespace {

using gnomon::Array;
using gnomon::Operand;

constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::min();

#define GNOMON_ULP_F32(name, bar) \
  { #name, gnomon::name, quick::name, plain::name, bar }

constexpr Unary unary[] = {
    GNOMON_ULP_F32(exp, 2),
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
    GNOMON_ULP_F32(erf_inv, 2),
};

constexpr Binary binary[] = {
    {"divide", gnomon::divide, divide, divide, Pairs::ratios, 0.5},
    {"pow", gnomon::pow, quick::pow, plain::pow, Pairs::powers, 2},
    {"atan2", gnomon::atan2, quick::atan2, plain::atan2, Pairs::ratios, 2},
    {"logaddexp", gnomon::logaddexp, quick::logaddexp, plain::logaddexp, Pairs::sums, 2, 0x1p-22},
};

constexpr Double doubles[] = {
    {"sqrt", gnomon::sqrt, mpfr_sqrt, smallest, largest, 0.5},
    {"rsqrt", gnomon::rsqrt, mpfr_rec_sqrt, smallest, largest, 2},
};

}  // namespace

std::span<const Unary> unary_functions() { return unary; }
std::span<const Binary> binary_functions() { return binary; }
std::span<const Double> double_functions() { return doubles; }

}  // namespace ulp
