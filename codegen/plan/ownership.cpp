// codegen/plan/ownership.cpp -- indices as multiples of the invocation.
#include "codegen/plan/ownership.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include "shaders/passes/affine.h"

namespace gnomon {

using kernel::Instruction;
using kernel::Op;
using kernel::Region;

namespace {

/// Calls `f` for every access to a buffer with the width of what it reads or writes.
void each_access(const kernel::Kernel& k, const Region& r, std::uint32_t buffer,
                 const std::function<void(const Instruction&, std::uint32_t width)>& f) {
  for (const Instruction& i : r.body) {
    const bool memory = i.op == Op::load || i.op == Op::store || kernel::is_atomic(i.op);
    if (memory && i.immediate == buffer)
      f(i, k.type(i.op == Op::load ? i.results[0] : i.operands[1]).width);
    for (const Region& inner : i.regions) each_access(k, inner, buffer, f);
  }
}

}  // namespace

Ownership ownership(const kernel::Kernel& k, std::uint32_t buffer, std::uint32_t invocations) {
  if (invocations == 1) return Ownership::alone();
  const auto definitions = kernel::definitions(k);
  const std::uint64_t bytes = size_of(k.buffers[buffer].dtype);
  std::optional<Ownership> found;
  bool all = true;
  each_access(k, k.body, buffer, [&](const Instruction& i, std::uint32_t width) {
    const kernel::Value index = i.operands[0];
    if (!all || kernel::is_atomic(i.op) || k.type(index).width != 1) {
      all = false;
      return;
    }
    Ownership here;
    bool others = false;
    const kernel::Linear at = linear(definitions, index);
    for (const auto& [value, factor] : at.terms) {
      const Instruction* made = definitions[value.index];
      if (made != nullptr && made->op == Op::invocation) {
        here.run = factor * bytes;
        here.period = here.run * invocations;
      } else {
        others = true;
      }
    }
    // Sums of what is no multiple of the period say nothing, nor do those that may wrap around.
    all = here.known() && at.offset * bytes + width * bytes <= here.run &&
          (!others || std::has_single_bit(here.period));
    for (const auto& [value, factor] : at.terms) {
      const Instruction* made = definitions[value.index];
      const bool own = made != nullptr && made->op == Op::invocation;
      all = all && (own || factor * bytes % here.period == 0);
    }
    all = all && (!found || *found == here);
    found = here;
  });
  return all && found ? *found : Ownership{};
}

}  // namespace gnomon
