// tests/bench/vk.cpp -- bare Vulkan for the opponents.
#include "vk.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <stdexcept>

namespace bench::vk {
namespace {

void check(VkResult result, const char* call) {
  if (result != VK_SUCCESS)
    throw std::runtime_error(std::string("bench: ") + call + " returned VkResult " +
                             std::to_string(result));
}

std::string version(uint32_t v) {
  return std::to_string(VK_API_VERSION_MAJOR(v)) + "." + std::to_string(VK_API_VERSION_MINOR(v)) +
         "." + std::to_string(VK_API_VERSION_PATCH(v));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

VkPhysicalDeviceProperties properties_of(VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(device, &properties);
  return properties;
}

int rank_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 3;
    default:
      return 4;
  }
}

int compute_family(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; i++)
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) return static_cast<int>(i);
  return -1;
}

/// Whether GNOMON_DEVICE, an index or part of a name, picks this device; empty picks all.
bool matches(const std::string& wanted, size_t index, VkPhysicalDevice device) {
  const bool is_index = !wanted.empty() && std::all_of(wanted.begin(), wanted.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
  if (is_index) return wanted == std::to_string(index);
  return lower(properties_of(device).deviceName).find(lower(wanted)) != std::string::npos;
}

VkPhysicalDevice select_device(const std::vector<VkPhysicalDevice>& devices) {
  const char* variable = std::getenv("GNOMON_DEVICE");
  const std::string wanted = variable ? variable : "";
  VkPhysicalDevice best = VK_NULL_HANDLE;
  std::string listed;
  for (size_t i = 0; i < devices.size(); i++) {
    const VkPhysicalDeviceProperties properties = properties_of(devices[i]);
    listed += (i ? ", " : "") + std::to_string(i) + " \"" + properties.deviceName + "\"";
    if (!matches(wanted, i, devices[i]) || properties.apiVersion < VK_API_VERSION_1_1 ||
        compute_family(devices[i]) < 0)
      continue;
    if (!best || rank_of(properties.deviceType) < rank_of(properties_of(best).deviceType))
      best = devices[i];
  }
  if (!best)
    throw std::runtime_error("bench: no device with Vulkan 1.1 and a compute queue fits `" +
                             wanted + "`, there are: " + (listed.empty() ? "none" : listed) +
                             "; set GNOMON_DEVICE to one of them or install a driver");
  return best;
}

uint32_t memory_type(VkPhysicalDevice device, uint32_t allowed) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(device, &memory);
  constexpr VkMemoryPropertyFlags needed =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (VkMemoryPropertyFlags wanted : {needed | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, needed})
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
      if ((allowed >> i & 1u) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  throw std::runtime_error("bench: the device has no memory that the host sees");
}

VkDescriptorType descriptor_type(Access access) {
  return access == Access::Texels    ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER
         : access == Access::Uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                     : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

}  // namespace

Device::Device() {
  check(volkInitialize(), "volkInitialize (is a Vulkan loader installed?)");
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "gnomon_bench";
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  create.pApplicationInfo = &application;
  check(vkCreateInstance(&create, nullptr, &instance_), "vkCreateInstance");
  volkLoadInstance(instance_);
  choose();

  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo device{};
  device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  device.queueCreateInfoCount = 1;
  device.pQueueCreateInfos = &queue;
  VkPhysicalDeviceFeatures features{};
  features.shaderInt64 = info_.int64;
  device.pEnabledFeatures = &features;
  check(vkCreateDevice(physical_, &device, nullptr, &device_), "vkCreateDevice");
  vkGetDeviceQueue(device_, family_, 0, &queue_);
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = family_;
  check(vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
}

void Device::choose() {
  uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(instance_, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  check(vkEnumeratePhysicalDevices(instance_, &count, devices.data()),
        "vkEnumeratePhysicalDevices");
  physical_ = select_device(devices);
  family_ = static_cast<uint32_t>(compute_family(physical_));

  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &driver;
  vkGetPhysicalDeviceProperties2(physical_, &all);
  const VkPhysicalDeviceProperties& properties = all.properties;
  info_.name = properties.deviceName;
  info_.driver = std::string(driver.driverName) + " " + driver.driverInfo;
  info_.api = version(properties.apiVersion);
  info_.cpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  info_.max_texels = properties.limits.maxTexelBufferElements;
  info_.max_groups = properties.limits.maxComputeWorkGroupCount[0];
  VkPhysicalDeviceFeatures features{};
  vkGetPhysicalDeviceFeatures(physical_, &features);
  info_.int64 = features.shaderInt64 == VK_TRUE;
}

Device::~Device() {
  if (pool_) vkDestroyCommandPool(device_, pool_, nullptr);
  if (device_) vkDestroyDevice(device_, nullptr);
  if (instance_) vkDestroyInstance(instance_, nullptr);
}

Buffer::Buffer(const Device& device, size_t floats, VkFormat texels)
    : device_(device), floats_(floats) {
  const bool fits_texels = floats % 4 == 0 && floats / 4 <= device.info().max_texels;
  VkBufferCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  create.size = floats * sizeof(float);
  if (fits_texels) usage_ |= VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
  create.usage = usage_;
  check(vkCreateBuffer(device.handle(), &create, nullptr, &buffer_), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device.handle(), buffer_, &needs);
  VkMemoryAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = memory_type(device.physical(), needs.memoryTypeBits);
  check(vkAllocateMemory(device.handle(), &allocate, nullptr, &memory_), "vkAllocateMemory");
  check(vkBindBufferMemory(device.handle(), buffer_, memory_, 0), "vkBindBufferMemory");
  void* mapped = nullptr;
  check(vkMapMemory(device.handle(), memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
  mapped_ = static_cast<float*>(mapped);
  if (!fits_texels) return;
  VkBufferViewCreateInfo view{};
  view.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
  view.buffer = buffer_;
  view.format = texels;
  view.range = VK_WHOLE_SIZE;
  check(vkCreateBufferView(device.handle(), &view, nullptr, &texels_), "vkCreateBufferView");
}

Buffer::~Buffer() {
  vkDestroyBufferView(device_.handle(), texels_, nullptr);
  vkDestroyBuffer(device_.handle(), buffer_, nullptr);
  vkFreeMemory(device_.handle(), memory_, nullptr);
}

Kernel::Kernel(const Device& device, const KernelSpec& spec)
    : device_(device), bindings_(spec.bindings) {
  VkShaderModuleCreateInfo module{};
  module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module.codeSize = spec.spirv.size_bytes();
  module.pCode = spec.spirv.data();
  check(vkCreateShaderModule(device.handle(), &module, nullptr, &module_), "vkCreateShaderModule");

  std::vector<VkDescriptorSetLayoutBinding> slots(bindings_.size());
  for (size_t i = 0; i < slots.size(); i++) {
    slots[i].binding = static_cast<uint32_t>(i);
    slots[i].descriptorType = descriptor_type(bindings_[i]);
    slots[i].descriptorCount = 1;
    slots[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = static_cast<uint32_t>(slots.size());
  set.pBindings = slots.data();
  check(vkCreateDescriptorSetLayout(device.handle(), &set, nullptr, &set_layout_),
        "vkCreateDescriptorSetLayout");

  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, spec.push_bytes};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  layout.pushConstantRangeCount = spec.push_bytes ? 1 : 0;
  layout.pPushConstantRanges = &push;
  check(vkCreatePipelineLayout(device.handle(), &layout, nullptr, &layout_),
        "vkCreatePipelineLayout");

  const VkSpecializationMapEntry entry{0, 0, sizeof(uint32_t)};
  const VkSpecializationInfo specialization{1, &entry, sizeof(uint32_t), &spec.group_size};
  VkComputePipelineCreateInfo pipeline{};
  pipeline.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline.stage.module = module_;
  pipeline.stage.pName = "main";
  pipeline.stage.pSpecializationInfo = &specialization;
  pipeline.layout = layout_;
  check(
      vkCreateComputePipelines(device.handle(), VK_NULL_HANDLE, 1, &pipeline, nullptr, &pipeline_),
      "vkCreateComputePipelines");
}

Kernel::~Kernel() {
  vkDestroyPipeline(device_.handle(), pipeline_, nullptr);
  vkDestroyPipelineLayout(device_.handle(), layout_, nullptr);
  vkDestroyDescriptorSetLayout(device_.handle(), set_layout_, nullptr);
  vkDestroyShaderModule(device_.handle(), module_, nullptr);
}

Groups fold_groups(const Device& device, uint32_t items, uint32_t size) {
  const uint32_t groups = (items + size - 1) / size;
  const uint32_t rows = (groups + device.info().max_groups - 1) / device.info().max_groups;
  return {(groups + rows - 1) / rows, rows};
}

Recording::Recording(const Device& device, const std::vector<Dispatch>& dispatches)
    : device_(device) {
  uint32_t slots = 1;
  for (const Dispatch& d : dispatches) slots += static_cast<uint32_t>(d.buffers.size());
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, slots},
                                        {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, slots},
                                        {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, slots}};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = static_cast<uint32_t>(dispatches.size());
  pool.poolSizeCount = 3;
  pool.pPoolSizes = sizes;
  check(vkCreateDescriptorPool(device.handle(), &pool, nullptr, &sets_), "vkCreateDescriptorPool");

  VkCommandBufferAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocate.commandPool = device.pool();
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(device.handle(), &allocate, &commands_),
        "vkAllocateCommandBuffers");
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  check(vkBeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");

  for (size_t i = 0; i < dispatches.size(); i++) {
    const Dispatch& d = dispatches[i];
    const VkDescriptorSetLayout set_layout = d.kernel->set_layout();
    VkDescriptorSetAllocateInfo set_info{};
    set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    set_info.descriptorPool = sets_;
    set_info.descriptorSetCount = 1;
    set_info.pSetLayouts = &set_layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    check(vkAllocateDescriptorSets(device.handle(), &set_info, &set), "vkAllocateDescriptorSets");
    for (size_t slot = 0; slot < d.buffers.size(); slot++) {
      const VkDescriptorBufferInfo buffer{d.buffers[slot]->handle(), 0, VK_WHOLE_SIZE};
      const VkBufferView texels = d.buffers[slot]->texels();
      VkWriteDescriptorSet write{};
      write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      write.dstSet = set;
      write.dstBinding = static_cast<uint32_t>(slot);
      write.descriptorCount = 1;
      write.descriptorType = descriptor_type(d.kernel->bindings()[slot]);
      write.pBufferInfo = &buffer;
      write.pTexelBufferView = &texels;
      vkUpdateDescriptorSets(device.handle(), 1, &write, 0, nullptr);
    }
    vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, d.kernel->pipeline());
    vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, d.kernel->layout(), 0, 1,
                            &set, 0, nullptr);
    if (!d.push.empty())
      vkCmdPushConstants(commands_, d.kernel->layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                         static_cast<uint32_t>(d.push.size() * sizeof(uint32_t)), d.push.data());
    vkCmdDispatch(commands_, d.groups_x, d.groups_y, 1);
    const bool last = i + 1 == dispatches.size();
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = last ? VK_ACCESS_HOST_READ_BIT : VK_ACCESS_SHADER_READ_BIT;
    vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         last ? VK_PIPELINE_STAGE_HOST_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         0, 1, &barrier, 0, nullptr, 0, nullptr);
  }
  check(vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
  VkFenceCreateInfo fence{};
  fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  check(vkCreateFence(device.handle(), &fence, nullptr, &fence_), "vkCreateFence");
}

Recording::~Recording() {
  vkDestroyFence(device_.handle(), fence_, nullptr);
  vkFreeCommandBuffers(device_.handle(), device_.pool(), 1, &commands_);
  vkDestroyDescriptorPool(device_.handle(), sets_, nullptr);
}

void Recording::run() {
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands_;
  check(vkQueueSubmit(device_.queue(), 1, &submit, fence_), "vkQueueSubmit");
  check(vkWaitForFences(device_.handle(), 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  check(vkResetFences(device_.handle(), 1, &fence_), "vkResetFences");
}

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

}  // namespace bench::vk
