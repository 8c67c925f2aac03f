// codegen/plan/gate.h -- the kernel that decides what runs next on the device.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/program/target.h"
#include "shaders/kernel/kernel.h"

namespace gnomon {

/// A word of the state, and what becomes of it for each choice.
struct StateWrite {
  std::uint32_t word = 0;
  std::vector<std::uint32_t> values;
};

/// A kernel in lane form, of one lane, whose work the gate does.
struct GatePart {
  const kernel::Kernel* kernel = nullptr;
  std::vector<std::uint32_t> buffers;  // of the gate, per buffer of the kernel
};

struct GateKernel {
  std::string name = "gate";
  /// Done first, in order.
  std::vector<kernel::Buffer> buffers;
  std::vector<GatePart> parts;
  /// What the parts store there (bool or i32) decides; it need not reach memory. Otherwise, with
  /// `reads`, the decision is a value in memory, the kernel's first buffer. Otherwise choice 1 as
  /// long as `most` allows it, or choice 0 where there is just one.
  std::optional<std::uint32_t> decision;
  std::optional<DType> reads;
  std::size_t choices = 1;  // an i32 is clamped to them; a bool is 0 or 1
  /// Choice 1 runs one more iteration: a last buffer of one i32 holds the number of the iteration
  /// under way, -1 before the first and after the last.
  bool counts = false;
  std::optional<std::uint64_t> most;  // iterations
  std::vector<StateWrite> writes;
  std::size_t counters = 0;  // further i32 buffers that become -1
};

/// A kernel and the words of its step. The bound and what is written come with the step, up to some
/// hundred words: gates that differ in what they let run only are one kernel.
struct Gate {
  kernel::Kernel kernel;
  std::vector<std::uint32_t> parameters;
};

/// One invocation. Buffers: those of the parts or the decision, the state (u32), then counters.
/// What the parts do is made ready for the device as its other kernels are.
Gate gate_kernel(const GateKernel&, const Target&);

}  // namespace gnomon
