// codegen/include/gnomon/numeric.h -- everyday operations element by element beyond ops.h: the
// parts of floats, integer arithmetic, tests, angles.
//
// Promotion, broadcasting and errors as in gnomon/ops.h.
#pragma once
#include "gnomon/array.h"

namespace gnomon {

// ---- the parts of floats

/// The neighbour of `x` in the direction of `y`; y where they are equal, NaN when either is.
/// Derivative zero.
Array nextafter(Operand x, Operand y);
/// Whether the sign bit is set: of -0 as well.
Array signbit(Operand x);
/// |x| with the sign of y. The derivative in x is +-1, in y zero.
Array copysign(Operand x, Operand y);

}  // namespace gnomon
