// shaders/passes/hide_trips.h -- loops that drivers are not to unroll.
#pragma once
#include <cstdint>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

struct HideTripsOptions {
  /// Drivers unroll loops of up to this many trips; 0 leaves the kernel as it is.
  std::uint64_t most_trips = 0;
};

/// Makes the bound of short loops that read or write private arrays something that no compiler can
/// work out: the number of trips plus the highest bit of the invocation's number, which is never
/// set.
///
/// Mesa unrolls loops of up to 32 short trips. An array that is then indexed by hundreds of
/// constants takes LLVM seconds to compile, and is no faster. The kernel does the same.
Kernel hide_trips(Kernel, HideTripsOptions);

}  // namespace gnomon::kernel
