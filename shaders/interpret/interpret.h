// shaders/interpret/interpret.h -- runs kernels on the host: the oracle of lowering tests.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Runs a kernel literally, one invocation or lane after the other.
///
/// `parameters` is the whole block of kernel.h: header, one base per buffer, user words. `buffers`
/// are in the kernel's order, in device layout (a bool is one byte). Lane form runs every
/// lane and ignores `groups`; invocation form runs the workgroups parameters[0] to parameters[0] +
/// groups - 1, the invocations of one in lock-step from barrier to barrier.
///
/// Private and shared memory start with a pattern that is no sensible number. A load whose mask is
/// false gives 0. Unspecified results of kernel.h: `minimum` and `maximum` return the second
/// operand when one is NaN, float to integer conversion saturates; 16-bit floats are computed in
/// f32 and rounded; fma rounds twice.
///
/// Throws InternalError, naming the instruction, for a kernel that does not verify, an index out of
/// bounds (array, index and size), more trips of a loop than it states, a barrier that only a part
/// of a workgroup reaches, and an element of shared memory where two invocations meet, one of them
/// writing, without a barrier between them.
///
/// Gives the number of elements that loads, stores and atomics have touched, private and shared
/// ones included: what a kernel's work grows with, where its time would not tell.
std::uint64_t interpret(const Kernel&, std::uint32_t groups,
                        std::span<const std::uint32_t> parameters,
                        std::span<std::span<std::byte>> buffers);

}  // namespace gnomon::kernel
