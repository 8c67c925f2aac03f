// engine/runtime/recover.cpp -- a device that was lost, made again: what goes, and what comes back.
#include <algorithm>

#include "engine/runtime/context.h"
#include "gnomon/error.h"

namespace gnomon {

bool HostCopies::keep(DeviceStorage& storage, std::span<const std::byte> bytes, bool counts) {
  {
    const std::lock_guard lock(mutex_);
    if (counts && (bytes.size() > room_ || taken_ > room_ - bytes.size())) return false;
    if (counts) taken_ += bytes.size();
  }
  try {
    Copy copy{{bytes.begin(), bytes.end()}, counts};
    const std::lock_guard lock(mutex_);
    copies_.emplace(&storage, std::move(copy));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (counts) taken_ -= bytes.size();
    throw;
  }
  return true;
}

void HostCopies::drop(DeviceStorage& storage) noexcept {
  std::vector<std::byte> bytes;  // given back behind the lock
  const std::lock_guard lock(mutex_);
  const auto found = copies_.find(&storage);
  if (found == copies_.end()) return;
  if (found->second.counts) taken_ -= found->second.bytes.size();
  bytes = std::move(found->second.bytes);
  copies_.erase(found);
}

void HostCopies::each(const std::function<void(DeviceStorage&, std::span<const std::byte>)>& f) {
  const std::lock_guard lock(mutex_);
  for (const auto& [storage, copy] : copies_) f(*storage, copy.bytes);
}

void DeviceStorage::keep_copy(std::span<const std::byte> bytes, bool always) {
  // Nobody makes the device of another owner again.
  if (context_->device.adopted()) return;
  const bool kept = context_->copies_of_host.keep(*this, bytes, !always);
  copy_.store(kept ? Copy::kept : Copy::no_room, std::memory_order_release);
}

void DeviceStorage::drop_copy() noexcept {
  if (copy_.exchange(Copy::no, std::memory_order_acq_rel) == Copy::kept)
    context_->copies_of_host.drop(*this);
}

void Context::add(OnDevice& user) {
  const std::lock_guard lock(users_mutex_);
  users_.push_back(&user);
}

void Context::remove(OnDevice& user) noexcept {
  const std::lock_guard lock(users_mutex_);
  std::erase(users_, &user);
}

void Context::recover() {
  if (device.adopted())
    throw UsageError(
        "gnomon::Runtime::recover: the device is the application's, which has to make it again; "
        "destroy this Runtime with its arrays and functions, make a device, and adopt that");
  const Gate::Alone alone(gate);
  if (!device.lost()) return;
  // Nobody is inside of the gate. Commands may still run where the device is not as lost as it
  // says.
  queue.forget();
  for (OnDevice* user : users_) user->device_gone();
  copies.forget();
  pipelines.forget();
  for (vulkan::BufferPool* pool : {&staging, &parameters, &arrays}) pool->forget();
  device.make_again();
  for (vulkan::BufferPool* pool : {&staging, &parameters, &arrays}) pool->make_again();
  pipelines.make_again();
  life_.fetch_add(1, std::memory_order_acq_rel);
  device.revived();
  try {
    copies_of_host.each([&](DeviceStorage& storage, std::span<const std::byte> bytes) {
      upload(*this, storage.range(), bytes);
      storage.written_again();
    });
    for (OnDevice* user : users_) user->device_back();
  } catch (...) {
    device.lose_again();
    throw;
  }
}

}  // namespace gnomon
