// shaders/passes/contract.h -- products that are added to something are one instruction.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Makes `fma` of a product and the sum or difference that alone uses it, where neither is exact
/// and both stand in one region: x * y + z, z + x * y, x * y - z and z - x * y.
///
/// A GPU does both in the time of one: 65,536 Lorenz systems take an H100 125 us instead of 144.
/// Results are no longer those of another device bit for bit, since what is rounded once here is
/// rounded twice there.
Kernel contract(Kernel);

}  // namespace gnomon::kernel
