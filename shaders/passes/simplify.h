// shaders/passes/simplify.h -- does the same with less.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Removes what has no effect (values, carried values, loops, branches), computes equal values
/// once, folds constants, turns carried values that never change into outer ones, and moves what a
/// loop repeats in front of it.
///
/// Bit for bit the same kernel. Expensive arithmetic never leaves a branch. A load leaves a loop
/// only when its buffer is never written by the kernel and the loop is known to reach it. O(n) per
/// round, a few rounds.
Kernel simplify(const Kernel&);

}  // namespace gnomon::kernel
