// engine/jit/program_cache.h -- compiled programs of one Runtime, by the graph they came from.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/graph/graph.h"
#include "engine/runtime/executable.h"

namespace gnomon {

/// What the cache may keep of programs that nobody else holds.
struct ProgramCacheLimits {
  std::size_t programs = 512;
  std::uint64_t bytes = std::uint64_t{256} << 20;  // Executable::footprint
};

/// A function of equal structure and options is compiled once, whoever traced it. Programs that
/// somebody holds are found as long as they are held, and cost nothing here; of those that nobody
/// holds the least recently used go first when there are too many. Thread safe.
class ProgramCache {
 public:
  explicit ProgramCache(ProgramCacheLimits limits = {}) : limits_(limits) {}

  /// The executable for `graph` under `options` (text that tells compile options apart), made by
  /// `make` when there is none. Two threads that ask for the same graph at once may both make it;
  /// one of the results is kept.
  std::shared_ptr<Executable> find_or_make(const Graph& graph, const std::string& options,
                                           const std::function<std::shared_ptr<Executable>()>& make,
                                           bool& made);
  /// Drops what nobody else holds; how many that were.
  std::size_t clear();
  std::size_t size() const;
  /// Programs that went because there were too many.
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Entry {
    Graph graph;
    std::string options;
    std::shared_ptr<Executable> executable;
    std::uint64_t last_use = 0;
  };
  using Entries = std::unordered_multimap<std::uint64_t, Entry>;

  std::shared_ptr<Executable> find(std::uint64_t hash, const Graph&, const std::string& options);
  /// What has to go, to be destroyed after the lock: an executable waits for its last run.
  std::vector<std::shared_ptr<Executable>> excess();

  const ProgramCacheLimits limits_;
  std::atomic<std::uint64_t> dropped_{0};
  mutable std::mutex mutex_;  // everything below
  Entries entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace gnomon
