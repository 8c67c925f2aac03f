// codegen/modules/count_kernel.h -- the kernel that keeps the counter of a loop.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon {

/// One invocation: the i32 in buffer 0 becomes `parameters[1]`, plus what it was when
/// `parameters[0]` is not 0.
kernel::Kernel count_kernel();

}  // namespace gnomon
