// codegen/include/gnomon/special.h -- special functions.
//
// Elementwise, as jax.scipy.special has them: integers become f32, f16 and bf16 are computed in
// f32. Poles and ends of the domain are those of SciPy. "Units" are units of the last place.
#pragma once
#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// log |gamma(x)|. Within 2 units for x > 0, within 2 units of max(1, |result|) for x < 0.
/// Derivative: digamma.
Array lgamma(Operand x);

/// The derivative of lgamma. Within 2 units for x > 0, within 2 units of max(1, |result|) for
/// x < 0. Derivative: polygamma(1, x).
Array digamma(Operand x);

/// The n-th derivative of digamma, digamma itself for n = 0; n is static. Its error is a few n
/// units for x > 0, and for x < 0 a few n units of the larger term of its reflection formula.
/// Derivative: polygamma(n + 1, x).
/// Throws UsageError unless 0 <= n <= 30.
Array polygamma(int n, Operand x);

/// The regularised lower incomplete gamma function P(a, x) for a, x >= 0: the distribution function
/// of the gamma distribution of shape a. gammaincc is Q = 1 - P, accurate where P is near 1.
///
/// Shapes broadcast. The smaller of P and Q has a relative error below 1e-12 in f64 and 1e-5 in f32
/// over the whole range, large `a` included; measured 1e-14 and 2e-6. P(0, x) = 1, P(a, 0) = 0; NaN
/// for negative arguments, P(0, 0) and P(inf, inf).
/// Derivatives: in x the density x^(a - 1) e^-x / gamma(a), and all of its derivatives; in `a`
/// once, by the same series differentiated term by term. Source: W. Gautschi, ACM TOMS 5 (1979),
/// for the regions; N. M. Temme, SIAM J. Math. Anal. 10 (1979), for large `a` and x near it.
Array gammainc(Operand a, Operand x);
Array gammaincc(Operand a, Operand x);

/// dP(a, x) / da of gammainc, with an error of the size of P's. NaN for a = 0.
/// Differentiable in x alone.
Array igamma_grad_a(Operand a, Operand x);

/// How a draw x of the gamma distribution of shape `a` moves with `a` while its probability P
/// stays:
/// -(dP/da) / (dP/dx).
/// Source: M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients" (2018), eq. 6.
Array random_gamma_grad(Operand a, Operand x);

/// log(gamma(a) gamma(b) / gamma(a + b)) for a, b >= 0, within 2 units of max(1, |result|).
/// Differentiable in both.
Array betaln(Operand a, Operand b);

/// The regularised incomplete beta function I_x(a, b) for a, b >= 0 and 0 <= x <= 1: the
/// distribution function of the beta distribution.
///
/// Shapes broadcast. The smaller of I and 1 - I has a relative error below 1e-12 in f64 and 1e-5 in
/// f32 for a, b between 0.01 and 1000, and grows in proportion beyond. I_x(0, b) = 1 and I_x(a, 0)
/// = 0 inside the interval; NaN outside of it, for negative shapes and for a = b = 0.
/// Differentiable in x; its derivative in `a` and `b` is a UsageError.
/// Unchecked: from a = b = 1e6 on the continued fraction is cut off near x = 1/2, after 600 trips
/// (350 in f32).
/// Source: A. R. DiDonato, A. H. Morris, ACM TOMS 18 (1992), equation 9.
Array betainc(Operand a, Operand b, Operand x);

/// The modified Bessel functions of the first kind I_0 and I_1, and the same times e^-|x|, which
/// stay in range. The latter within 4 units, the former within 8 and infinite from about 91 (f32)
/// or 714 (f64) on.
Array i0(Operand x);
Array i1(Operand x);
Array i0e(Operand x);
Array i1e(Operand x);

}  // namespace gnomon
#pragma GCC visibility pop
