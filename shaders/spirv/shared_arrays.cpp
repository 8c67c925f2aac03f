// shaders/spirv/shared_arrays.cpp -- which shared arrays are arrays of vectors.
#include "shaders/spirv/shared_arrays.h"

#include "shaders/passes/affine.h"
#include "shaders/spirv/private_arrays.h"

namespace gnomon::spirv {
namespace {

using kernel::Instruction;
using kernel::Kernel;
using kernel::Op;
using kernel::Region;

/// Four neighbours at once.
bool is_wide(const Kernel& k, const Instruction& i) {
  if (i.op != Op::shared_load && i.op != Op::shared_store) return false;
  const bool load = i.op == Op::shared_load;
  return k.type(load ? i.results[0] : i.operands[1]).width == 4 &&
         k.type(i.operands[0]).width == 1 && i.operands.size() <= (load ? load_mask : store_mask);
}

template <class Use>
void for_wide(const Kernel& k, const Region& r, const Use& use) {
  for (const Instruction& i : r.body) {
    if (is_wide(k, i)) use(i);
    for (const Region& inner : i.regions) for_wide(k, inner, use);
  }
}

}  // namespace

std::vector<bool> arrays_of_quads(const Kernel& k) {
  std::vector<bool> quads(k.shareds.size(), false);
  if (quads.empty()) return quads;
  bool any = false;
  for_wide(k, k.body, [&](const Instruction& i) {
    const kernel::LocalArray& a = k.shareds[array_of(i)];
    if (size_of(in_local(a.dtype)) == 4 && a.length % 4 == 0) any = quads[array_of(i)] = true;
  });
  if (!any) return quads;
  const kernel::AffineFacts facts = kernel::analyse(k, {Op::invocation, 1});
  for_wide(k, k.body, [&](const Instruction& i) {
    if (facts[i.operands[0]].alignment_everywhere() < 2) quads[array_of(i)] = false;
  });
  return quads;
}

}  // namespace gnomon::spirv
