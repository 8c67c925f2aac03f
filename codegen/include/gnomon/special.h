// codegen/include/gnomon/special.h -- special functions.
//
// Elementwise, as jax.scipy.special has them: integers become f32, f16 and bf16 are computed in
// f32. Poles and ends of the domain are those of SciPy. "Units" are units of the last place.
#pragma once
#include "gnomon/ops.h"

namespace gnomon {

/// log |gamma(x)|. Within 2 units for x > 0, within 2 units of max(1, |result|) for x < 0.
/// Derivative: digamma.
Array lgamma(Operand x);

/// The derivative of lgamma. Within 2 units for x > 0, within 4 units of
/// max(1, log |x|, |result|) for x < 0. Derivative: polygamma(1, x).
Array digamma(Operand x);

/// The n-th derivative of digamma, digamma itself for n = 0; n is static. Its error is a few n
/// units for x > 0, and for x < 0 a few n units of the larger term of its reflection formula.
/// Derivative: polygamma(n + 1, x).
/// Throws UsageError unless 0 <= n <= 30.
Array polygamma(int n, Operand x);

}  // namespace gnomon
