// engine/jit/program_cache.cpp -- lookup by structural hash, decided by structural equality.
#include "engine/jit/program_cache.h"

#include <algorithm>

namespace gnomon {

std::shared_ptr<Executable> ProgramCache::find(std::uint64_t hash, const Graph& graph,
                                               const std::string& options) {
  const auto [first, last] = entries_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    Entry& entry = it->second;
    if (entry.options != options || !structurally_equal(entry.graph, graph)) continue;
    entry.last_use = ++uses_;
    return entry.executable;
  }
  return nullptr;
}

std::shared_ptr<Executable> ProgramCache::find_or_make(
    const Graph& graph, const std::string& options,
    const std::function<std::shared_ptr<Executable>()>& make, bool& made) {
  const std::uint64_t hash = structural_hash(graph);
  made = false;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = find(hash, graph, options)) return found;
  }
  // Compiling takes milliseconds; other functions need not wait for it.
  auto fresh = make();
  made = true;
  std::vector<std::shared_ptr<Executable>> dropped;  // goes after the lock
  const std::lock_guard lock(mutex_);
  if (auto found = find(hash, graph, options)) return found;
  entries_.emplace(hash, Entry{graph, options, fresh, ++uses_});
  dropped = excess();
  return fresh;
}

std::vector<std::shared_ptr<Executable>> ProgramCache::excess() {
  std::vector<Entries::iterator> unused;
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    // Whoever wants it needs the lock first.
    if (it->second.executable.use_count() == 1) unused.push_back(it);
  }
  std::ranges::sort(
      unused, [](const auto& a, const auto& b) { return a->second.last_use > b->second.last_use; });
  std::vector<std::shared_ptr<Executable>> result;
  std::size_t kept = 0;
  std::uint64_t bytes = 0;
  for (const Entries::iterator entry : unused) {
    const std::uint64_t more = entry->second.executable->footprint();
    if (kept < limits_.programs && bytes + more <= limits_.bytes) {
      ++kept;
      bytes += more;
      continue;
    }
    result.push_back(std::move(entry->second.executable));
    entries_.erase(entry);
  }
  dropped_ += result.size();
  return result;
}

std::size_t ProgramCache::clear() {
  std::vector<std::shared_ptr<Executable>> dropped;  // goes after the lock
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
