// tests/vulkan/app.cpp -- the application's own Vulkan.
#include "tests/vulkan/app.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/vulkan/log.h"

namespace gnomon::testing {
namespace {

constexpr const char* layer = "VK_LAYER_KHRONOS_validation";

void check(VkResult result, const char* call) {
  if (result != VK_SUCCESS)
    throw std::runtime_error(std::string(call) + ": " + std::to_string(result));
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data,
                                          void* user) {
  if (!vulkan::is_about_driver(data->pMessage))
    static_cast<std::vector<std::string>*>(user)->push_back(data->pMessage);
  return VK_FALSE;
}

}  // namespace

App::App(const AppOptions& options)
    : get_(vulkan::find_loader()), api_version_(options.api_version) {
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = options.api_version;
  VkValidationFeatureEnableEXT synchronization =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT validation{};
  validation.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  validation.enabledValidationFeatureCount = 1;
  validation.pEnabledValidationFeatures = &synchronization;
  const char* const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                    VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (options.validate) {
    info.pNext = &validation;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
  }
  check(function<PFN_vkCreateInstance>("vkCreateInstance")(&info, nullptr, &instance_),
        "vkCreateInstance");
  VkDebugUtilsMessengerCreateInfoEXT messenger{};
  messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  messenger.pUserData = &messages_;
  if (options.validate)
    check(function<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT")(
              instance_, &messenger, nullptr, &messenger_),
          "vkCreateDebugUtilsMessengerEXT");

  std::uint32_t count = 1;
  const VkResult found = function<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(
      instance_, &count, &physical_);
  if (found != VK_SUCCESS && found != VK_INCOMPLETE) check(found, "vkEnumeratePhysicalDevices");
  VkPhysicalDeviceProperties properties;
  function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(physical_,
                                                                               &properties);
  features_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  addresses_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
  timelines_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
  if (options.features || options.timeline) {
    // Structures of 1.2 mean nothing to a device of 1.1.
    if (std::min(options.api_version, properties.apiVersion) >= VK_API_VERSION_1_2) {
      features_.pNext = &addresses_;
      addresses_.pNext = &timelines_;
    }
    function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(physical_,
                                                                               &features_);
    features_.features.robustBufferAccess = VK_FALSE;
    addresses_.bufferDeviceAddressCaptureReplay = VK_FALSE;
    addresses_.bufferDeviceAddressMultiDevice = VK_FALSE;
    timeline_ = options.timeline && timelines_.timelineSemaphore == VK_TRUE;
    if (!options.timeline) timelines_.timelineSemaphore = VK_FALSE;
    if (!options.features) features_.features = {}, addresses_.bufferDeviceAddress = VK_FALSE;
  }
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo device{};
  device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  device.pNext = &features_;
  device.queueCreateInfoCount = 1;
  device.pQueueCreateInfos = &queue;
  if (options.external_fd) extensions_.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  device.enabledExtensionCount = static_cast<std::uint32_t>(extensions_.size());
  device.ppEnabledExtensionNames = extensions_.data();
  check(function<PFN_vkCreateDevice>("vkCreateDevice")(physical_, &device, nullptr, &device_),
        "vkCreateDevice");
  function<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(device_, 0, 0, &queue_);
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  check(function<PFN_vkCreateCommandPool>("vkCreateCommandPool")(device_, &pool, nullptr, &pool_),
        "vkCreateCommandPool");
}

App::~App() {
  wait_idle();
  for (const VkSemaphore s : semaphores_)
    function<PFN_vkDestroySemaphore>("vkDestroySemaphore")(device_, s, nullptr);
  for (const VkBuffer b : buffers_)
    function<PFN_vkDestroyBuffer>("vkDestroyBuffer")(device_, b, nullptr);
  for (const VkDeviceMemory m : memories_)
    function<PFN_vkFreeMemory>("vkFreeMemory")(device_, m, nullptr);
  function<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(device_, pool_, nullptr);
  function<PFN_vkDestroyDevice>("vkDestroyDevice")(device_, nullptr);
  if (messenger_ != VK_NULL_HANDLE)
    function<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT")(
        instance_, messenger_, nullptr);
  function<PFN_vkDestroyInstance>("vkDestroyInstance")(instance_, nullptr);
}

