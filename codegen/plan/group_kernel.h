// codegen/plan/group_kernel.h -- loops of several kernels as one kernel that one workgroup runs.
//
// A loop whose iterations are small kernels spends its time on starting them. One workgroup can
// play them all: its invocations share out what each kernel's invocations would do, a barrier
// stands where the schedule would have had one, and loops and branches are loops and branches of
// the kernel.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shaders/kernel/kernel.h"

namespace gnomon {

using SlotId = std::uint32_t;

struct GroupLoop;
struct GroupBranch;

/// One dispatch: a kernel in invocation form, ready to be emitted.
struct GroupPart {
  std::uint32_t kernel = 0;  // among those given
  std::uint32_t invocations = 0;
  std::vector<SlotId> operands;
  std::vector<std::uint32_t> parameters;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> iterations;  // word, and the loop it numbers
};

/// Numbers of loops that a group plays begin here; smaller ones are of loops around it, whose
/// iterations the kernel gets as parameters.
inline constexpr std::uint32_t first_group_loop = 1u << 31;

struct GroupCopy {
  SlotId from = 0, to = 0;
  std::uint64_t bytes = 0;
};

/// What is done in order.
struct GroupProgram {
  std::vector<std::variant<GroupPart, GroupCopy, GroupLoop, GroupBranch>> items;
};

struct GroupLoop {
  std::uint32_t id = 0;
  SlotId counter = 0;                    // parts that read it mean the number of the iteration ...
  bool by_word = false;                  // ... unless they get it as a parameter
  std::optional<std::uint64_t> most;     // iterations
  std::vector<GroupProgram> phases;      // iteration i is phase i modulo their number
  std::vector<GroupProgram> conditions;  // per phase: leave in `decision` whether there is another
  SlotId decision = 0;                   // a u32, 0 or 1; of no meaning without conditions
  GroupProgram back;                     // behind an odd number of iterations
};

struct GroupBranch {
  GroupProgram choice;  // leaves the number of a side in `decision`
  SlotId decision = 0;  // a u32
  std::vector<GroupProgram> sides;
};

/// Iterations that one dispatch may run of the outermost loop, and where it leaves off.
struct GroupSlice {
  std::uint64_t iterations = 0;  // even, so that a dispatch begins with the first phase
  SlotId counter = 0;            // an i32: iterations done, -1 at the beginning
  SlotId more = 0;               // an i32: whether the loop goes on
  GroupProgram before = {};      // in front of the first iteration
};

struct GroupKernel {
  kernel::Kernel kernel;              // one workgroup of `kernel.group_size` invocations
  std::vector<SlotId> operands;       // per buffer
  std::vector<std::uint32_t> around;  // per parameter: the loop around it whose iteration it is
};

/// The program ends with a loop that `slice` is about, if there is one. Nothing when a part has
/// workgroups that work together, which it takes over from nobody.
std::optional<GroupKernel> group_kernel(const std::string& name,
                                        std::span<const kernel::Kernel> kernels,
                                        const GroupProgram&, std::uint32_t group_size,
                                        const std::optional<GroupSlice>& slice,
                                        bool texel_reads = false);

}  // namespace gnomon
