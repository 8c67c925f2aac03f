// engine/runtime/transfer.cpp -- bytes between host and device: straight where memory is mapped,
// staged elsewhere.
#include <algorithm>
#include <cstring>

#include "engine/runtime/context.h"
#include "gnomon/device_lost.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

// Enough that the copy hides the submission, little enough to stay in one staging block.
constexpr std::uint64_t chunk_bytes = std::uint64_t{8} << 20;

// A range of staging memory for one chunk at a time.
class Staging {
 public:
  Staging(Context& context, std::uint64_t bytes) : context_(context) {
    range_ = context.staging.allocate({.bytes = std::min(bytes, chunk_bytes),
                                       .what = "staging memory",
                                       .aval = nullptr,
                                       .context = {},
                                       .beside = nullptr,
                                       .host_writes = true});
  }
  ~Staging() { context_.staging.release(range_, ticket_); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  std::byte* data() { return range_.mapped(); }

  // Copies between this memory and `other`, and waits.
  void transfer(const vulkan::Range& other, std::uint64_t at, std::uint64_t bytes, bool to_device) {
    vulkan::BufferCopy copy;
    copy.bytes = bytes;
    copy.from = to_device ? range_.block->buffer : other.block->buffer;
    copy.from_offset = to_device ? range_.offset : other.offset + at;
    copy.to = to_device ? other.block->buffer : range_.block->buffer;
    copy.to_offset = to_device ? other.offset + at : range_.offset;
    ticket_ = context_.queue.submit(context_.copies.record(copy));
    context_.queue.wait(ticket_);
    context_.counters.staged_bytes += bytes;
  }

 private:
  Context& context_;
  vulkan::Range range_;
  vulkan::Ticket ticket_ = 0;
};

}  // namespace

bool belongs_to_another(const Array& array, const Context& context) {
  if (!array.concrete() || array.storage()->unplaced()) return false;
  // All other concrete arrays are the engine's.
  return static_cast<const DeviceStorage&>(*array.storage()).context().get() != &context;
}

std::string another_text(const std::string& what, const Array& array) {
  return what + " is " + to_string(array.aval()) +
         " and belongs to another Runtime than the one that is asked; bring its elements here "
         "by way of the host (to_host of its Runtime, from_host of this one)";
}

DeviceStorage& storage_of(const Array& array, const Context& context, const char* op, Loc loc) {
  if (array.empty())
    usage_error(op,
                "the array is empty (moved from, or never assigned); pass one that holds elements",
                loc);
  if (!array.concrete())
    usage_error(op,
                "the array " + to_string(array.aval()) +
                    " is traced and has no elements yet; return it from the traced function and "
                    "use the result",
                loc);
  if (array.storage()->unplaced())
    usage_error(op,
                "the array " + to_string(array.aval()) +
                    " is made of numbers alone and on no device; bring it there with from_host",
                loc);
  if (belongs_to_another(array, context)) usage_error(op, another_text("the array", array), loc);
  auto& storage = static_cast<DeviceStorage&>(*array.storage());
  if (storage.lost()) {
    const std::string type = to_string(array.dtype(), array.shape());
    const std::string what = "gnomon::" + std::string(op) + ": the array " + type +
                             " went with a device that was lost: it ";
    if (storage.copy() == DeviceStorage::Copy::no_room)
      throw DeviceLost(what + "came from the host, where RuntimeOptions::host_copies (" +
                       vulkan::byte_text(context.copies_of_host.room()) +
                       ") had no room for a copy; bring it again by from_host, and raise that");
    throw DeviceLost(what +
                     "was computed there; compute it again, or keep what must not be lost "
                     "on the host (to_host)");
  }
  return storage;
}

Array on_device(const std::shared_ptr<Context>& context, const Aval& aval,
                std::span<const std::byte> bytes, bool always_comes_back) {
  const Gate::Use use(context->gate);
  context->device.require();
  vulkan::Request request;
  request.bytes = bytes.size();
  request.aval = &aval;
  // With staging the copy is ordered on the device itself.
  request.host_writes = context->device.unified();
  const vulkan::Range range = context->arrays.allocate(request);
  auto storage = std::make_shared<DeviceStorage>(context, range, 0);
  upload(*context, range, bytes);
  storage->keep_copy(bytes, always_comes_back);
  return Array(aval, std::move(storage));
}

void download(Context& context, const Array& array, const char* op, std::span<std::byte> bytes) {
  const Gate::Use use(context.gate);
  const DeviceStorage& storage = storage_of(array, context, op);
  download(context, storage.range(), storage.ready(), bytes);
}

void upload(Context& context, const vulkan::Range& range, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (range.block->mapped != nullptr) {
    std::memcpy(range.mapped(), bytes.data(), bytes.size());
    return;
  }
  const std::lock_guard lock(context.copy_mutex);
  Staging staging(context, bytes.size());
  for (std::uint64_t at = 0; at < bytes.size(); at += chunk_bytes) {
    const std::uint64_t count = std::min<std::uint64_t>(chunk_bytes, bytes.size() - at);
    std::memcpy(staging.data(), bytes.data() + at, count);
    staging.transfer(range, at, count, true);
  }
}

void download(Context& context, const vulkan::Range& range, vulkan::Ticket ready,
              std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  // What was finished is undefined as well then.
  context.device.require();
  if (range.block->mapped != nullptr) {
    context.queue.wait(ready);
    std::memcpy(bytes.data(), range.mapped(), bytes.size());
    return;
  }
  // Ordered after `ready` by the barrier that every submission begins with.
  const std::lock_guard lock(context.copy_mutex);
  Staging staging(context, bytes.size());
  for (std::uint64_t at = 0; at < bytes.size(); at += chunk_bytes) {
    const std::uint64_t count = std::min<std::uint64_t>(chunk_bytes, bytes.size() - at);
    staging.transfer(range, at, count, false);
    std::memcpy(bytes.data() + at, staging.data(), count);
  }
}

}  // namespace gnomon