VulkanDevice App::described() const {
  VulkanDevice d;
  d.get_instance_proc_addr = get_;
  d.instance = instance_;
  d.physical_device = physical_;
  d.device = device_;
  d.queue = queue_;
  d.queue_family = family_;
  d.api_version = api_version_;
  d.extensions = extensions_;
  d.features = &features_;
  return d;
}

std::uint32_t App::memory_type(std::uint32_t allowed) const {
  const VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkPhysicalDeviceMemoryProperties p;
  function<PFN_vkGetPhysicalDeviceMemoryProperties>("vkGetPhysicalDeviceMemoryProperties")(
      physical_, &p);
  for (std::uint32_t i = 0; i < p.memoryTypeCount; ++i)
    if (allowed >> i & 1 && (p.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  throw std::runtime_error("no mapped memory");
}

VulkanBuffer App::buffer(std::uint64_t bytes, VkBufferUsageFlags usage) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = usage;
  VulkanBuffer made;
  made.bytes = bytes;
  made.usage = usage;
  check(function<PFN_vkCreateBuffer>("vkCreateBuffer")(device_, &info, nullptr, &made.buffer),
        "vkCreateBuffer");
  buffers_.push_back(made.buffer);
  VkMemoryRequirements needs;
  function<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(device_, made.buffer,
                                                                               &needs);
  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  if (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) memory.pNext = &flags;
  memory.allocationSize = needs.size;
  memory.memoryTypeIndex = memory_type(needs.memoryTypeBits);
  VkDeviceMemory block = VK_NULL_HANDLE;
  check(function<PFN_vkAllocateMemory>("vkAllocateMemory")(device_, &memory, nullptr, &block),
        "vkAllocateMemory");
  memories_.push_back(block);
  check(function<PFN_vkBindBufferMemory>("vkBindBufferMemory")(device_, made.buffer, block, 0),
        "vkBindBufferMemory");
  check(function<PFN_vkMapMemory>("vkMapMemory")(device_, block, 0, VK_WHOLE_SIZE, 0, &made.mapped),
        "vkMapMemory");
  std::memset(made.mapped, 0, bytes);
  return made;
}

VkSemaphore App::semaphore(bool timeline) {
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  if (timeline) info.pNext = &type;
  VkSemaphore made = VK_NULL_HANDLE;
  check(function<PFN_vkCreateSemaphore>("vkCreateSemaphore")(device_, &info, nullptr, &made),
        "vkCreateSemaphore");
  semaphores_.push_back(made);
  return made;
}

void App::destroy(const VulkanBuffer& b) {
  std::erase(buffers_, b.buffer);  // its memory stays until the end
  function<PFN_vkDestroyBuffer>("vkDestroyBuffer")(device_, b.buffer, nullptr);
}

void App::signal(VkSemaphore line, std::uint64_t value) {
  VkSemaphoreSignalInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
  info.semaphore = line;
  info.value = value;
  check(function<PFN_vkSignalSemaphore>("vkSignalSemaphore")(device_, &info), "vkSignalSemaphore");
}

VkCommandBuffer App::begin() {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(
      function<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(device_, &info, &commands),
      "vkAllocateCommandBuffers");
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  check(function<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, &begin),
        "vkBeginCommandBuffer");
  return commands;
}

void App::end(VkCommandBuffer commands) {
  // What was computed, for the host.
  const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                               VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
  function<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(
      commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0,
      nullptr, 0, nullptr);
  check(function<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands), "vkEndCommandBuffer");
}

void App::submit(VkCommandBuffer commands, std::span<const VkSemaphore> waits,
                 std::span<const VkSemaphore> signals) {
  const std::vector<VkPipelineStageFlags> stages(waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.waitSemaphoreCount = static_cast<std::uint32_t>(waits.size());
  info.pWaitSemaphores = waits.data();
  info.pWaitDstStageMask = stages.data();
  info.commandBufferCount = commands != VK_NULL_HANDLE ? 1 : 0;
  info.pCommandBuffers = &commands;
  info.signalSemaphoreCount = static_cast<std::uint32_t>(signals.size());
  info.pSignalSemaphores = signals.data();
  check(function<PFN_vkQueueSubmit>("vkQueueSubmit")(queue_, 1, &info, VK_NULL_HANDLE),
        "vkQueueSubmit");
}

void App::wait_idle() { function<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(queue_); }

}  // namespace gnomon::testing
