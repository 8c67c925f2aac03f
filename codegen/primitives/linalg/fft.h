// codegen/primitives/linalg/fft.h -- the transform along the last axis, as a composition of linear
// operations.
#pragma once
#include "codegen/lax/lax.h"

namespace gnomon::fourier {

/// Real and imaginary parts, equal types.
struct Pair {
  Array re, im;
};

/// Largest length that needs Bluestein's convolution.
inline constexpr Dim longest_convolution = Dim{1} << 22;
/// Whether all prime factors are butterflies.
bool smooth(Dim n);

/// The shape with all axes in front of the last made one where there are more than two: a stage
/// needs two axes more than its input has, of which an array has eight.
Shape in_rows(const Shape&);
/// The forward transform of the last axis, unscaled. The inverse is that of the parts exchanged.
Pair transform(const Pair& x);
/// cos(2 pi k / n), -sin(2 pi k / n) for the integers k in [0, n) of an i32 array.
Pair roots(const Array& k, Dim n, DType dtype);

}  // namespace gnomon::fourier
