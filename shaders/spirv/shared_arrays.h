// shaders/spirv/shared_arrays.h -- how the shared arrays of a kernel lie in variables.
#pragma once
#include <vector>

#include "shaders/kernel/kernel.h"

namespace gnomon::spirv {

/// Which shared arrays are arrays of vectors of four: those of 32 bits some of whose accesses are
/// of four neighbours, where all such accesses are known to begin at multiples of four. An H100's
/// driver makes one access of four elements that are read one by one; others need not, and lavapipe
/// takes twice as long for them (`matmul_1024` by panels).
std::vector<bool> arrays_of_quads(const kernel::Kernel&);

}  // namespace gnomon::spirv
