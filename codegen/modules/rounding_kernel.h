// codegen/modules/rounding_kernel.h -- the kernel that shows how a device rounds.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon {

/// f32 buffers x, y, quotient, root: quotient[i] = x[i] / y[i] and root[i] = sqrt(|x[i]|) by the
/// device's own instructions, one element per invocation in workgroups of 64.
kernel::Kernel rounding_kernel();

}  // namespace gnomon
