// engine/vulkan/external_memory.cpp -- what Vulkan asks of memory that is exported or imported, and
// the commands by which it changes hands.
#include "engine/vulkan/external_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

#include "engine/vulkan/buffer_pool.h"
#include "engine/vulkan/recorder.h"
#include "engine/vulkan/result.h"
#include "gnomon/error.h"

namespace gnomon::vulkan {
namespace {

constexpr const char* op = "SharedMemory";
constexpr std::uint64_t alignment = 256;  // of every place in memory

struct Kind {
  VkExternalMemoryHandleTypeFlagBits bit;
  const char* extension;
  bool there;
};

Kind kind_of(const Device& device, HandleKind kind) {
  if (kind == HandleKind::opaque_fd)
    return {VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
            device.description().external_fd && device.vk().vkGetMemoryFdKHR != nullptr};
  return {VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT, "VK_KHR_external_memory_win32",
          device.description().external_win32 && device.vk().vkGetMemoryWin32HandleKHR != nullptr};
}

std::string hex(std::uint32_t bits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", bits);
  return text;
}

/// What the device says of buffers for `use` in such memory. Throws UsageError unless it `can`.
VkExternalMemoryFeatureFlags features_of(const Device& device, const ExternalUse& use,
                                         HandleKind handle, VkExternalMemoryFeatureFlagBits can,
                                         Loc loc) {
  const Kind kind = kind_of(device, handle);
  const std::string name = "\"" + device.description().name + "\"";
  if (!kind.there)
    usage_error(op,
                device.adopted()
                    ? "the application's device " + name + " does not have " + kind.extension +
                          " enabled; enable it and name it in VulkanDevice::extensions, or copy by "
                          "to_host and from_host"
                    : "the device " + name + " does not have " + kind.extension +
                          "; copy by to_host and from_host",
                loc);
  auto info = make<VkPhysicalDeviceExternalBufferInfo>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO);
  info.usage = use.usage;
  info.handleType = kind.bit;
  auto properties = make<VkExternalBufferProperties>(VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES);
  device.instance().vk().external_buffer_properties(device.physical(), &info, &properties);
  const VkExternalMemoryFeatureFlags features =
      properties.externalMemoryProperties.externalMemoryFeatures;
  if (!(features & can))
    usage_error(op,
                "the device " + name +
                    (can == VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT ? " does not export"
                                                                      : " does not import") +
                    " the memory of buffers with the usage " + hex(use.usage) + " by " +
                    kind.extension + "; copy by to_host and from_host",
                loc);
  return features;
}

std::array<std::uint8_t, 32> identity_of(const Device& device) {
  auto properties =
      make<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  auto id = make<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  properties.pNext = &id;
  device.instance().vk().physical_device_properties2(device.physical(), &properties);
  std::array<std::uint8_t, 32> both;
  std::copy(std::begin(id.deviceUUID), std::end(id.deviceUUID), both.begin());
  std::copy(std::begin(id.driverUUID), std::end(id.driverUUID), both.begin() + 16);
  return both;
}

struct Needs {
  VkMemoryRequirements memory;
  bool dedicated = false, prefers_dedicated = false;
};

/// Creates the buffer, and asks what memory it wants.
Needs create_buffer(Device& device, const ExternalUse& use, std::uint64_t bytes, HandleKind kind,
                    ExternalBuffer& made) {
  const DeviceTable& vk = device.vk();
  auto external =
      make<VkExternalMemoryBufferCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  external.handleTypes = kind_of(device, kind).bit;
  auto info = make<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.pNext = &external;
  info.size = made.bytes = bytes;
  info.usage = use.usage;
  device.check(vk.vkCreateBuffer(device.handle(), &info, nullptr, &made.buffer), "vkCreateBuffer");
  ++device.counters().objects;
  auto of =
      make<VkBufferMemoryRequirementsInfo2>(VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2);
  of.buffer = made.buffer;
  auto needs = make<VkMemoryRequirements2>(VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2);
  auto dedicated =
      make<VkMemoryDedicatedRequirements>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS);
  needs.pNext = &dedicated;
  vk.vkGetBufferMemoryRequirements2(device.handle(), &of, &needs);
  return {needs.memoryRequirements, dedicated.requiresDedicatedAllocation == VK_TRUE,
          dedicated.prefersDedicatedAllocation == VK_TRUE};
}

