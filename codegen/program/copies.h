// codegen/program/copies.h -- copies between arrays: what is known of their kernel without its
// body.
#pragma once
#include <cstdint>

#include "codegen/program/target.h"

namespace gnomon {

/// Bytes that one invocation of the copy kernel moves.
std::uint64_t copy_unit(const Target&);

/// Workgroups that move `bytes`, rounded up to whole units.
std::uint32_t copy_groups(std::uint64_t bytes, const Target&);

/// The copy kernel (codegen/modules/copy_kernel.h) without its body: who has the modules of a
/// program needs no more.
kernel::Kernel copy_frame(const Target&);

}  // namespace gnomon
