// engine/runtime/adopt.cpp -- the public face of adopted devices.
#include <utility>

#include "engine/runtime/executable.h"
#include "engine/runtime/place.h"
#include "engine/runtime/state.h"
#include "gnomon/error.h"
#include "gnomon/vulkan.h"

namespace gnomon {
namespace {

std::shared_ptr<const vulkan::AdoptedDevice> described(const VulkanDevice& d) {
  const auto need = [](bool there, const char* what) {
    if (!there)
      throw UsageError(std::string("gnomon::Runtime::adopt: the VulkanDevice has no ") + what +
                       "; hand over all of what the application made");
  };
  need(d.get_instance_proc_addr != nullptr, "get_instance_proc_addr");
  need(d.instance != VK_NULL_HANDLE, "instance");
  need(d.physical_device != VK_NULL_HANDLE, "physical_device");
  need(d.device != VK_NULL_HANDLE, "device");
  need(d.queue != VK_NULL_HANDLE, "queue");
  if (bool(d.lock_queue) != bool(d.unlock_queue))
    throw UsageError(
        "gnomon::Runtime::adopt: the VulkanDevice has one of lock_queue and unlock_queue; hand "
        "over both or neither");
  if (d.api_version < VK_API_VERSION_1_1)
    throw UsageError("gnomon::Runtime::adopt: the instance was made for Vulkan " +
                     std::to_string(VK_API_VERSION_MAJOR(d.api_version)) + "." +
                     std::to_string(VK_API_VERSION_MINOR(d.api_version)) +
                     " and 1.1 is required; ask for it in VkApplicationInfo::apiVersion");
  return std::make_shared<const vulkan::AdoptedDevice>(d);
}

}  // namespace

std::shared_ptr<RuntimeState> detail::adopted_state(const VulkanDevice& device,
                                                    const RuntimeOptions& options,
                                                    std::shared_ptr<const Compiler> compiler) {
  return std::make_shared<RuntimeState>(options, std::move(compiler), described(device));
}

Runtime Runtime::adopt_without_compiler(const VulkanDevice& device, const RuntimeOptions& options) {
  return Runtime(detail::adopted_state(device, options, nullptr));
}

VkBufferUsageFlags buffer_usage(const Runtime& rt) {
  // Indirect dispatches read counts from intermediates only.
  return rt.state()->context->arrays.options().usage & ~VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
}

Array array_in(Runtime& rt, const VulkanBuffer& from, std::uint64_t offset, const Aval& aval,
               Loc loc) {
  Context& context = *rt.state()->context;
  if (!context.device.adopted())
    usage_error("array_in",
                "the Runtime has made its device itself, and no buffer of another can be its; make "
                "it with Runtime::adopt",
                loc);
  if (from.buffer == VK_NULL_HANDLE)
    usage_error("array_in", "there is no buffer; create it first", loc);
  if (from.bytes % 16 != 0)
    usage_error("array_in",
                "the buffer has " + std::to_string(from.bytes) +
                    " bytes; make it larger, by whole multiples of 16",
                loc);
  const std::uint64_t padded = place_in("array_in", offset, aval, from.bytes,
                                        "make it larger, by whole multiples of 16", loc);
  const VkBufferUsageFlags optional = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  if (const VkBufferUsageFlags missing = buffer_usage(rt) & ~optional & ~from.usage) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%x", static_cast<unsigned>(missing));
    usage_error("array_in",
                std::string("the buffer was created without the usage bits ") + text +
                    "; add buffer_usage(runtime) to its VkBufferCreateInfo::usage",
                loc);
  }
  const bool addressable = from.usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  require_reach("array_in", context, from.bytes, addressable,
                "enable bufferDeviceAddress and the usage SHADER_DEVICE_ADDRESS, or use smaller "
                "buffers",
                loc);
  auto block = context.arrays.adopt(from.buffer, from.bytes, addressable,
                                    static_cast<std::byte*>(from.mapped));
  return Array(
      aval, std::make_shared<DeviceStorage>(rt.state()->context, std::move(block), offset, padded));
}

BufferRange buffer_of(const Runtime& rt, const Array& array) {
  const vulkan::Range& range = storage_of(array, *rt.state()->context, "buffer_of").range();
  return {range.block->buffer, range.offset, bytes_of(array.aval())};
}

void wait_for(Runtime& rt, const Semaphore& s) {
  const vulkan::Queue::Semaphore one{s.handle, s.value};
  rt.state()->context->queue.synchronize({&one, 1}, {});
}

void signal(Runtime& rt, const Semaphore& s) {
  const vulkan::Queue::Semaphore one{s.handle, s.value};
  rt.state()->context->queue.synchronize({}, {&one, 1});
}

}  // namespace gnomon
