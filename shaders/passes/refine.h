// shaders/passes/refine.h -- division and square root that are rounded correctly, where a device's
// own are not.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Which instructions of f32 the device may answer with more than half a unit of error.
struct RefineOptions {
  bool division = false;
  bool root = false;

  bool any() const { return division || root; }
};

/// Replaces f32 quotients and square roots of a kernel in invocation form, after legalize, by what
/// gives their correctly rounded values, whatever the exponents; subnormal operands and results
/// are those of IEEE 754 also on a device that flushes them.
///
/// The device's instruction is asked for a quotient of significands only, both in [1, 2), and for
/// the root of one in [1, 4): what Vulkan bounds to 2.5 units for division. Needed is an error of
/// less than a thousand units, and add and mul that round to nearest; fma is not used, since
/// nothing promises that it rounds once. One step of Newton's method leaves a neighbour of the
/// exact value; the sign of its remainder, which is a float, and a comparison with half the gap to
/// the next float pick the nearest.
/// Source: P. W. Markstein, "Computation of elementary functions on the IBM RISC System/6000
/// processor", IBM J. Res. Dev. 34 (1990), with products split as T. J. Dekker does (twofold.h).
///
/// About 60 instructions for a quotient and 40 for a root. Without options, the kernel itself.
Kernel refine(Kernel, RefineOptions);

}  // namespace gnomon::kernel
