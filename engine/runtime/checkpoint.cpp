// engine/runtime/checkpoint.cpp -- memory of a call to the host and back.
#include "engine/runtime/checkpoint.h"

#include <algorithm>

#include "engine/runtime/milliseconds.h"

namespace gnomon {
namespace {

DeviceStorage& storage_in(const std::shared_ptr<Storage>& s) {
  return static_cast<DeviceStorage&>(*s);
}

std::vector<std::byte> bytes_in(Context& context, const vulkan::Range& range,
                                vulkan::Ticket written) {
  std::vector<std::byte> bytes(range.bytes);
  download(context, range, written, bytes);
  return bytes;
}

}  // namespace

Checkpoint::Checkpoint(std::span<const Array> inputs) {
  for (const Array& a : inputs)
    inputs_.push_back({a.storage(), storage_in(a.storage()).ready(), {}});
}

bool Checkpoint::fits(std::span<const Array> inputs) const {
  return std::ranges::equal(inputs, inputs_, [](const Array& a, const Input& i) {
    return a.storage() == i.storage.lock() && storage_in(a.storage()).ready() == i.written;
  });
}

bool Checkpoint::reachable() const {
  return std::ranges::none_of(inputs_, [](const Input& i) { return i.storage.expired(); });
}

bool Checkpoint::due(double interval_ms) const {
  return milliseconds(Clock::now() - last_) >=
         (interval_ms > 0 ? std::max(interval_ms, 10 * took_ms_) : 0);
}

void Checkpoint::take(Context& context, std::span<const vulkan::Range> ranges,
                      vulkan::Ticket written, const At& at) {
  const Clock::time_point start = Clock::now();
  if (!inputs_kept_) {
    for (Input& i : inputs_) {
      const auto storage = i.storage.lock();
      if (!storage || storage_in(storage).copy() == DeviceStorage::Copy::kept) continue;
      i.bytes = bytes_in(context, storage_in(storage).range(), i.written);
    }
    inputs_kept_ = true;
  }
  std::vector<std::vector<std::byte>> fresh;
  for (const vulkan::Range& r : ranges) fresh.push_back(bytes_in(context, r, written));
  ranges_ = std::move(fresh);
  at_ = at;
  last_ = Clock::now();
  took_ms_ = milliseconds(last_ - start);
}

bool Checkpoint::restore(Context& context, std::span<const vulkan::Range> ranges) const {
  const auto same = [](const vulkan::Range& r, const std::vector<std::byte>& bytes) {
    return r.bytes == bytes.size();
  };
  if (!std::ranges::equal(ranges, ranges_, same)) return false;
  for (std::size_t i = 0; i < ranges.size(); ++i) upload(context, ranges[i], ranges_[i]);
  return true;
}

void Checkpoint::restore_inputs(Context& context) const {
  for (const Input& i : inputs_) {
    const auto storage = i.storage.lock();
    if (!storage || i.bytes.empty() || storage_in(storage).ready() != i.written) continue;
    if (!storage_in(storage).lost()) continue;
    upload(context, storage_in(storage).range(), i.bytes);
    storage_in(storage).written_again();
  }
}

}  // namespace gnomon
