// codegen/cost/slicing.h -- which loops inside kernels are cut into slices, a dispatch each, and
// how long these are.
#pragma once
#include <cstdint>

#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

namespace kernel {
struct Kernel;
}

/// Whether a kernel may take more trips through its loops than the driver lets it take.
bool over_budget(const kernel::Kernel&, const Target&);

struct Slicing {
  std::uint64_t steps = 0;  // that a slice takes; 0: the loop stays whole
  /// `steps` is where the first slice begins; the host has later ones take as many as fit into its
  /// time slice, and no more than `most` (0: any number).
  bool paced = false;
  std::uint64_t most = 0;
};

/// For a driver that lets a kernel take fewer trips than this one, which holds loop `e`, may take:
/// slices that it allows. Not paced. `in_place`: what steps write slices into is taken to stay
/// where it is, which the caller checks: kernels of lanes may have to copy it.
Slicing slices_by_trips(const Equation& e, const kernel::Kernel&, const Target&, bool in_place);

/// For a loop whose kernel of `lanes` lanes might keep a slow device busy for much longer than
/// anybody should wait (Target::slice_work). Loops that carry more than a slice computes stay
/// whole, and so do scans along arrays whose length has no divisor of the right size. `most`: steps
/// that the driver lets a slice take; 0: any number.
Slicing slices_by_time(const Equation& e, Dim lanes, const Target&, std::uint64_t most = 0);

}  // namespace gnomon
