// samples/own_device/app.cpp -- bare Vulkan: what such an application has anyway.
#include "samples/own_device/app.h"

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "samples/own_device/shaders.h"

namespace own_device {
namespace {

void check(VkResult result, const char* call) {
  if (result != VK_SUCCESS)
    throw std::runtime_error(std::string(call) + " failed: " + std::to_string(result));
}

template <class T>
T make(VkStructureType type) {
  T value{};
  value.sType = type;
  return value;
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data,
                                          void* count) {
  ++*static_cast<int*>(count);
  std::fprintf(stderr, "validation: %s\n", data->pMessage);
  return VK_FALSE;
}

std::uint32_t memory_type(VkPhysicalDevice physical, std::uint32_t allowed,
                          VkMemoryPropertyFlags wanted) {
  VkPhysicalDeviceMemoryProperties p;
  vkGetPhysicalDeviceMemoryProperties(physical, &p);
  for (std::uint32_t i = 0; i < p.memoryTypeCount; ++i)
    if (allowed >> i & 1 && (p.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  throw std::runtime_error("the device has no memory of the kind that is needed");
}

}  // namespace

App::App(bool validate) {
  make_instance(validate);
  make_device();
  make_target();
  make_pipeline();
  picture_ = buffer(std::uint64_t{4} * size * size, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
}

App::~App() {
  vkDeviceWaitIdle(device);
  for (const Buffer& b : buffers_) {
    vkDestroyBuffer(device, b.buffer, nullptr);
    vkFreeMemory(device, b.memory, nullptr);
  }
  vkDestroyPipeline(device, pipeline_, nullptr);
  vkDestroyPipelineLayout(device, layout_, nullptr);
  vkDestroyFramebuffer(device, framebuffer_, nullptr);
  vkDestroyRenderPass(device, pass_, nullptr);
  vkDestroyImageView(device, view_, nullptr);
  vkDestroyImage(device, image_, nullptr);
  vkFreeMemory(device, image_memory_, nullptr);
  vkDestroyFence(device, fence_, nullptr);
  vkDestroyCommandPool(device, pool_, nullptr);
  vkDestroyDevice(device, nullptr);
  if (messenger_ != VK_NULL_HANDLE)
    reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(vkGetInstanceProcAddr(
        instance, "vkDestroyDebugUtilsMessengerEXT"))(instance, messenger_, nullptr);
  vkDestroyInstance(instance, nullptr);
}

void App::make_instance(bool validate) {
  const char* const layer = "VK_LAYER_KHRONOS_validation";
  const char* const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                    VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  const auto synchronization = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  auto validation = make<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  validation.enabledValidationFeatureCount = 1;
  validation.pEnabledValidationFeatures = &synchronization;
  auto application = make<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.apiVersion = VK_API_VERSION_1_1;
  auto info = make<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  if (validate) {
    info.pNext = &validation;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
  }
  check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
  if (!validate) return;
  auto messenger = make<VkDebugUtilsMessengerCreateInfoEXT>(
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  messenger.pUserData = &messages_;
  check(
      reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(vkGetInstanceProcAddr(
          instance, "vkCreateDebugUtilsMessengerEXT"))(instance, &messenger, nullptr, &messenger_),
      "vkCreateDebugUtilsMessengerEXT");
}

void App::make_device() {
  std::uint32_t count = 1;
  vkEnumeratePhysicalDevices(instance, &count, &physical);
  if (count == 0) throw std::runtime_error("there is no Vulkan device");
  std::uint32_t families = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &families, nullptr);
  std::vector<VkQueueFamilyProperties> properties(families);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &families, properties.data());
  const VkQueueFlags both = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  while (family < families && (properties[family].queueFlags & both) != both) ++family;
  if (family == families) throw std::runtime_error("no queue both draws and computes");
  VkPhysicalDeviceFeatures offered;
  vkGetPhysicalDeviceFeatures(physical, &offered);
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.features.shaderInt64 = offered.shaderInt64;
  const float priority = 1;
  auto ask = make<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  ask.queueFamilyIndex = family;
  ask.queueCount = 1;
  ask.pQueuePriorities = &priority;
  auto info = make<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &ask;
  check(vkCreateDevice(physical, &info, nullptr, &device), "vkCreateDevice");
  vkGetDeviceQueue(device, family, 0, &queue);
  auto pool = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family;
  check(vkCreateCommandPool(device, &pool, nullptr, &pool_), "vkCreateCommandPool");
  auto commands = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  commands.commandPool = pool_;
  commands.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(device, &commands, &commands_), "vkAllocateCommandBuffers");
  const auto fence = make<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  check(vkCreateFence(device, &fence, nullptr, &fence_), "vkCreateFence");
}

void App::make_target() {
  auto image = make<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
  image.imageType = VK_IMAGE_TYPE_2D;
  image.format = VK_FORMAT_R8G8B8A8_UNORM;
  image.extent = {size, size, 1};
  image.mipLevels = image.arrayLayers = 1;
  image.samples = VK_SAMPLE_COUNT_1_BIT;
  image.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  check(vkCreateImage(device, &image, nullptr, &image_), "vkCreateImage");
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(device, image_, &needs);
  auto memory = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  memory.allocationSize = needs.size;
  memory.memoryTypeIndex =
      memory_type(physical, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  check(vkAllocateMemory(device, &memory, nullptr, &image_memory_), "vkAllocateMemory");
  check(vkBindImageMemory(device, image_, image_memory_, 0), "vkBindImageMemory");
  auto view = make<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO);
  view.image = image_;
  view.viewType = VK_IMAGE_VIEW_TYPE_2D;
  view.format = image.format;
  view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  check(vkCreateImageView(device, &view, nullptr, &view_), "vkCreateImageView");

  VkAttachmentDescription attachment{};
  attachment.format = image.format;
  attachment.samples = VK_SAMPLE_COUNT_1_BIT;
  attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  attachment.finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  const VkAttachmentReference color{0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
  VkSubpassDescription subpass{};
  subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
  subpass.colorAttachmentCount = 1;
  subpass.pColorAttachments = &color;
  // The copy of the last frame's picture comes first, that of this frame's afterwards.
  const VkSubpassDependency order[] = {
      {VK_SUBPASS_EXTERNAL, 0, VK_PIPELINE_STAGE_TRANSFER_BIT,
       VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, 0, VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT, 0},
      {0, VK_SUBPASS_EXTERNAL, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
       VK_ACCESS_TRANSFER_READ_BIT, 0},
  };
  auto pass = make<VkRenderPassCreateInfo>(VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO);
  pass.attachmentCount = 1;
  pass.pAttachments = &attachment;
  pass.subpassCount = 1;
  pass.pSubpasses = &subpass;
  pass.dependencyCount = 2;
  pass.pDependencies = order;
  check(vkCreateRenderPass(device, &pass, nullptr, &pass_), "vkCreateRenderPass");
  auto framebuffer = make<VkFramebufferCreateInfo>(VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO);
  framebuffer.renderPass = pass_;
  framebuffer.attachmentCount = 1;
  framebuffer.pAttachments = &view_;
  framebuffer.width = framebuffer.height = size;
  framebuffer.layers = 1;
  check(vkCreateFramebuffer(device, &framebuffer, nullptr, &framebuffer_), "vkCreateFramebuffer");
}

void App::make_pipeline() {
  const auto layout =
      make<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  check(vkCreatePipelineLayout(device, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
  VkPipelineShaderStageCreateInfo stages[2];
  for (int i = 0; i < 2; ++i) {
    auto module = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    module.codeSize = i == 0 ? sizeof vertex_words : sizeof fragment_words;
    module.pCode = i == 0 ? vertex_words : fragment_words;
    stages[i] =
        make<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
    stages[i].stage = i == 0 ? VK_SHADER_STAGE_VERTEX_BIT : VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[i].pName = "main";
    check(vkCreateShaderModule(device, &module, nullptr, &stages[i].module),
          "vkCreateShaderModule");
  }
  VkVertexInputBindingDescription bindings[4];
  VkVertexInputAttributeDescription attributes[4];
  for (std::uint32_t i = 0; i < 4; ++i) {
    bindings[i] = {i, sizeof(float), VK_VERTEX_INPUT_RATE_VERTEX};
    attributes[i] = {i, i, VK_FORMAT_R32_SFLOAT, 0};
  }
  auto input = make<VkPipelineVertexInputStateCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO);
  input.vertexBindingDescriptionCount = input.vertexAttributeDescriptionCount = 4;
  input.pVertexBindingDescriptions = bindings;
  input.pVertexAttributeDescriptions = attributes;
  auto assembly = make<VkPipelineInputAssemblyStateCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO);
  assembly.topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST;
  const VkViewport viewport{0, 0, size, size, 0, 1};
  const VkRect2D scissor{{0, 0}, {size, size}};
  auto window = make<VkPipelineViewportStateCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO);
  window.viewportCount = window.scissorCount = 1;
  window.pViewports = &viewport;
  window.pScissors = &scissor;
  auto raster = make<VkPipelineRasterizationStateCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO);
  raster.lineWidth = 1;
  auto samples = make<VkPipelineMultisampleStateCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO);
  samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  VkPipelineColorBlendAttachmentState add{};  // light upon light
  add.blendEnable = VK_TRUE;
  add.srcColorBlendFactor = add.dstColorBlendFactor = VK_BLEND_FACTOR_ONE;
  add.srcAlphaBlendFactor = add.dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
  add.colorWriteMask = 15;
  auto blend = make<VkPipelineColorBlendStateCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO);
  blend.attachmentCount = 1;
  blend.pAttachments = &add;
  auto info = make<VkGraphicsPipelineCreateInfo>(VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO);
  info.stageCount = 2;
  info.pStages = stages;
  info.pVertexInputState = &input;
  info.pInputAssemblyState = &assembly;
  info.pViewportState = &window;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &samples;
  info.pColorBlendState = &blend;
  info.layout = layout_;
  info.renderPass = pass_;
  const VkResult result =
      vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_);
  for (const auto& stage : stages) vkDestroyShaderModule(device, stage.module, nullptr);
  check(result, "vkCreateGraphicsPipelines");
}

