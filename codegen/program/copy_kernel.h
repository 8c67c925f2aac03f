// codegen/program/copy_kernel.h -- the kernel that moves bytes between two arrays.
#pragma once
#include <cstdint>

#include "codegen/program/target.h"

namespace gnomon {

/// Bytes that one invocation of the copy kernel moves.
std::uint64_t copy_unit(const Target&);

/// Workgroups that move `bytes`, rounded up to whole units.
std::uint32_t copy_groups(std::uint64_t bytes, const Target&);

/// Copies `parameters[0]` units of `copy_unit` bytes from buffer 0 to buffer 1, both aligned to the
/// unit.
kernel::Kernel copy_kernel(const Target&);

}  // namespace gnomon
