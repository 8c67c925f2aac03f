// codegen/plan/memory.cpp -- greedy by size.
#include "codegen/plan/memory.h"

#include <algorithm>
#include <numeric>

namespace gnomon {

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
  constexpr std::uint64_t alignment = 256;
  // What has no elements has a place of its own as well: places tell values apart.
  const auto padded = [](std::uint64_t bytes) {
    return (std::max<std::uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  };
  ArenaPlan plan;
  plan.allocations.resize(lifetimes.size());
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  std::vector<std::size_t> placed;  // by offset
  for (std::size_t i : order) {
    const Lifetime& l = lifetimes[i];
    const std::uint64_t bytes = padded(l.bytes);
    std::uint64_t offset = 0, best = ~0ull, best_gap = ~0ull;
    for (std::size_t j : placed) {
      const Allocation& a = plan.allocations[j];
      if (a.last_step < l.first_step || l.last_step < a.first_step) continue;
      if (a.offset >= offset + bytes && a.offset - offset < best_gap) {
        best = offset;
        best_gap = a.offset - offset;
      }
      offset = std::max(offset, a.offset + padded(a.bytes));
    }
    if (best == ~0ull) best = offset;
    plan.allocations[i] = {l.name, l.where, best, l.bytes, l.first_step, l.last_step};
    placed.insert(std::lower_bound(placed.begin(), placed.end(), best,
                                   [&](std::size_t j, std::uint64_t o) {
                                     return plan.allocations[j].offset < o;
                                   }),
                  i);
    plan.bytes = std::max(plan.bytes, best + bytes);
  }
  return plan;
}

}  // namespace gnomon
