// codegen/plan/gate.h -- the kernel that decides what runs next on the device.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shaders/kernel/kernel.h"
#include "shaders/passes/refine.h"

namespace gnomon {

/// A word of the state, and what becomes of it for each choice.
struct StateWrite {
  std::uint32_t word = 0;
  std::vector<std::uint32_t> values;
};

struct GateKernel {
  std::string name = "gate";
  /// Lane form, one lane; what it stores to its buffer `decision` (bool or i32) decides. Null with
  /// `reads`: the decision is a value in memory, the kernel's first buffer. Otherwise choice 1 as
  /// long as `most` allows it, or choice 0 where there is just one.
  const kernel::Kernel* condition = nullptr;
  std::uint32_t decision = 0;
  std::optional<DType> reads;
  std::size_t choices = 1;  // an i32 is clamped to them; a bool is 0 or 1
  /// Choice 1 runs one more iteration: a last buffer of one i32 holds the number of the iteration
  /// under way, -1 before the first and after the last.
  bool counts = false;
  std::optional<std::uint64_t> most;  // iterations
  std::vector<StateWrite> writes;
  std::size_t counters = 0;  // further i32 buffers that become -1
};

/// One invocation. Buffers: the condition's, the state (u32), then counters. What the condition
/// computes is refined as the device's other kernels are.
kernel::Kernel gate_kernel(const GateKernel&, kernel::RefineOptions);

}  // namespace gnomon
