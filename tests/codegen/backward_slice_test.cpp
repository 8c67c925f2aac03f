// tests/codegen/backward_slice_test.cpp -- what values are computed from, in random programs of
// which random values lie in memory.
#include "codegen/analysis/backward_slice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "tests/support/random_check.h"

namespace gnomon::testing {
namespace {

/// By the definition, one value after the other: what lies in memory ends the walk.
void walk_back(const Placement& p, ValueId v, bool root, std::set<ValueId>& memory,
               std::set<std::uint32_t>& equations) {
  if (p.in_memory[v] && !root) {
    memory.insert(v);
    return;
  }
  const std::uint32_t e = p.uses.producer[v];
  if (e == Uses::none || !equations.insert(e).second) return;
  for (ValueId in : p.graph.equations[e].inputs) walk_back(p, in, false, memory, equations);
}

TEST(BackwardSlice, IsWhatAWalkFromTheRootFinds) {
  int read = 0;
  expect_all(100, [&](const RandomGraph& r) -> std::string {
    const Graph& g = r.graph;
    const Uses uses = analyse_uses(g);
    std::mt19937_64 random(r.seed);
    std::vector<bool> in_memory(g.avals.size());
    for (ValueId v = 0; v < in_memory.size(); ++v) in_memory[v] = random() % 3 == 0;
    for (ValueId v : g.inputs) in_memory[v] = true;
    const std::vector<Layout> layouts(g.avals.size());
    const Placement p{g, uses, in_memory, layouts};
    BackwardSlices all;
    for (ValueId root = static_cast<ValueId>(g.avals.size()); root-- > 0;) {
      if (uses.producer[root] == Uses::none) continue;
      std::set<ValueId> memory;
      std::set<std::uint32_t> equations;
      walk_back(p, root, true, memory, equations);
      const BackwardSlice s = all[root] = backward_slice_of(p, root);
      if (!std::ranges::equal(s.memory, memory) || !std::ranges::equal(s.equations, equations))
        return "another slice of %" + std::to_string(root);
      for (std::uint32_t i : equations)
        if (is_loop(g.equations[i]) != s.loops.contains(i))
          return "loops of %" + std::to_string(root);
      for (ValueId v = 0; v < g.avals.size(); ++v) {
        if (reads_from_memory(p, root, v) != memory.contains(v))
          return "%" + std::to_string(root) + " reads %" + std::to_string(v);
        read += memory.contains(v);
      }
    }
    // In order, though they were made backwards.
    ValueId behind = 0;
    std::string wrong;
    all.for_each([&](ValueId root, const BackwardSlice& s) {
      if (root < behind || uses.producer[root] == Uses::none ||
          !(s.memory == backward_slice_of(p, root).memory))
        wrong = "slices are not by root";
      behind = root + 1;
    });
    return wrong;
  });
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace gnomon::testing
