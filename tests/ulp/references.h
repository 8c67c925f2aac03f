// tests/ulp/references.h -- f32 functions in double precision, over arrays.
//
// The same source is compiled twice: `quick` by whatever vector library the compiler has, `plain`
// call by call. `quick` is what sweeps compare with, after it was compared with `plain`.
#pragma once
#include <cstddef>

namespace ulp {

using Reference = void (*)(const float* x, double* y, std::size_t count);
using PairReference = void (*)(const float* x, const float* y, double* z, std::size_t count);

// clang-format off
#define GNOMON_ULP_UNARY(X) \
  X(exp) X(exp_of_minus) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(cbrt) X(sin) X(cos) \
  X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) \
  X(erfc) X(erf_inv_inside) X(sigmoid) X(softplus) X(cube_root_power) X(inverse_fifth_power)
// clang-format on
#define GNOMON_ULP_PAIRS(X) X(pow) X(atan2) X(logaddexp_finite)

#define GNOMON_ULP_DECLARE_UNARY(name) void name(const float* x, double* y, std::size_t count);
#define GNOMON_ULP_DECLARE_PAIR(name) \
  void name(const float* x, const float* y, double* z, std::size_t count);
namespace quick {
GNOMON_ULP_UNARY(GNOMON_ULP_DECLARE_UNARY)
GNOMON_ULP_PAIRS(GNOMON_ULP_DECLARE_PAIR)
}  // namespace quick
namespace plain {
GNOMON_ULP_UNARY(GNOMON_ULP_DECLARE_UNARY)
GNOMON_ULP_PAIRS(GNOMON_ULP_DECLARE_PAIR)
}  // namespace plain
/// What needs IEEE arithmetic, or a repair at arguments that the loops leave out.
GNOMON_ULP_DECLARE_UNARY(sqrt)
GNOMON_ULP_DECLARE_UNARY(rsqrt)
GNOMON_ULP_DECLARE_UNARY(reciprocal)
GNOMON_ULP_DECLARE_PAIR(divide)
GNOMON_ULP_DECLARE_PAIR(hypot)
/// Special functions: `quick` in double precision, `plain` by MPFR or in long double.
#define GNOMON_ULP_SPECIAL(X) X(lgamma) X(digamma) X(i0e) X(i1e)
namespace quick {
GNOMON_ULP_SPECIAL(GNOMON_ULP_DECLARE_UNARY)
GNOMON_ULP_DECLARE_UNARY(erfinv)
GNOMON_ULP_DECLARE_PAIR(logaddexp)
}  // namespace quick
namespace plain {
GNOMON_ULP_SPECIAL(GNOMON_ULP_DECLARE_UNARY)
GNOMON_ULP_DECLARE_UNARY(erfinv)
GNOMON_ULP_DECLARE_PAIR(logaddexp)
}  // namespace plain
#undef GNOMON_ULP_SPECIAL
#undef GNOMON_ULP_DECLARE_UNARY
#undef GNOMON_ULP_DECLARE_PAIR

}  // namespace ulp
