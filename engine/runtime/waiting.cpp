// engine/runtime/waiting.cpp -- Executable::waiting: what lanes that run in step lose to the
// slowest.
#include <algorithm>
#include <vector>

#include "engine/runtime/executable.h"

namespace gnomon {

std::optional<double> Executable::waiting() {
  const std::lock_guard lock(mutex_);
  const Gate::Use inside(context_->gate);
  if (under_way_ || program_.trips.empty() || calls_ == 0 || !context_->queue.done(last_ticket_))
    return std::nullopt;
  double most = 1;
  for (const TripRecord& record : program_.trips) {
    std::vector<std::uint32_t> trips(record.lanes);
    vulkan::Range range = arena_;
    range.offset += record.place.offset;
    range.bytes = trips.size() * sizeof(std::uint32_t);
    download(*context_, range, last_ticket_, std::as_writable_bytes(std::span(trips)));
    double made = 0, spent = 0;
    for (std::size_t first = 0; first < trips.size(); first += record.together) {
      const auto group = std::span(trips).subspan(first).first(
          std::min<std::size_t>(record.together, trips.size() - first));
      for (std::uint32_t t : group) made += t;
      spent += static_cast<double>(*std::max_element(group.begin(), group.end())) *
               static_cast<double>(group.size());
    }
    if (made > 0) most = std::max(most, spent / made);
  }
  return most;
}

}  // namespace gnomon
