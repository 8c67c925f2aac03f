// codegen/modules/count_kernel.cpp -- sets a counter or adds to it.
#include "codegen/modules/count_kernel.h"

#include "shaders/kernel/builder.h"

namespace gnomon {

kernel::Kernel count_kernel() {
  kernel::Builder k("count");
  k.kernel().group_size = 1;
  const auto counter = k.buffer({DType::i32, kernel::Access::read_write, false, false, "counter"});
  const kernel::Value keep = k.parameter(k.parameter_word());
  const kernel::Value add = k.convert(k.parameter(k.parameter_word()), DType::i32);
  const kernel::Value before =
      k.select(k.compare(kernel::Op::ne, keep, k.u32(0)), k.load(counter, k.u32(0)), k.i32(0));
  k.store(counter, k.u32(0), k.add(before, add));
  return k.take();
}

}  // namespace gnomon
