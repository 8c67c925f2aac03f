// engine/runtime/context.cpp -- the parts of a context and their sizes.
#include "engine/runtime/context.h"

#include <algorithm>
#include <array>

#include "codegen/program/source_identity.h"
#include "engine/vulkan/quirks.h"
#include "engine/vulkan/rounding_probe.h"
#include "gnomon/device_lost.h"

namespace gnomon {
namespace {

vulkan::PoolOptions array_pool(const vulkan::Device& device) {
  vulkan::PoolOptions options;
  options.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                  VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
  if (device.target().texel_reads) options.usage |= VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
  options.addresses = device.target().features.addresses;
  if (options.addresses) options.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  options.kind = vulkan::MemoryKind::device;
  options.name = "gnomon arrays";
  options.texel_view = device.target().texel_reads;
  options.alignment = std::max<std::uint64_t>(256, device.description().storage_alignment);
  options.max_block_bytes = device.max_window_bytes();
  options.max_large_bytes = device.max_block_bytes();
  options.block_bytes = std::min(device.options().block_bytes, options.max_block_bytes);
  options.fixed_blocks = device.options().fixed_blocks;
  options.limit_bytes = device.options().memory_limit;
  return options;
}

vulkan::PoolOptions host_pool(const vulkan::Device& device, vulkan::MemoryKind kind,
                              VkBufferUsageFlags usage, std::uint64_t block_bytes) {
  vulkan::PoolOptions options;
  options.usage = usage;
  options.kind = kind;
  options.name = kind == vulkan::MemoryKind::staging ? "gnomon staging" : "gnomon parameters";
  options.alignment = std::max<std::uint64_t>(256, device.description().uniform_alignment);
  options.block_bytes = block_bytes;
  options.max_block_bytes = device.description().max_allocation_bytes;
  return options;
}

// What the probe says, or said to an earlier process.
kernel::RefineOptions rounding_of(vulkan::Device& device, vulkan::Queue& queue,
                                  const Compiler* compiler, DiskCache* disk) {
  // Nobody can ask: programs that trust the device are then for devices that are known.
  if (compiler == nullptr) return {.division = true, .root = true};
  const auto probe = [&] {
    const kernel::Kernel kernel = compiler->rounding_kernel();
    const std::vector<std::uint8_t> windows(kernel.buffers.size(), 0);
    return vulkan::probe_rounding(
        device, queue, compiler->words(kernel, device.target(), windows, {}), kernel.group_size);
  };
  if (disk == nullptr) return probe();
  const Digest key = digest("rounding 1\n" + std::string(source_identity()) + "\n" +
                            device.description().identity() + "\n" + device.target().text());
  if (const auto known = disk->read(key)) {
    if (known->size() == 2)
      return {.division = (*known)[0] != std::byte{0}, .root = (*known)[1] != std::byte{0}};
    disk->drop_damaged(key);
  }
  const kernel::RefineOptions wrong = probe();
  disk->write(key, std::array{std::byte{wrong.division}, std::byte{wrong.root}});
  return wrong;
}

}  // namespace

Context::Context(const vulkan::DeviceOptions& options, const ContextOptions& own)
    : time_slice_ms(own.time_slice_ms),
      compile_threads(own.compile_threads),
      resumable(own.resumable && options.adopted == nullptr),
      checkpoint_ms(own.checkpoint_ms),
      disk(own.disk),
      compiler(own.compiler),
      device(options),
      queue(device),
      arrays(device, queue, array_pool(device)),
      parameters(device, queue,
                 host_pool(device, vulkan::MemoryKind::upload, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
                           1u << 18)),
      staging(
          device, queue,
          host_pool(device, vulkan::MemoryKind::staging,
                    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, 1u << 24)),
      pipelines(device, own.disk != nullptr),
      copies(device),
      copies_of_host(device.adopted() ? 0 : own.host_copies) {
  if (!rounds_correctly(vulkan::kind_of(device.description())))
    device.refine(rounding_of(device, queue, compiler.get(), disk.get()));
}

Context::~Context() {
  try {
    queue.wait_idle();
  } catch (const Error&) {
    // A lost device runs nothing that could still use what is destroyed now.
  }
}

bool DeviceStorage::is_ready() const {
  const Gate::Use use(context_->gate);
  return context_->queue.done(ready());
}

void DeviceStorage::block_until_ready() const {
  const Gate::Use use(context_->gate);
  if (lost()) {
    const auto aval = adopted() ? std::nullopt : context_->arrays.aval_of(range_);
    throw DeviceLost("gnomon::block_until_ready: the array " +
                     (aval ? to_string(*aval) + " " : "") +
                     "went with a device that was lost; compute it again, or bring it again by "
                     "from_host");
  }
  context_->queue.wait(ready());
}

DeviceStorage::~DeviceStorage() {
  drop_copy();
  const vulkan::Ticket last = last_use_.load(std::memory_order_relaxed);
  if (!adopted_) {
    context_->arrays.release(range_, last);
    return;
  }
  try {
    context_->queue.wait(last);
  } catch (const Error&) {
    // A lost device uses nothing any more.
  }
}

}  // namespace gnomon