/// Allocates what `made.handle` describes, with the structure `extra` in the chain, and binds it.
VkResult allocate(Device& device, const ExternalUse& use, const void* extra, ExternalBuffer& made) {
  const DeviceTable& vk = device.vk();
  auto memory = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  memory.allocationSize = made.handle.bytes;
  memory.memoryTypeIndex = made.handle.memory_type;
  memory.pNext = extra;
  auto flags = make<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  auto dedicated =
      make<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
  dedicated.buffer = made.buffer;
  if (use.addressable) {
    flags.pNext = memory.pNext;
    memory.pNext = &flags;
  }
  if (made.handle.dedicated) {
    dedicated.pNext = memory.pNext;
    memory.pNext = &dedicated;
  }
  const VkResult result = vk.vkAllocateMemory(device.handle(), &memory, nullptr, &made.memory);
  if (result != VK_SUCCESS) return result;
  ++device.counters().allocations;
  ++device.counters().objects;
  device.check(vk.vkBindBufferMemory(device.handle(), made.buffer, made.memory, 0),
               "vkBindBufferMemory");
  const VkMemoryPropertyFlags host =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (device.unified() && (device.memory_flags(made.handle.memory_type) & host) == host) {
    void* mapped = nullptr;
    device.check(vk.vkMapMemory(device.handle(), made.memory, 0, VK_WHOLE_SIZE, 0, &mapped),
                 "vkMapMemory");
    made.mapped = static_cast<std::byte*>(mapped);
  }
  device.name(VK_OBJECT_TYPE_BUFFER, reinterpret_cast<std::uint64_t>(made.buffer),
              "gnomon shared memory");
  return result;
}

/// Another descriptor of the same memory, closed with this unless somebody has taken it: what
/// Vulkan takes is this one, so that the caller's stays as it is until all has gone well.
class Descriptor {
 public:
  Descriptor(int fd, Loc loc) {
#ifdef _WIN32
    usage_error(op, "there are no file descriptors of memory on Windows; use opaque_win32", loc);
    (void)fd;
#else
    fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0)
      usage_error(op,
                  "the file descriptor " + std::to_string(fd) +
                      " is not open; pass the one that was exported, once",
                  loc);
#endif
  }
  ~Descriptor() {
#ifndef _WIN32
    if (fd_ >= 0) ::close(fd_);
#endif
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void taken() { fd_ = -1; }

 private:
  int fd_ = -1;
};

/// The memory type to import by, and complaints about what does not go together.
void check_import(const Device& device, const MemoryHandle& from, const Needs& needs,
                  bool only_dedicated, Loc loc, ExternalBuffer& made) {
  if (needs.memory.size > from.bytes)
    usage_error(op,
                "the handle is of " + std::to_string(from.bytes) + " bytes and a buffer of " +
                    std::to_string(made.bytes) + " takes " + std::to_string(needs.memory.size) +
                    " here; pass the allocationSize of who has allocated it",
                loc);
  made.handle.memory_type =
      from.memory_type != MemoryHandle::any_type
          ? from.memory_type
          : device.memory_type(needs.memory.memoryTypeBits, MemoryKind::device);
  if (made.handle.memory_type >= 32 ||
      !(needs.memory.memoryTypeBits >> made.handle.memory_type & 1))
    usage_error(op,
                "the handle is of memory of type " + std::to_string(made.handle.memory_type) +
                    " and such a buffer can have those of " + hex(needs.memory.memoryTypeBits) +
                    ", a bit for each; allocate it for a buffer that has the usage " +
                    "STORAGE_BUFFER and TRANSFER_SRC and _DST",
                loc);
  if ((needs.dedicated || only_dedicated) && !from.dedicated)
    usage_error(
        op,
        "the device \"" + device.description().name +
            "\" imports memory that was allocated for one buffer alone, and the handle is "
            "not of such; allocate it with VkMemoryDedicatedAllocateInfo and say `dedicated`",
        loc);
}

}  // namespace

ExternalBuffer::~ExternalBuffer() {
  if (buffer == VK_NULL_HANDLE) return;
  device->vk().vkDestroyBuffer(device->handle(), buffer, nullptr);
  device->vk().vkFreeMemory(device->handle(), memory, nullptr);
}

