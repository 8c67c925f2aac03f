// tests/shaders/pass_random.h -- random kernels in lane form, and memory for them.
#pragma once
#include <cstdint>
#include <vector>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// A kernel with nested loops and branches, private arrays, and every kind of index. Its lanes
/// write elements of their own only. Buffers: what `random_buffer` fills. No parameters.
Kernel random_kernel(std::uint32_t seed);

/// Initial words of a buffer of such a kernel, whichever form it is in.
std::vector<std::uint32_t> random_buffer(const Kernel&, std::size_t buffer, std::uint32_t lanes,
                                         std::uint32_t seed);

}  // namespace gnomon::kernel
