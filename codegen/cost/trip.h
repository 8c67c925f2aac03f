// codegen/cost/trip.h -- what a loop of a kernel does in one trip.
#pragma once
#include <cstddef>

#include "shaders/kernel/kernel.h"

namespace gnomon {

/// A trip of a loop, loops inside apart.
struct Trip {
  std::size_t instructions = 0;
  std::size_t operations = 0;  // of them, all but constants
  std::size_t accesses = 0;    // of memory, loops inside included
  std::size_t span = 0;        // operations that wait for one another: of its longest chain
  /// Values that the trip makes and still needs, at most at one place, in words of 32 bits.
  std::size_t live = 0;

  /// Operations that have no need to wait for one another, on average.
  double parallelism() const;
};

/// The one with the most instructions; of none in a kernel without loops.
Trip longest_trip(const kernel::Kernel&);

}  // namespace gnomon
