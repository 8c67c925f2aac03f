// engine/runtime/program_cache.cpp -- lookup by structural hash, decided by structural equality.
#include "engine/runtime/program_cache.h"

#include <vector>

namespace gnomon {

std::shared_ptr<Executable> ProgramCache::find_or_make(
    const Graph& graph, const std::string& options,
    const std::function<std::shared_ptr<Executable>()>& make, bool& made) {
  const std::uint64_t hash = structural_hash(graph);
  const auto find = [&]() -> std::shared_ptr<Executable> {
    const auto [first, last] = entries_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (it->second.options == options && structurally_equal(it->second.graph, graph))
        return it->second.executable;
    }
    return nullptr;
  };
  made = false;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = find()) return found;
  }
  // Compiling takes milliseconds; other functions need not wait for it.
  auto fresh = make();
  made = true;
  const std::lock_guard lock(mutex_);
  if (auto found = find()) return found;
  entries_.emplace(hash, Entry{graph, options, fresh});
  return fresh;
}

std::size_t ProgramCache::clear() {
  std::vector<std::shared_ptr<Executable>>
      dropped;  // destroyed after the lock: an executable waits for its last run
  const std::lock_guard lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->second.executable.use_count() == 1) {
      dropped.push_back(std::move(it->second.executable));
      it = entries_.erase(it);
    } else {
      ++it;
    }
  }
  return dropped.size();
}

std::size_t ProgramCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace gnomon
