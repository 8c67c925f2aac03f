// engine/runtime/program_cache.h -- compiled programs of one Runtime, by the graph they came from.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "codegen/graph/graph.h"
#include "engine/runtime/executable.h"

namespace gnomon {

/// A function of equal structure and options is compiled once, whoever traced it. Thread safe.
class ProgramCache {
 public:
  /// The executable for `graph` under `options` (text that tells compile options apart), made by
  /// `make` when there is none. Two threads that ask for the same graph at once may both make it;
  /// one of the results is kept.
  std::shared_ptr<Executable> find_or_make(const Graph& graph, const std::string& options,
                                           const std::function<std::shared_ptr<Executable>()>& make,
                                           bool& made);
  /// Drops what nobody else holds; how many that were.
  std::size_t clear();
  std::size_t size() const;

 private:
  struct Entry {
    Graph graph;
    std::string options;
    std::shared_ptr<Executable> executable;
  };
  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, Entry> entries_;
};

}  // namespace gnomon
