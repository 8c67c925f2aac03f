// shaders/passes/coarsen.h -- from lane form to invocation form: several lanes per invocation.
#pragma once
#include <cstdint>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

struct CoarsenOptions {
  std::uint32_t width = 1;        // lanes per invocation: 1, 2, 4, 8 or 16
  std::uint32_t group_size = 64;  // invocations per workgroup
  /// > 1: consecutive workgroups take lanes from as many distant parts in turn. A CPU driver gives
  /// each core a contiguous share of the workgroups; where neighbouring lanes cost alike, dealing
  /// them evens out the shares. Ignored unless it divides the number of workgroups.
  std::uint32_t deal = 1;
  /// > 0: kernels of other numbers of lanes are the same one. Two further user words of the
  /// parameter block are lanes / width and lanes % width, and a workgroup runs its invocations so
  /// many times, each time for the next lanes: what an invocation has to look up, it looks up once,
  /// and CPU drivers compute both sides of a branch for the last lanes once. The group size is at
  /// least the width. Lane form must not know the number of its lanes; no dealing.
  std::uint32_t trips = 0;
};

/// Invocations that cover `lanes` lanes: each of the last lanes % width has one of its own.
constexpr std::uint32_t invocations(std::uint32_t lanes, std::uint32_t width) {
  return lanes / width + lanes % width;
}

/// Invocation i runs lanes [i * width, (i + 1) * width) at once: values that differ between them
/// become wide, all others stay scalar. A branch or loop whose predicate differs runs under a mask;
/// a lane that has left a loop keeps its values. Lanes beyond the last full group run one per
/// invocation, in a copy of the body that is left out when the width divides the number of lanes.
///
/// Dispatch `invocations(lanes, width)` rounded up to whole workgroups; the surplus does nothing.
/// Stores of several lanes to one element keep the order of the lanes: the last one wins.
/// Unchecked: what differs from lane form when lanes write elements that other lanes read. The
/// value of a load whose own mask is false may differ.
/// Throws InternalError for barriers, shared memory and group indices, for atomics but the addition
/// of one number to one element (persistent lanes: passes/refill), and above width 1 for wide
/// values.
Kernel coarsen(const Kernel& lane_form, CoarsenOptions);

}  // namespace gnomon::kernel
