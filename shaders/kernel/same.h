// shaders/kernel/same.h -- whether two kernels do the same; in kernel.cpp.
#pragma once
#include <cstddef>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Names, source lines and the number of lanes apart.
bool same_but_lanes(const Kernel&, const Kernel&);
/// Equal for kernels of which that is true.
std::size_t hash_but_lanes(const Kernel&);

}  // namespace gnomon::kernel
