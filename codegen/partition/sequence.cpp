// codegen/partition/sequence.cpp -- depth first over who writes what a cluster reads.
#include "codegen/partition/sequence.h"

#include <algorithm>
#include <functional>
#include <map>

#include "shaders/support/check.h"

namespace gnomon {

std::vector<std::size_t> sequence_of(
    const std::vector<Cluster>& clusters,
    const std::vector<std::pair<std::size_t, std::size_t>>& order) {
  std::map<ValueId, std::vector<std::size_t>> writers;
  for (std::size_t i = 0; i < clusters.size(); ++i)
    for (ValueId v : clusters[i].writes) writers[v].push_back(i);
  std::vector<std::vector<std::size_t>> before(clusters.size());
  for (const auto& [first, second] : order) before[second].push_back(first);
  std::vector<int> state(clusters.size(), 0);
  std::vector<std::size_t> sequence;
  const std::function<void(std::size_t)> visit = [&](std::size_t i) {
    if (state[i] == 2) return;
    GNOMON_CHECK(state[i] == 0, "kernels depend on each other in a circle");
    state[i] = 1;
    for (ValueId v : clusters[i].reads)
      for (std::size_t w : writers[v])
        if (w != i &&
            !(w > i && std::count(clusters[i].writes.begin(), clusters[i].writes.end(), v) > 0))
          visit(w);
    for (std::size_t b : before[i]) visit(b);
    state[i] = 2;
    sequence.push_back(i);
  };
  for (std::size_t i = 0; i < clusters.size(); ++i) visit(i);
  return sequence;
}

}  // namespace gnomon
