// codegen/program/copy_kernel.cpp -- wide loads and stores, several per invocation where that pays.
#include "codegen/program/copy_kernel.h"

#include "shaders/kernel/builder.h"

namespace gnomon {

std::uint64_t copy_unit(const Target& target) {
  // A CPU-like device wants several wide accesses per invocation, a GPU one, next to its
  // neighbour's.
  return target.contiguous_per_lane ? 64 : 16;
}

std::uint32_t copy_groups(std::uint64_t bytes, const Target& target) {
  const std::uint64_t units = (bytes + copy_unit(target) - 1) / copy_unit(target);
  return static_cast<std::uint32_t>((units + target.group_size - 1) / target.group_size);
}

kernel::Kernel copy_kernel(const Target& target) {
  kernel::Builder b("copy");
  b.kernel().group_size = target.group_size;
  const auto from = b.buffer({DType::u32, kernel::Access::read, false, target.texel_reads, "from"});
  const auto to = b.buffer({DType::u32, kernel::Access::write, false, false, "to"});
  const auto width = static_cast<std::uint8_t>(copy_unit(target) / 4);
  const kernel::Value count = b.parameter(b.parameter_word());
  const kernel::Value unit = b.source(kernel::Op::invocation);
  b.if_(
      b.compare(kernel::Op::lt, unit, count),
      [&]() -> kernel::Values {
        const kernel::Value at = b.mul(unit, b.u32(width));
        b.store(to, at, b.load(from, at, width));
        return {};
      },
      []() -> kernel::Values { return {}; });
  return b.take();
}

}  // namespace gnomon
