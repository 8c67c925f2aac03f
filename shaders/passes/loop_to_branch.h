// shaders/passes/loop_to_branch.h -- branches instead of loops that make one trip at most.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Makes a branch of every loop of at most one trip: the same results, and no trip to count.
///
/// Rare work is put in such loops because drivers that compute both sides of a branch skip a loop
/// that no lane enters (shaders/math/angle.cpp). Where a driver limits the trips of a kernel, that
/// may be more than the kernel can pay for.
Kernel loop_to_branch(const Kernel&);

}  // namespace gnomon::kernel
