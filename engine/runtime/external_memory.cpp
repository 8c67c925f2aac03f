// engine/runtime/external_memory.cpp -- the public face of memory that others have as well.
#include "gnomon/external_memory.h"

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "engine/runtime/place.h"
#include "engine/runtime/state.h"
#include "engine/vulkan/external_memory.h"
#include "gnomon/device_lost.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

constexpr const char* op = "SharedMemory";

vulkan::ExternalUse use_of(const Context& context) {
  const vulkan::PoolOptions& arrays = context.arrays.options();
  // Indirect dispatches read counts from intermediates only.
  return {.usage = arrays.usage & ~VkBufferUsageFlags{VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT},
          .addressable = arrays.addresses};
}

}  // namespace

/// The memory as this process has it.
struct detail::SharedBlock final : OnDevice {
  template <class Make>
  SharedBlock(const std::shared_ptr<Context>& of, std::uint64_t bytes, Loc loc, Make make)
      : context(of), life(of->life()) {
    vulkan::Device& device = context->device;
    if (bytes > device.max_block_bytes())
      usage_error(op,
                  "memory of " + vulkan::byte_text(bytes) + " is more than the " +
                      vulkan::byte_text(device.max_block_bytes()) + " that kernels reach; split it",
                  loc);
    const vulkan::ExternalUse use = use_of(*context);
    require_reach(op, *context, bytes, use.addressable, "split it", loc);
    vulkan::ExternalBuffer made(device);
    make(use, made);
    handover.emplace(device, made.buffer);
    block =
        context->arrays.adopt(made.buffer, made.bytes, use.addressable, made.mapped, made.memory);
    made.buffer = VK_NULL_HANDLE;
    handle = made.handle;
    context->add(*this);
  }
  ~SharedBlock() {
    const Gate::Use inside(context->gate);
    context->remove(*this);
    try {
      context->queue.wait(last_use.load());
    } catch (const Error&) {
      // A lost device runs nothing any more.
    }
    handover.reset();
    block.reset();
  }
  void device_gone() noexcept override { handover->forget(); }
  void device_back() override {}

  /// Inside of the gate.
  void require_alive() const {
    context->device.require();
    if (life != context->life())
      throw DeviceLost("gnomon::SharedMemory: memory of " + vulkan::byte_text(block->bytes) +
                       " went with a device that was lost; make it or import it again");
  }
  void submit(VkCommandBuffer commands) {
    const vulkan::Ticket ticket = context->queue.submit(commands);
    vulkan::Ticket seen = last_use.load();
    while (seen < ticket && !last_use.compare_exchange_weak(seen, ticket)) {
    }
  }

  std::shared_ptr<Context> context;
  const std::uint32_t life;
  std::shared_ptr<vulkan::Block> block;
  std::optional<vulkan::Handover> handover;
  MemoryHandle handle;
  bool exports = false;
  std::atomic<vulkan::Ticket> last_use{0};
};

SharedMemory::SharedMemory(Runtime& rt, std::uint64_t bytes, HandleKind kind, Loc loc) {
  const auto& context = rt.state()->context;
  const Gate::Use use(context->gate);
  context->device.require();
  shared_ = std::make_shared<detail::SharedBlock>(
      context, bytes, loc, [&](const vulkan::ExternalUse& of, vulkan::ExternalBuffer& made) {
        vulkan::make_external(context->device, of, bytes, kind, loc, made);
      });
  shared_->exports = true;
}

SharedMemory::SharedMemory(Runtime& rt, const MemoryHandle& from, Loc loc) {
  const auto& context = rt.state()->context;
  const Gate::Use use(context->gate);
  context->device.require();
  shared_ = std::make_shared<detail::SharedBlock>(
      context, from.bytes, loc, [&](const vulkan::ExternalUse& of, vulkan::ExternalBuffer& made) {
        vulkan::import_external(context->device, of, from, loc, made);
      });
  vulkan::take(from);
}

detail::SharedBlock& SharedMemory::shared(const char* member) const {
  if (!shared_)
    throw UsageError("gnomon::SharedMemory::" + std::string(member) +
                     ": there is no memory; make or import some");
  return *shared_;
}

std::uint64_t SharedMemory::bytes() const { return shared("bytes").block->bytes; }

MemoryHandle SharedMemory::handle(Loc loc) const {
  detail::SharedBlock& s = shared("handle");
  if (!s.exports)
    usage_error("SharedMemory::handle",
                "the memory was imported; whoever has made it hands out its handles", loc);
  const Gate::Use use(s.context->gate);
  s.require_alive();
  MemoryHandle fresh = s.handle;
  vulkan::export_handle(s.context->device, s.block->memory, fresh);
  return fresh;
}

Array SharedMemory::array(std::uint64_t offset, const Aval& aval, Loc loc) const {
  detail::SharedBlock& s = shared("array");
  const std::uint64_t padded =
      place_in("SharedMemory::array", offset, aval, s.block->bytes, "make it larger", loc);
  const Gate::Use use(s.context->gate);
  s.require_alive();
  return Array(aval, std::make_shared<DeviceStorage>(s.context, s.block, offset, padded));
}

Array SharedMemory::put(std::uint64_t offset, const Array& from, Loc loc) const {
  detail::SharedBlock& s = shared("put");
  Context& context = *s.context;
  Array to = array(offset, from.aval(), loc);
  const Gate::Use use(context.gate);
  DeviceStorage& source = storage_of(from, context, "SharedMemory::put", loc);
  DeviceStorage& target = storage_of(to, context, "SharedMemory::put", loc);
  const vulkan::Range& a = source.range();
  const vulkan::Range& b = target.range();
  const std::uint64_t bytes = bytes_of(from.aval());
  if (a.block == b.block && a.offset < b.offset + bytes && b.offset < a.offset + bytes)
    usage_error("SharedMemory::put",
                "the array lies at byte " + std::to_string(a.offset) +
                    " of the memory itself, across the place at byte " + std::to_string(b.offset) +
                    "; put it elsewhere",
                loc);
  if (bytes == 0) return to;
  vulkan::BufferCopy copy;
  copy.from = a.block->buffer;
  copy.from_offset = a.offset;
  copy.to = b.block->buffer;
  copy.to_offset = b.offset;
  copy.bytes = bytes;
  const std::lock_guard lock(context.copy_mutex);
  const vulkan::Ticket ticket = context.queue.submit(context.copies.record(copy));
  source.used_by(ticket);
  target.written_by(ticket);
  context.queue.wait(ticket);
  return to;
}

void SharedMemory::release() const {
  detail::SharedBlock& s = shared("release");
  const Gate::Use use(s.context->gate);
  s.require_alive();
  s.submit(s.handover->release());
}

void SharedMemory::acquire() const {
  detail::SharedBlock& s = shared("acquire");
  const Gate::Use use(s.context->gate);
  s.require_alive();
  s.submit(s.handover->acquire());
}

}  // namespace gnomon
