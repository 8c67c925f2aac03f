// codegen/plan/barriers.cpp -- one walk over the steps.
#include "codegen/plan/barriers.h"

#include <algorithm>

namespace gnomon {

namespace {

struct Access {
  Place place;
  std::uint64_t bytes;
  bool overlaps(const Access& o) const {
    return place.kind == o.place.kind && place.index == o.place.index &&
           place.offset < o.place.offset + o.bytes && o.place.offset < place.offset + bytes;
  }
};

}  // namespace

void place_barriers(Program& p, const std::vector<std::vector<std::uint64_t>>& sizes) {
  std::vector<Access> written, read;
  std::vector<bool> forced(p.steps.size() + 1, false);
  for (const LoopBlock& loop : p.loops) forced[loop.first] = forced[loop.end] = true;
  for (const GatedBlock& block : p.gated) forced[block.first] = forced[block.end] = true;
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    Step& step = p.steps[s];
    std::vector<Access> reads, writes;
    for (std::size_t o = 0; o < step.operands.size(); ++o) {
      const Access r{step.operands[o], sizes[s][o]};
      const auto access = step.kind == Step::Kind::copy
                              ? (o == 0 ? kernel::Access::read : kernel::Access::write)
                              : p.kernels[step.kernel].buffers[o].access;
      if (access != kernel::Access::write) reads.push_back(r);
      if (access != kernel::Access::read) writes.push_back(r);
    }
    if (step.counts) reads.push_back({*step.counts, 12});
    const auto hit = [](const std::vector<Access>& a, const std::vector<Access>& b) {
      return std::any_of(a.begin(), a.end(), [&](const Access& x) {
        return std::any_of(b.begin(), b.end(), [&](const Access& y) { return x.overlaps(y); });
      });
    };
    step.barrier_before =
        forced[s] || hit(reads, written) || hit(writes, written) || hit(writes, read);
    if (step.barrier_before) {
      written.clear();
      read.clear();
    }
    written.insert(written.end(), writes.begin(), writes.end());
    read.insert(read.end(), reads.begin(), reads.end());
  }
}

}  // namespace gnomon
