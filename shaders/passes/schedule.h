// shaders/passes/schedule.h -- the order of instructions that do not depend on one another.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Reorders runs of pure instructions so that few values are alive at once.
///
/// Elements are emitted when they are asked for, depth first, which keeps values of all depths
/// alive across the body of a loop; CPU drivers keep the order they are given, and a wide value
/// takes several registers. Greedy: of the instructions whose operands are there, the one that ends
/// the most lifetimes, and among equals the first. Bit for bit the same kernel. Quadratic in the
/// length of a run at worst.
Kernel schedule(Kernel);

}  // namespace gnomon::kernel
