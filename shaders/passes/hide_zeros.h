// shaders/passes/hide_zeros.h -- zeros that drivers are not to see.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Makes each floating-point zero that is added, multiplied or divided by, or of which something is
/// a quotient, something that no compiler can work out: the highest bit of the invocation's number,
/// which is never set.
///
/// Mesa's gallivm (lp_build_add, lp_build_mul, lp_build_div) takes x + 0 for x, x * 0 and 0 / x for
/// 0, and x / 0 for undefined, so that a store of it is gone, where such a zero is a constant of
/// the shader and whatever the execution modes say. IEEE 754 has -0 + 0 = 0, NaN * 0 = NaN and
/// x / 0 = inf. The kernel does the same.
Kernel hide_zeros(Kernel);

}  // namespace gnomon::kernel
