// codegen/primitives/elementwise/special_host.h -- special functions on the host, for reference
// rules.
//
// In long double and by other means than the kernels': recurrences over many terms and series
// summed to their end instead of fits and expansions.
#pragma once

namespace gnomon::host {

long double digamma(long double x);
/// The n-th derivative of digamma, n >= 1.
long double polygamma(int n, long double x);

/// P(a, x), Q(a, x), dP/da and dP/dx of the regularised incomplete gamma functions.
long double gammainc(long double a, long double x);
long double gammaincc(long double a, long double x);
long double gammainc_da(long double a, long double x);
long double gamma_density(long double a, long double x);

/// log(gamma(a) gamma(b) / gamma(a + b)) and the regularised incomplete beta function.
long double betaln(long double a, long double b);
long double betainc(long double a, long double b, long double x);

/// e^-|x| I_order(x) for order 0 or 1.
long double scaled_bessel(int order, long double x);
/// I_order(x).
long double bessel(int order, long double x);

}  // namespace gnomon::host