Buffer App::buffer(std::uint64_t bytes, VkBufferUsageFlags usage) {
  Buffer made;
  made.bytes = bytes;
  made.usage = usage;
  auto info = make<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = usage;
  check(vkCreateBuffer(device, &info, nullptr, &made.buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, made.buffer, &needs);
  auto memory = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  memory.allocationSize = needs.size;
  memory.memoryTypeIndex =
      memory_type(physical, needs.memoryTypeBits,
                  VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  check(vkAllocateMemory(device, &memory, nullptr, &made.memory), "vkAllocateMemory");
  buffers_.push_back(made);
  check(vkBindBufferMemory(device, made.buffer, made.memory, 0), "vkBindBufferMemory");
  check(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &made.mapped), "vkMapMemory");
  return made;
}

VkCommandBuffer App::begin() {
  auto info = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer");
  return commands_;
}

void App::draw(VkCommandBuffer commands, VkBuffer particles, std::uint64_t stride,
               std::uint32_t count) {
  VkClearValue black{};
  black.color.float32[3] = 1;
  auto begin = make<VkRenderPassBeginInfo>(VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO);
  begin.renderPass = pass_;
  begin.framebuffer = framebuffer_;
  begin.renderArea.extent = {size, size};
  begin.clearValueCount = 1;
  begin.pClearValues = &black;
  vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
  const VkBuffer same[] = {particles, particles, particles, particles};
  const VkDeviceSize offsets[] = {0, stride, 2 * stride, 3 * stride};
  vkCmdBindVertexBuffers(commands, 0, 4, same, offsets);
  vkCmdDraw(commands, count, 1, 0, 0);
  vkCmdEndRenderPass(commands);
  VkBufferImageCopy region{};
  region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  region.imageExtent = {size, size, 1};
  vkCmdCopyImageToBuffer(commands, image_, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, picture_.buffer, 1,
                         &region);
}

void App::finish(VkCommandBuffer commands) {
  const VkMemoryBarrier seen{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                             VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                             VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(commands,
                       VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &seen, 0, nullptr, 0, nullptr);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  auto info = make<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  check(vkQueueSubmit(queue, 1, &info, fence_), "vkQueueSubmit");
  check(vkWaitForFences(device, 1, &fence_, VK_TRUE, ~std::uint64_t{0}), "vkWaitForFences");
  check(vkResetFences(device, 1, &fence_), "vkResetFences");
}

}  // namespace own_device
