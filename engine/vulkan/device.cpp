// engine/vulkan/device.cpp -- creating the logical device with the features its Target promises.
#include "engine/vulkan/device.h"

#include <algorithm>
#include <vector>

#include "engine/vulkan/quirks.h"
#include "engine/vulkan/result.h"
#include "gnomon/device_lost.h"

namespace gnomon::vulkan {

Device::Device(const DeviceOptions& options)
    : options_(options),
      instance_({.validate = options.validate,
                 .log = options.log,
                 .labels = options.labels,
                 .adopted = options.adopted,
                 .get_instance_proc_addr = options.get_instance_proc_addr}) {
  choose();
  const DeviceDescription& d = physical_.description;
  target_ = target_of(d);
  if (options.minimum_target) {
    // What is no capability to do without but a fault to work around stays.
    const std::uint64_t budget = target_.loop_budget;
    target_ = Target::minimum();
    target_.loop_budget = budget;
  }

  max_window_bytes_ =
      std::min({target_.max_storage_range, d.max_allocation_bytes, d.max_buffer_bytes});
  if (target_.texel_reads)
    max_window_bytes_ = std::min(max_window_bytes_, target_.max_texel_elements * 16);
  if (options.window_bytes != 0)
    max_window_bytes_ =
        std::min(max_window_bytes_, std::max<std::uint64_t>(options.window_bytes, 256));
  max_window_bytes_ &= ~std::uint64_t{255};
  // Without addresses an array may take all windows of a kernel.
  max_block_bytes_ = std::min(d.max_allocation_bytes, d.max_buffer_bytes) & ~std::uint64_t{255};
  if (!target_.features.addresses)
    max_block_bytes_ = std::min(max_block_bytes_, spirv::max_windows * max_window_bytes_);

  instance_.vk().memory_properties(physical_.handle, &memory_);
  const VkMemoryPropertyFlags shared = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                       VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                       VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  // Discrete devices map their memory through a window that the host reads a byte at a time; they
  // stage.
  unified_ =
      !options.force_staging && d.kind != DeviceDescription::Kind::discrete &&
      std::any_of(memory_.memoryTypes, memory_.memoryTypes + memory_.memoryTypeCount,
                  [&](const VkMemoryType& t) { return (t.propertyFlags & shared) == shared; });
  try {
    if (adopted()) {
      device_ = options_.adopted->device.device;
      queue_ = options_.adopted->device.queue;
      vk_ = instance_.device_table(device_);
    } else {
      create_device();
    }
    create_layouts();
  } catch (...) {
    destroy();
    throw;
  }
  look_at_queue();
}

Device::~Device() { destroy(); }

void Device::look_at_queue() {
  // Validation is for those who look closely, and sees whether labels are right.
  labels_ =
      (options_.labels || instance_.validating()) && vk_.vkCmdBeginDebugUtilsLabelEXT != nullptr &&
      vk_.vkCmdEndDebugUtilsLabelEXT != nullptr && vk_.vkSetDebugUtilsObjectNameEXT != nullptr;
  VkPhysicalDeviceProperties properties;
  instance_.vk().physical_device_properties(physical_.handle, &properties);
  timestamp_ns_ = static_cast<double>(properties.limits.timestampPeriod);
  std::uint32_t count = 0;
  instance_.vk().queue_family_properties(physical_.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  instance_.vk().queue_family_properties(physical_.handle, &count, families.data());
  timestamp_bits_ = families.at(physical_.queue_family).timestampValidBits;
}

void Device::name(VkObjectType type, std::uint64_t object, const char* name) const {
  if (!labels_) return;
  auto info =
      make<VkDebugUtilsObjectNameInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT);
  info.objectType = type;
  info.objectHandle = object;
  info.pObjectName = name;
  vk_.vkSetDebugUtilsObjectNameEXT(device_, &info);
}

void Device::choose() {
  if (options_.adopted) {
    physical_ = instance_.adopted_device(*options_.adopted);
    return;
  }
  const auto devices = instance_.physical_devices();
  std::vector<DeviceDescription> descriptions;
  for (const auto& device : devices) descriptions.push_back(device.description);
  physical_ = devices[select_device(descriptions, options_.wanted)];
}

void Device::destroy() noexcept {
  if (device_ == VK_NULL_HANDLE || vk_.vkDestroyDevice == nullptr) return;
  vk_.vkDestroyPipelineLayout(device_, pipeline_layout_, nullptr);
  vk_.vkDestroyDescriptorSetLayout(device_, set_layout_, nullptr);
  if (!adopted()) vk_.vkDestroyDevice(device_, nullptr);
  pipeline_layout_ = VK_NULL_HANDLE;
  set_layout_ = VK_NULL_HANDLE;
  device_ = VK_NULL_HANDLE;
}

void Device::make_again() {
  destroy();
  try {
    create_device();
    create_layouts();
  } catch (...) {
    destroy();
    throw;
  }
}

void Device::failed(VkResult result, const char* call) {
  if (result != VK_ERROR_DEVICE_LOST) fail(result, call);
  std::string told;
  {
    const std::lock_guard lock(lost_mutex_);
    if (!lost()) {
      const char* const remedy =
          adopted() ? "the application has to make it again: destroy this Runtime, then adopt the "
                      "new device"
                    : "Runtime::recover() makes it again";
      lost_text_ = told = "gnomon::Runtime: the device \"" + description().name +
                          "\" is lost: " + call + " failed: " + describe(result) + "; " + remedy;
      lost_.store(true, std::memory_order_release);
    }
  }
  if (!told.empty() && options_.notices) options_.notices->write(told);
  refuse();
}

void Device::refuse() const {
  std::string text;
  {
    const std::lock_guard lock(lost_mutex_);
    text = lost_text_;
  }
  throw DeviceLost(text);
}

bool Device::has_version(std::uint32_t minor) const {
  const DeviceDescription& d = physical_.description;
  return (d.api_major > 1 || d.api_minor >= minor) &&
         instance_.api_version() >= VK_MAKE_API_VERSION(0, 1, minor, 0);
}

std::vector<const char*> Device::wanted_extensions() const {
  const DeviceDescription& d = physical_.description;
  const bool vulkan12 = has_version(2), vulkan13 = has_version(3);
  std::vector<const char*> r;
  if (d.storage8 && !vulkan12) {
    r.push_back(VK_KHR_STORAGE_BUFFER_STORAGE_CLASS_EXTENSION_NAME);
    r.push_back(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  }
  if ((d.float16 || d.int8) && !vulkan12) r.push_back(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  if (target_.features.addresses && !vulkan12)
    r.push_back(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
  if (d.float_controls && !vulkan12) r.push_back(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  if (d.creation_feedback && !vulkan13)
    r.push_back(VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
  if (d.external_fd) r.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  if (d.external_win32) r.push_back("VK_KHR_external_memory_win32");
  // A portability driver requires that its subset is enabled by name.
  if (instance_.has_extension(physical_.handle, "VK_KHR_portability_subset"))
    r.push_back("VK_KHR_portability_subset");
  return r;
}

void Device::create_device() {
  const DeviceDescription& d = physical_.description;
  auto features = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.features.shaderInt16 = d.int16;
  features.features.shaderInt64 = d.int64;
  features.features.shaderFloat64 = d.float64;
  auto storage16 = make<VkPhysicalDevice16BitStorageFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  storage16.storageBuffer16BitAccess = d.storage16;
  auto storage8 = make<VkPhysicalDevice8BitStorageFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  storage8.storageBuffer8BitAccess = d.storage8;
  auto small = make<VkPhysicalDeviceShaderFloat16Int8Features>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  small.shaderFloat16 = d.float16;
  small.shaderInt8 = d.int8;
  auto addresses = make<VkPhysicalDeviceBufferDeviceAddressFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
  addresses.bufferDeviceAddress = VK_TRUE;

  features.pNext = &storage16;
  void** tail = &storage16.pNext;
  const auto append = [&](auto& next) {
    *tail = &next;
    tail = &next.pNext;
  };
  if (d.storage8) append(storage8);
  if (d.float16 || d.int8) append(small);
  if (target_.features.addresses) append(addresses);

  const std::vector<const char*> extensions = wanted_extensions();
  const float priority = 1.0f;
  auto queue = make<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = physical_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto info = make<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  vulkan::check(instance_.vk().create_device(physical_.handle, &info, nullptr, &device_),
                "vkCreateDevice");
  try {
    vk_ = instance_.device_table(device_);
  } catch (...) {
    const auto destroy_device = reinterpret_cast<PFN_vkDestroyDevice>(
        instance_.vk().device_proc_addr(device_, "vkDestroyDevice"));
    if (destroy_device != nullptr) destroy_device(device_, nullptr);
    device_ = VK_NULL_HANDLE;
    throw;
  }
  vk_.vkGetDeviceQueue(device_, physical_.queue_family, 0, &queue_);
}

std::uint64_t Device::address(VkBuffer buffer) const {
  auto info = make<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
  info.buffer = buffer;
  return vk_.vkGetBufferDeviceAddress(device_, &info);
}

void Device::create_layouts() {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  const auto bind = [&](unsigned first, VkDescriptorType type, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      bindings.push_back({first + i, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    }
  };
  bind(spirv::parameter_binding, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1);
  bind(spirv::first_window_binding, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, spirv::max_windows);
  if (target_.texel_reads) {
    bind(spirv::first_texel_binding, VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, spirv::max_windows);
  }
  auto set =
      make<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = static_cast<std::uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  vulkan::check(vk_.vkCreateDescriptorSetLayout(device_, &set, nullptr, &set_layout_),
                "vkCreateDescriptorSetLayout");
  auto layout = make<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  const VkPushConstantRange identity{VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * spirv::identity_words};
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &identity;
  vulkan::check(vk_.vkCreatePipelineLayout(device_, &layout, nullptr, &pipeline_layout_),
                "vkCreatePipelineLayout");
  counters_.objects += 2;
}

std::uint32_t Device::memory_type(std::uint32_t allowed, MemoryKind kind) const {
  const VkMemoryPropertyFlags host =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkMemoryPropertyFlags required = 0, preferred = 0;
  switch (kind) {
    case MemoryKind::device:
      required = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | (unified_ ? host : 0);
      preferred = unified_ ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : 0;
      break;
    case MemoryKind::upload:
      required = host;
      preferred = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
      break;
    case MemoryKind::staging:
      required = host;
      preferred = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
      break;
  }
  std::uint32_t found = ~0u;
  for (std::uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
    if (!(allowed >> i & 1) || (flags & required) != required) continue;
    if ((flags & preferred) == preferred) return i;
    if (found == ~0u) found = i;
  }
  return found;
}

}  // namespace gnomon::vulkan
