// codegen/modules/rounding_kernel.cpp -- one quotient and one root per invocation.
#include "codegen/modules/rounding_kernel.h"

#include "shaders/kernel/builder.h"

namespace gnomon {

kernel::Kernel rounding_kernel() {
  using kernel::Access;
  kernel::Builder b("rounding_probe");
  b.kernel().group_size = 64;
  const auto buffer = [&](Access access, const char* name) {
    return b.buffer({DType::f32, access, false, false, name});
  };
  const auto x = buffer(Access::read, "x"), y = buffer(Access::read, "y");
  const auto quotient = buffer(Access::write, "quotient"), root = buffer(Access::write, "root");
  const kernel::Value i = b.source(kernel::Op::invocation);
  const kernel::Builder::Exactly exactly(b);
  const kernel::Value first = b.load(x, i);
  b.store(quotient, i, b.div(first, b.load(y, i)));
  b.store(root, i, b.unary(kernel::Op::sqrt, b.unary(kernel::Op::abs, first)));
  return b.take();
}

}  // namespace gnomon
