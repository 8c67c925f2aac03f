// codegen/primitives/special_host.h -- special functions on the host, for reference rules.
//
// In long double and by other means than the kernels': recurrences over many terms instead of fits.
#pragma once

namespace gnomon::host {

long double digamma(long double x);
/// The n-th derivative of digamma, n >= 1.
long double polygamma(int n, long double x);

}  // namespace gnomon::host
