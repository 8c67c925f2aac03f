// engine/runtime/resume.cpp -- an Executable whose device is lost and made again.
#include <algorithm>

#include "engine/runtime/executable.h"

namespace gnomon {

void Executable::device_gone() noexcept {
  for (auto& entry : entries_) release(*entry);
  entries_.clear();
  for (Module& m : modules_) m.gone = true;
  calls_ = 0;  // the arena says nothing of earlier ones
}

void Executable::device_back() {
  upload(*context_, constants_, program_.constants);
  std::erase_if(left_, [](const Checkpoint& c) { return !c.reachable(); });
  for (const Checkpoint& c : left_) c.restore_inputs(*context_);
}

std::optional<Checkpoint> Executable::checkpoint_of(std::span<const Array> inputs) {
  if (!resumable()) return std::nullopt;
  std::erase_if(left_, [](const Checkpoint& c) { return !c.reachable(); });
  const auto found =
      std::ranges::find_if(left_, [&](const Checkpoint& c) { return c.fits(inputs); });
  if (found == left_.end()) return Checkpoint(inputs);
  Checkpoint result = std::move(*found);
  left_.erase(found);
  return result;
}

std::vector<vulkan::Range> Executable::state(const Entry& entry) const {
  std::vector<vulkan::Range> result;
  if (arena_) result.push_back(arena_);
  result.insert(result.end(), ranges_.begin() + static_cast<std::ptrdiff_t>(program_.inputs.size()),
                ranges_.end());
  result.insert(result.end(), entry.gathered.begin(), entry.gathered.end());
  return result;
}

}  // namespace gnomon
