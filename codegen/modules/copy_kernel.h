// codegen/modules/copy_kernel.h -- the kernel that moves bytes between two arrays.
#pragma once
#include "codegen/program/copies.h"

namespace gnomon {

/// Copies `parameters[0]` units of `copy_unit` bytes from buffer 0 to buffer 1, both aligned to the
/// unit.
kernel::Kernel copy_kernel(const Target&);

}  // namespace gnomon
