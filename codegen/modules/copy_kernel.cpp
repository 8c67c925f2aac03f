// codegen/modules/copy_kernel.cpp -- wide loads and stores, several per invocation where that pays.
#include "codegen/modules/copy_kernel.h"

#include "shaders/kernel/builder.h"

namespace gnomon {

kernel::Kernel copy_kernel(const Target& target) {
  const kernel::Kernel outside = copy_frame(target);
  kernel::Builder b(outside.name);
  b.kernel().group_size = outside.group_size;
  const auto from = b.buffer(outside.buffers[0]);
  const auto to = b.buffer(outside.buffers[1]);
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
