// codegen/simplify/signs.h -- on which side of zero the elements of a value are.
#pragma once
#include "codegen/simplify/rewriter.h"

namespace gnomon {

/// Whether every element of `v` is zero, less or NaN, as far as the equations that make it tell:
/// negated squares and magnitudes, products and sums of such, x minus its own maximum.
bool never_positive(const Rewriter&, ValueId v);

}  // namespace gnomon
