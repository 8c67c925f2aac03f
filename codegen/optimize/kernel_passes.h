// codegen/optimize/kernel_passes.h -- the table of passes that a kernel goes through from
// invocation form to what is emitted.
#pragma once
#include <span>

#include "codegen/base/pass_log.h"
#include "codegen/program/target.h"
#include "shaders/kernel/kernel.h"

namespace gnomon {

/// What passes know besides the kernel.
struct KernelContext {
  const Target& target;
  bool alone = false;  // one invocation at most has effects
  bool team = false;   // a workgroup's invocations work together
  /// A gate: what one invocation does between kernels, from parts that read what others wrote.
  bool gate = false;
};

enum KernelForm : Forms {
  legal = 1,    // element types are those that every device has
  rounded = 2,  // quotients and roots are rounded correctly
  reached = 4,  // accesses have forms that the emitter knows
};

struct KernelPass {
  std::string_view name;
  kernel::Kernel (*run)(kernel::Kernel, const KernelContext&);
  Forms needs = 0, makes = 0;
  bool gates = true;  // over gates as well
};

/// In the order in which they run.
std::span<const KernelPass> kernel_passes();

/// All of them that the log says run, over a kernel in invocation form; verified.
kernel::Kernel run_kernel_passes(kernel::Kernel, const KernelContext&, PassLog&);

}  // namespace gnomon
