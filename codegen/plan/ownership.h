// codegen/plan/ownership.h -- which invocation of a kernel touches which elements of a buffer.
#pragma once
#include <cstdint>

#include "shaders/kernel/kernel.h"

namespace gnomon {

/// Invocation i touches bytes from i * `run` to (i + 1) * `run` only, modulo `period`, which is
/// `run` times the number of invocations. Where that is not known, both are 0.
struct Ownership {
  std::uint64_t run = 0, period = 0;
  bool known() const { return period != 0; }
  /// Of what a lone invocation does.
  static Ownership alone() { return {~0ull, ~0ull}; }
  bool operator==(const Ownership&) const = default;
};

/// How a kernel in invocation form reaches its buffer when so many invocations do something. A lone
/// invocation owns all there is.
Ownership ownership(const kernel::Kernel&, std::uint32_t buffer, std::uint32_t invocations);

/// Whether what two kernels touch of one array is touched by one invocation in both of them, if it
/// is touched by both at all.
inline bool keeps_apart(const Ownership& a, const Ownership& b) { return a.known() && a == b; }

}  // namespace gnomon
