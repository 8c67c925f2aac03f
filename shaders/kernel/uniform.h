// shaders/kernel/uniform.h -- which values are equal in all invocations of a workgroup.
#pragma once
#include <vector>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Per value: false when it is certainly the same in all invocations of one workgroup that get
/// there. Shared memory counts as the same for all who read it at one place; races are the caller's
/// affair.
std::vector<bool> varying_values(const Kernel&);

/// The loop or branch that some invocations of a workgroup may leave early although a barrier is
/// inside; nullptr when there is none.
const Instruction* divergent_barrier(const Kernel&);

}  // namespace gnomon::kernel
