// shaders/kernel/trips.h -- what the trips of a kernel's loops would be with other bounds.
#pragma once
#include <cstdint>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// worst_case_trips where loops that state `stated` trips (0: any number) made `instead`.
std::uint64_t worst_case_trips(const Kernel&, std::uint64_t stated, std::uint64_t instead);

}  // namespace gnomon::kernel
