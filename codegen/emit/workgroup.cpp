// codegen/emit/workgroup.cpp -- which mapping a kernel of working-together invocations gets.
#include "codegen/emit/workgroup.h"

#include <algorithm>

namespace gnomon {
namespace {

std::uint64_t shared_bytes(const kernel::Kernel& k) {
  std::uint64_t sum = 0;
  for (const kernel::LocalArray& a : k.shareds)
    sum += a.length * std::max<std::uint64_t>(4, size_of(a.dtype));  // small types take words
  return sum;
}

}  // namespace

std::optional<WorkgroupDraft> draft_workgroup(const DraftRequest& r, const Placement& p) {
  if (r.target.team == 0) return std::nullopt;
  const Shape& shape = r.graph.avals[r.roots[0]].shape;
  for (ValueId v : r.roots)
    if (r.graph.avals[v].shape != shape) return std::nullopt;
  using Draw = std::optional<WorkgroupDraft> (*)(const DraftRequest&, const Placement&);
  const std::vector<Draw> mappings =
      r.row > 0 ? std::vector<Draw>{draft_row_teams}
                : std::vector<Draw>{draft_panels, draft_teams, draft_transposed};
  for (const Draw mapping : mappings) {
    try {
      auto d = mapping(r, p);
      // Without shared memory nobody works together; scratch would be written by several.
      if (d && !d->draft.kernel.shareds.empty() &&
          shared_bytes(d->draft.kernel) <= r.target.max_shared_bytes &&
          std::none_of(d->draft.operands.begin(), d->draft.operands.end(),
                       [](const DraftOperand& o) { return o.scratch; }))
        return d;
    } catch (const NotLaneLocal&) {
      continue;
    }
  }
  return std::nullopt;
}

}  // namespace gnomon
