// codegen/partition/free_early.cpp -- see free_early.h.
#include "codegen/partition/free_early.h"

#include <algorithm>

namespace gnomon {
namespace {

class Order {
 public:
  Order(const Graph& g, const std::vector<Cluster>& clusters, const Aliasing& aliasing,
        std::vector<std::size_t>& sequence)
      : clusters_(clusters),
        aliasing_(aliasing),
        sequence_(sequence),
        position_(clusters.size()),
        users_(g.avals.size()),
        writers_(g.avals.size()),
        kept_(g.avals.size()),
        before_(clusters.size()) {
    for (ValueId v : g.inputs) kept_[memory_of(v)] = true;
    for (ValueId v : g.outputs) kept_[memory_of(v)] = true;
    for (const auto& [first, second] : aliasing.order) before_[second].push_back(first);
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      for (ValueId v : clusters[i].writes) writers_[v].push_back(i);
      for (const auto* values : {&clusters[i].reads, &clusters[i].writes})
        for (ValueId v : *values) users_[memory_of(v)].push_back(i);
    }
    place(0, sequence.size());
  }

  void free_early() {
    for (std::size_t now = 0; now < sequence_.size(); ++now) {
      const std::size_t cluster = sequence_[now];
      if (!nothing_follows_from(cluster)) continue;
      const std::size_t first = earliest(cluster);
      if (first >= now || !frees(cluster, first, now)) continue;
      std::rotate(sequence_.begin() + static_cast<std::ptrdiff_t>(first),
                  sequence_.begin() + static_cast<std::ptrdiff_t>(now),
                  sequence_.begin() + static_cast<std::ptrdiff_t>(now) + 1);
      place(first, now + 1);
    }
  }

 private:
  ValueId memory_of(ValueId v) const {
    return v < aliasing_.storage.size() ? aliasing_.storage[v] : v;
  }

  void place(std::size_t first, std::size_t end) {
    for (std::size_t k = first; k < end; ++k) position_[sequence_[k]] = k;
  }

  /// Whether nothing but the program's end needs what it writes, all of it and alone.
  bool nothing_follows_from(std::size_t cluster) const {
    return std::all_of(clusters_[cluster].writes.begin(), clusters_[cluster].writes.end(),
                       [&](ValueId v) {
                         const auto& users = users_[memory_of(v)];
                         return std::all_of(users.begin(), users.end(),
                                            [&](std::size_t u) { return u == cluster; });
                       });
  }

  std::size_t earliest(std::size_t cluster) const {
    std::size_t first = 0;
    const auto after = [&](std::size_t other) { first = std::max(first, position_[other] + 1); };
    for (ValueId v : clusters_[cluster].reads)
      for (std::size_t w : writers_[v])
        if (w != cluster) after(w);
    for (std::size_t b : before_[cluster]) after(b);
    return first;
  }

  /// Whether anything that it reads has no user behind `first` but itself, at `now`.
  bool frees(std::size_t cluster, std::size_t first, std::size_t now) const {
    return std::any_of(clusters_[cluster].reads.begin(), clusters_[cluster].reads.end(),
                       [&](ValueId v) {
                         const ValueId memory = memory_of(v);
                         if (kept_[memory] || writers_[v].empty()) return false;
                         std::size_t last = first;
                         for (std::size_t u : users_[memory])
                           if (u != cluster) last = std::max(last, position_[u]);
                         return last < now;
                       });
  }

  const std::vector<Cluster>& clusters_;
  const Aliasing& aliasing_;
  std::vector<std::size_t>& sequence_;
  std::vector<std::size_t> position_;              // of a cluster
  std::vector<std::vector<std::size_t>> users_;    // clusters, of a value's memory
  std::vector<std::vector<std::size_t>> writers_;  // of a value
  std::vector<bool> kept_;                         // memory of the caller
  std::vector<std::vector<std::size_t>> before_;   // clusters that one has to follow
};

}  // namespace

void free_early(const Graph& g, const std::vector<Cluster>& clusters, const Aliasing& aliasing,
                std::vector<std::size_t>& sequence) {
  Order(g, clusters, aliasing, sequence).free_early();
}

}  // namespace gnomon
