// codegen/program/copies.cpp -- how copies are cut up, for each kind of device.
#include "codegen/program/copies.h"

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

kernel::Kernel copy_frame(const Target& target) {
  kernel::Kernel k;
  k.name = "copy";
  k.group_size = target.group_size;
  k.parameters = 1;
  k.buffers = {{DType::u32, kernel::Access::read, false, target.texel_reads, "from"},
               {DType::u32, kernel::Access::write, false, false, "to"}};
  return k;
}

}  // namespace gnomon