void make_external(Device& device, const ExternalUse& use, std::uint64_t bytes, HandleKind kind,
                   Loc loc, ExternalBuffer& made) {
  const VkExternalMemoryFeatureFlags features =
      features_of(device, use, kind, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT, loc);
  const std::uint64_t rounded =
      (std::max<std::uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  const Needs needs = create_buffer(device, use, rounded, kind, made);
  made.handle.kind = kind;
  made.handle.bytes = needs.memory.size;
  made.handle.memory_type = device.memory_type(needs.memory.memoryTypeBits, MemoryKind::device);
  made.handle.dedicated = needs.dedicated || needs.prefers_dedicated ||
                          features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
  made.handle.device = identity_of(device);
  if (made.handle.memory_type == ~0u)
    device.failed(VK_ERROR_FEATURE_NOT_PRESENT, "vkAllocateMemory");
  auto exported = make<VkExportMemoryAllocateInfo>(VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
  exported.handleTypes = kind_of(device, kind).bit;
  device.check(allocate(device, use, &exported, made), "vkAllocateMemory");
}

void import_external(Device& device, const ExternalUse& use, const MemoryHandle& from, Loc loc,
                     ExternalBuffer& made) {
  const VkExternalMemoryFeatureFlags features =
      features_of(device, use, from.kind, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT, loc);
  const std::array<std::uint8_t, 32> here = identity_of(device);
  if (from.device != std::array<std::uint8_t, 32>{} && from.device != here)
    usage_error(op,
                "the handle comes from another device or driver than \"" +
                    device.description().name + "\"; copy by to_host and from_host",
                loc);
  if (from.bytes < alignment)
    usage_error(op,
                "the handle is of " + std::to_string(from.bytes) +
                    " bytes, and less than 256 hold no array; pass the allocationSize of who has "
                    "allocated it",
                loc);
  const std::uint64_t whole = from.bytes / alignment * alignment;
  const Needs needs = create_buffer(device, use, whole, from.kind, made);
  made.handle = from;
  check_import(device, from, needs, features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT, loc,
               made);
  VkResult result = VK_SUCCESS;
  if (from.kind == HandleKind::opaque_fd) {
    Descriptor own(from.fd, loc);
    auto info = make<VkImportMemoryFdInfoKHR>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    info.fd = own.get();
    // What fails behind vkAllocateMemory throws, and the descriptor goes with the memory.
    struct Taken {
      ~Taken() {
        if (made.memory != VK_NULL_HANDLE) own.taken();
      }
      const ExternalBuffer& made;
      Descriptor& own;
    };
    const Taken taken{made, own};
    result = allocate(device, use, &info, made);
  } else {
    if (from.win32 == nullptr)
      usage_error(op, "the handle of Windows is null; pass the one that was exported", loc);
    auto info = make<ImportWin32HandleInfo>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR);
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT;
    info.handle = from.win32;
    result = allocate(device, use, &info, made);
  }
  if (result == VK_ERROR_INVALID_EXTERNAL_HANDLE)
    usage_error(
        op,
        "the device \"" + device.description().name +
            "\" does not take the handle (VK_ERROR_INVALID_EXTERNAL_HANDLE), which is of no "
            "memory of its own, or of another size; pass one that this driver exported",
        loc);
  device.check(result, "vkAllocateMemory");
}

void take(const MemoryHandle& from) noexcept {
#ifndef _WIN32
  if (from.kind == HandleKind::opaque_fd) ::close(from.fd);
#else
  (void)from;
#endif
}

void export_handle(Device& device, VkDeviceMemory memory, MemoryHandle& handle) {
  const DeviceTable& vk = device.vk();
  device.require();
  if (handle.kind == HandleKind::opaque_fd) {
    auto info = make<VkMemoryGetFdInfoKHR>(VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR);
    info.memory = memory;
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    device.check(vk.vkGetMemoryFdKHR(device.handle(), &info, &handle.fd), "vkGetMemoryFdKHR");
    return;
  }
  auto info = make<GetWin32HandleInfo>(VK_STRUCTURE_TYPE_MEMORY_GET_WIN32_HANDLE_INFO_KHR);
  info.memory = memory;
  info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT;
  device.check(vk.vkGetMemoryWin32HandleKHR(device.handle(), &info, &handle.win32),
               "vkGetMemoryWin32HandleKHR");
}

Handover::Handover(Device& device, VkBuffer buffer) : device_(device) {
  pool_ = create_command_pool(device_, 0);
  try {
    release_ = record(buffer, true);
    acquire_ = record(buffer, false);
  } catch (...) {
    forget();
    throw;
  }
}

void Handover::forget() noexcept {
  if (pool_ != VK_NULL_HANDLE) device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
  pool_ = VK_NULL_HANDLE;
}

// A transfer between families: the one outside of this instance stands for everybody else.
VkCommandBuffer Handover::record(VkBuffer buffer, bool release) {
  const DeviceTable& vk = device_.vk();
  const VkCommandBuffer commands = allocate_commands(device_, pool_);
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr,
                                       VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, nullptr};
  device_.check(vk.vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  const VkPipelineStageFlags work =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  auto barrier = make<VkBufferMemoryBarrier>(VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER);
  barrier.srcAccessMask = release ? VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT : 0;
  barrier.dstAccessMask = release ? 0
                                  : VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                        VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                                        VK_ACCESS_HOST_READ_BIT;
  barrier.srcQueueFamilyIndex = release ? device_.queue_family() : VK_QUEUE_FAMILY_EXTERNAL;
  barrier.dstQueueFamilyIndex = release ? VK_QUEUE_FAMILY_EXTERNAL : device_.queue_family();
  barrier.buffer = buffer;
  barrier.size = VK_WHOLE_SIZE;
  const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  vk.vkCmdPipelineBarrier(commands, release ? work : all,
                          release ? all : work | VK_PIPELINE_STAGE_HOST_BIT, 0, 0, nullptr, 1,
                          &barrier, 0, nullptr);
  device_.check(vk.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  return commands;
}

}  // namespace gnomon::vulkan
