// codegen/compile/invocations.h -- from lanes to invocations: how many lanes each takes, and how
// many of them a workgroup has.
#pragma once
#include <cstdint>
#include <span>

#include "codegen/partition/fuse.h"
#include "codegen/program/target.h"
#include "gnomon/refill.h"
#include "shaders/kernel/kernel.h"

namespace gnomon {

/// Lanes that an invocation takes side by side: the device's preference, unless there are too few
/// lanes to share, or their loops carry more than there are registers. `played`: by one workgroup,
/// beside other kernels.
std::uint32_t lanes_side_by_side(const Draft&, const kernel::Kernel&, const Target&, bool played);

/// A kernel that lanes run each for themselves, simplified and in lane form, as invocations run it.
/// Sets the cluster's numbers of workgroups and invocations, and whether its lanes are persistent.
kernel::Kernel invocations_of(kernel::Kernel, Cluster&, const Target&, Refill, bool played);

/// A kernel for several numbers of lanes, which become parameters of each cluster's dispatch.
kernel::Kernel any_invocations_of(const kernel::Kernel&, std::span<Cluster* const>, const Target&);

}  // namespace gnomon
