// codegen/operations/special.h -- the special functions' entries and parameters.
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

/// Which derivative of digamma, at least the first.
struct OrderParams {
  int order = 1;
};

extern const Primitive lgamma_p, digamma_p, polygamma_p;
/// Of (a, x): P, Q, dP/da and dP/dx.
extern const Primitive gammainc_p, gammaincc_p, gammainc_da_p, gamma_density_p;

/// Of (x, a) and (log x, a): the first operand, a draw, that moves with the shape `a` as draws do.
extern const Primitive gamma_draw_p, loggamma_draw_p;

/// Of (a, b) and of (a, b, x).
extern const Primitive betaln_p, betainc_p;
/// Modified Bessel functions of the first kind, and the same over e^|x|.
extern const Primitive i0_p, i1_p, i0e_p, i1e_p;

}  // namespace gnomon
