// engine/vulkan/instance.cpp -- creating the instance and describing its devices.
#include "engine/vulkan/instance.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/vulkan/result.h"
#include "gnomon/error.h"

namespace gnomon::vulkan {
namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data,
                                          void* user) {
  // Older layers repeat the name within the text, newer ones leave it out.
  const std::string name = data->pMessageIdName ? data->pMessageIdName : "";
  const std::string text = data->pMessage ? data->pMessage : "";
  if (is_about_driver(text)) return VK_FALSE;
  static_cast<MessageLog*>(user)->add(text.find(name) == std::string::npos ? name + ": " + text
                                                                           : text);
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(MessageLog* log) {
  auto info = make<VkDebugUtilsMessengerCreateInfoEXT>(
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = on_message;
  info.pUserData = log;
  return info;
}

bool holds(const std::vector<VkExtensionProperties>& extensions, const char* name) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const auto& e) { return std::strcmp(e.extensionName, name) == 0; });
}

std::vector<VkExtensionProperties> instance_extensions(const LoaderTable& loader,
                                                       const char* layer) {
  const char* const call = "vkEnumerateInstanceExtensionProperties";
  std::uint32_t count = 0;
  check(loader.extensions(layer, &count, nullptr), call);
  std::vector<VkExtensionProperties> extensions(count);
  if (count > 0) check(loader.extensions(layer, &count, extensions.data()), call);
  return extensions;
}

bool layer_installed(const LoaderTable& loader, const char* name) {
  const char* const call = "vkEnumerateInstanceLayerProperties";
  std::uint32_t count = 0;
  check(loader.layers(&count, nullptr), call);
  std::vector<VkLayerProperties> layers(count);
  if (count > 0) check(loader.layers(&count, layers.data()), call);
  return std::any_of(layers.begin(), layers.end(),
                     [&](const auto& layer) { return std::strcmp(layer.layerName, name) == 0; });
}

#ifndef VK_EXT_layer_settings
// Newer than the headers of some distributions; the newer layer needs it to look at shader
// accesses.
enum VkLayerSettingTypeEXT { VK_LAYER_SETTING_TYPE_BOOL32_EXT = 0 };
struct VkLayerSettingEXT {
  const char* pLayerName;
  const char* pSettingName;
  VkLayerSettingTypeEXT type;
  std::uint32_t valueCount;
  const void* pValues;
};
struct VkLayerSettingsCreateInfoEXT {
  VkStructureType sType;
  const void* pNext;
  std::uint32_t settingCount;
  const VkLayerSettingEXT* pSettings;
};
constexpr auto VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT =
    static_cast<VkStructureType>(1000496000);
#endif

DeviceDescription::Kind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceDescription::Kind::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceDescription::Kind::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceDescription::Kind::virtual_device;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceDescription::Kind::cpu;
    default:
      return DeviceDescription::Kind::other;
  }
}

template <class T>
void chain(void*& head, T& next) {
  next.pNext = head;
  head = &next;
}

/// Invocations that all cores hold at a time, as whichever extension there is tells; else 0.
std::uint64_t resident_lanes(const VkPhysicalDeviceShaderSMBuiltinsPropertiesNV& nvidia,
                             const VkPhysicalDeviceShaderCorePropertiesAMD& amd,
                             const VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM& arm,
                             std::uint64_t subgroup_size) {
  if (nvidia.shaderSMCount > 0)
    return subgroup_size * nvidia.shaderSMCount * nvidia.shaderWarpsPerSM;
  if (amd.shaderEngineCount > 0)
    return std::uint64_t{amd.shaderEngineCount} * amd.shaderArraysPerEngineCount *
           amd.computeUnitsPerShaderArray * amd.simdPerComputeUnit * amd.wavefrontsPerSimd *
           amd.wavefrontSize;
  return subgroup_size * arm.shaderCoreCount * arm.shaderWarpsPerCore;
}

DeviceDescription basic_description(const VkPhysicalDeviceProperties& basic) {
  DeviceDescription d;
  d.name = basic.deviceName;
  d.kind = kind_of(basic.deviceType);
  d.api_major = VK_API_VERSION_MAJOR(basic.apiVersion);
  d.api_minor = VK_API_VERSION_MINOR(basic.apiVersion);
  d.vendor_id = basic.vendorID;
  d.device_id = basic.deviceID;
  d.driver_version = basic.driverVersion;
  std::copy(std::begin(basic.pipelineCacheUUID), std::end(basic.pipelineCacheUUID),
            d.cache_uuid.begin());
  const VkPhysicalDeviceLimits& limits = basic.limits;
  d.max_storage_range = limits.maxStorageBufferRange;
  d.max_texel_elements = limits.maxTexelBufferElements;
  d.storage_alignment = static_cast<std::uint32_t>(limits.minStorageBufferOffsetAlignment);
  d.uniform_alignment = static_cast<std::uint32_t>(limits.minUniformBufferOffsetAlignment);
  d.max_group_invocations = limits.maxComputeWorkGroupInvocations;
  d.max_group_size_x = limits.maxComputeWorkGroupSize[0];
  d.max_groups = std::min(limits.maxComputeWorkGroupCount[0], limits.maxComputeWorkGroupCount[1]);
  d.max_shared_bytes = limits.maxComputeSharedMemorySize;
  return d;
}

void describe_float_controls(const VkPhysicalDeviceFloatControlsProperties& floats,
                             DeviceDescription& d) {
  d.float16_controls = {floats.shaderSignedZeroInfNanPreserveFloat16 == VK_TRUE,
                        floats.shaderRoundingModeRTEFloat16 == VK_TRUE,
                        floats.shaderDenormPreserveFloat16 == VK_TRUE,
                        floats.shaderDenormFlushToZeroFloat16 == VK_TRUE};
  d.float32_controls = {floats.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE,
                        floats.shaderRoundingModeRTEFloat32 == VK_TRUE,
                        floats.shaderDenormPreserveFloat32 == VK_TRUE,
                        floats.shaderDenormFlushToZeroFloat32 == VK_TRUE};
  d.float64_controls = {floats.shaderSignedZeroInfNanPreserveFloat64 == VK_TRUE,
                        floats.shaderRoundingModeRTEFloat64 == VK_TRUE,
                        floats.shaderDenormPreserveFloat64 == VK_TRUE,
                        floats.shaderDenormFlushToZeroFloat64 == VK_TRUE};
  // Where the widths must agree, a module that declares one width and not the others would be
  // invalid.
  const auto tied = [](VkShaderFloatControlsIndependence independence) {
    return independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  };
  for (FloatControls* width : {&d.float16_controls, &d.float32_controls, &d.float64_controls}) {
    if (tied(floats.roundingModeIndependence)) width->round_to_even = false;
    if (tied(floats.denormBehaviorIndependence))
      width->denorm_preserve = width->denorm_flush = false;
  }
}

}  // namespace

void MessageLog::add(std::string message) {
  const std::lock_guard lock(mutex_);
  if (log) log->write("gnomon: validation: " + message);
  messages_.push_back(std::move(message));
}

std::size_t MessageLog::count() const {
  const std::lock_guard lock(mutex_);
  return messages_.size();
}

std::vector<std::string> MessageLog::all() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

void MessageLog::clear() {
  const std::lock_guard lock(mutex_);
  messages_.clear();
}

Instance::Instance(const InstanceOptions& options) : messages_(std::make_unique<MessageLog>()) {
  messages_->log = options.log;
  if (options.adopted) {
    owned_ = false;
    validating_ = options.validate;
    const VulkanDevice& from = options.adopted->device;
    loader_.get_instance_proc_addr = from.get_instance_proc_addr;
    instance_ = from.instance;
    api_version_ = std::min<std::uint32_t>(from.api_version, VK_API_VERSION_1_3);
    load_functions();
    return;
  }
  loader_ = load_loader(options.get_instance_proc_addr != nullptr ? options.get_instance_proc_addr
                                                                  : find_loader());
  create(options);
}

void Instance::create(const InstanceOptions& options) {
  std::uint32_t loader = VK_API_VERSION_1_0;
  if (loader_.version != nullptr) check(loader_.version(&loader), "vkEnumerateInstanceVersion");
  if (loader < VK_API_VERSION_1_1) {
    throw DeviceError("gnomon::Runtime: no usable GPU: the Vulkan loader has version 1." +
                      std::to_string(VK_API_VERSION_MINOR(loader)) +
                      " and 1.1 is required; update it");
  }
  api_version_ = std::min<std::uint32_t>(loader, VK_API_VERSION_1_3);

  auto application = make<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pEngineName = "gnomon";
  application.apiVersion = api_version_;
  auto info = make<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;

  std::vector<const char*> extensions;
  if (holds(instance_extensions(loader_, nullptr), VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }

  if (options.validate || (options.labels && holds(instance_extensions(loader_, nullptr),
                                                   VK_EXT_DEBUG_UTILS_EXTENSION_NAME)))
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);

  const VkValidationFeatureEnableEXT synchronization =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  auto features = make<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &synchronization;
  const VkBool32 on = VK_TRUE;
  const VkLayerSettingEXT settings[] = {
      {validation_layer, "validate_sync", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &on},
      {validation_layer, "syncval_shader_accesses_heuristic", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1,
       &on},
  };
  VkLayerSettingsCreateInfoEXT layer_settings{};
  layer_settings.sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT;
  layer_settings.settingCount = 2;
  layer_settings.pSettings = settings;
  VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(messages_.get());
  if (options.validate) {
    if (!layer_installed(loader_, validation_layer)) {
      throw DeviceError(
          std::string("gnomon::Runtime: validation was asked for and ") + validation_layer +
          " is not installed; install vulkan-validationlayers or unset GNOMON_VALIDATE");
    }
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validation_layer;
    void* next = nullptr;
    chain(next, messenger);
    const auto offered = instance_extensions(loader_, validation_layer);
    if (holds(offered, "VK_EXT_layer_settings")) {
      // Not enabled by name: older loaders refuse the name, and the layer reads the structure
      // without it.
      chain(next, layer_settings);
    } else if (holds(offered, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
      extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
      chain(next, features);
    }
    info.pNext = next;
  }
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(loader_.create_instance(&info, nullptr, &instance_), "vkCreateInstance");
  load_functions();
  if (options.validate) {
    messenger.pNext = nullptr;
    const VkResult result = vk_.create_messenger(instance_, &messenger, nullptr, &messenger_);
    if (result != VK_SUCCESS) {
      vk_.destroy_instance(instance_, nullptr);
      fail(result, "vkCreateDebugUtilsMessengerEXT");
    }
    validating_ = true;
  }
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) vk_.destroy_messenger(instance_, messenger_, nullptr);
  if (owned_ && instance_ != VK_NULL_HANDLE) vk_.destroy_instance(instance_, nullptr);
}

void Instance::load_functions() {
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        loader_.get_instance_proc_addr(instance_, name));
  };
  load(vk_.device_proc_addr, "vkGetDeviceProcAddr");
  load(vk_.destroy_instance, "vkDestroyInstance");
  load(vk_.enumerate_physical_devices, "vkEnumeratePhysicalDevices");
  load(vk_.physical_device_properties, "vkGetPhysicalDeviceProperties");
  load(vk_.physical_device_properties2, "vkGetPhysicalDeviceProperties2");
  load(vk_.physical_device_features2, "vkGetPhysicalDeviceFeatures2");
  load(vk_.memory_properties, "vkGetPhysicalDeviceMemoryProperties");
  load(vk_.queue_family_properties, "vkGetPhysicalDeviceQueueFamilyProperties");
  load(vk_.device_extensions, "vkEnumerateDeviceExtensionProperties");
  load(vk_.create_device, "vkCreateDevice");
  load(vk_.external_buffer_properties, "vkGetPhysicalDeviceExternalBufferProperties");
  load(vk_.create_messenger, "vkCreateDebugUtilsMessengerEXT");
  load(vk_.destroy_messenger, "vkDestroyDebugUtilsMessengerEXT");
}

bool Instance::has_extension(VkPhysicalDevice device, const char* name) const {
  const char* const call = "vkEnumerateDeviceExtensionProperties";
  std::uint32_t count = 0;
  check(vk_.device_extensions(device, nullptr, &count, nullptr), call);
  std::vector<VkExtensionProperties> extensions(count);
  if (count > 0) check(vk_.device_extensions(device, nullptr, &count, extensions.data()), call);
  return holds(extensions, name);
}

std::vector<Instance::PhysicalDevice> Instance::physical_devices() const {
  std::uint32_t count = 0;
  VkResult result = vk_.enumerate_physical_devices(instance_, &count, nullptr);
  // A loader without any driver says so with this code; the selection reports an empty list better.
  if (result == VK_ERROR_INITIALIZATION_FAILED) return {};
  check(result, "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> handles(count);
  check(vk_.enumerate_physical_devices(instance_, &count, handles.data()),
        "vkEnumeratePhysicalDevices");
  std::vector<PhysicalDevice> devices;
  for (std::uint32_t i = 0; i < count; ++i) {
    PhysicalDevice device;
    device.handle = handles[i];
    device.description = describe_device(handles[i], device.queue_family);
    devices.push_back(std::move(device));
  }
  return devices;
}

void Instance::describe_features(VkPhysicalDevice device, std::uint32_t version,
                                 DeviceDescription& d) const {
  const bool vulkan12 = version >= VK_API_VERSION_1_2;
  const auto offers = [&](const char* name) { return has_extension(device, name); };
  auto features = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  auto storage16 = make<VkPhysicalDevice16BitStorageFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  auto storage8 = make<VkPhysicalDevice8BitStorageFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  auto small = make<VkPhysicalDeviceShaderFloat16Int8Features>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  chain(features.pNext, storage16);
  if (vulkan12 || offers(VK_KHR_8BIT_STORAGE_EXTENSION_NAME)) chain(features.pNext, storage8);
  if (vulkan12 || offers(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) chain(features.pNext, small);
  auto addresses = make<VkPhysicalDeviceBufferDeviceAddressFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
  if (vulkan12 || offers(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME))
    chain(features.pNext, addresses);
  vk_.physical_device_features2(device, &features);
  d.addresses = addresses.bufferDeviceAddress;
  d.int64 = features.features.shaderInt64;
  d.float64 = features.features.shaderFloat64;
  d.int16 = features.features.shaderInt16;
  d.int8 = small.shaderInt8;
  d.float16 = small.shaderFloat16;
  d.storage8 = storage8.storageBuffer8BitAccess;
  d.storage16 = storage16.storageBuffer16BitAccess;
}

void Instance::describe_properties(VkPhysicalDevice device, std::uint32_t version,
                                   DeviceDescription& d) const {
  const bool vulkan12 = version >= VK_API_VERSION_1_2;
  const auto offers = [&](const char* name) { return has_extension(device, name); };
  auto properties =
      make<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  auto subgroup = make<VkPhysicalDeviceSubgroupProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  auto maintenance3 = make<VkPhysicalDeviceMaintenance3Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  auto maintenance4 = make<VkPhysicalDeviceMaintenance4Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
  auto driver =
      make<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  auto floats = make<VkPhysicalDeviceFloatControlsProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
  chain(properties.pNext, subgroup);
  chain(properties.pNext, maintenance3);
  if (version >= VK_API_VERSION_1_3) chain(properties.pNext, maintenance4);
  if (vulkan12 || offers(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) chain(properties.pNext, driver);
  auto nvidia = make<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
  auto amd = make<VkPhysicalDeviceShaderCorePropertiesAMD>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
  auto arm = make<VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM);
  if (offers(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) chain(properties.pNext, nvidia);
  if (offers(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) chain(properties.pNext, amd);
  if (offers(VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME)) chain(properties.pNext, arm);
  d.float_controls = vulkan12 || offers(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  if (d.float_controls) chain(properties.pNext, floats);
  vk_.physical_device_properties2(device, &properties);
  d.resident_lanes = resident_lanes(nvidia, amd, arm, subgroup.subgroupSize);
  d.subgroup_size = subgroup.subgroupSize;
  if (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) {
    d.subgroup_basic = subgroup.supportedOperations & VK_SUBGROUP_FEATURE_BASIC_BIT;
    d.subgroup_arithmetic = subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
    d.subgroup_shuffle = subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  }
  d.driver = driver.driverName;
  d.driver_info = driver.driverInfo;
  d.max_allocation_bytes = maintenance3.maxMemoryAllocationSize;
  d.max_buffer_bytes =
      maintenance4.maxBufferSize != 0 ? maintenance4.maxBufferSize : d.max_allocation_bytes;
  describe_float_controls(floats, d);
}

DeviceDescription Instance::describe_device(VkPhysicalDevice device,
                                            std::uint32_t& queue_family) const {
  VkPhysicalDeviceProperties basic;
  vk_.physical_device_properties(device, &basic);
  DeviceDescription d = basic_description(basic);
  std::uint32_t count = 0;
  vk_.queue_family_properties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk_.queue_family_properties(device, &count, families.data());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (families[i].queueCount == 0 || !(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    // A family without graphics runs beside the display's work; any family that computes will do.
    if (!d.compute_queue || !(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)) queue_family = i;
    d.compute_queue = true;
  }
  if (!rejection(d).empty()) return d;

  // Everything below needs Vulkan 1.1 of the device itself.
  const std::uint32_t version = std::min(api_version_, basic.apiVersion);
  const auto offers = [&](const char* name) { return has_extension(device, name); };
  d.external_fd = offers(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  d.external_win32 = offers("VK_KHR_external_memory_win32");
  d.creation_feedback =
      version >= VK_API_VERSION_1_3 || offers(VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
  describe_features(device, version, d);
  describe_properties(device, version, d);
  return d;
}

Instance::PhysicalDevice Instance::adopted_device(const AdoptedDevice& adopted) const {
  const VulkanDevice& from = adopted.device;
  PhysicalDevice device;
  device.handle = from.physical_device;
  device.queue_family = from.queue_family;
  std::uint32_t any = 0;
  device.description = enabled(describe_device(from.physical_device, any), adopted);
  std::string reason = rejection(device.description);
  if (reason.empty()) {
    std::uint32_t count = 0;
    vk_.queue_family_properties(from.physical_device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vk_.queue_family_properties(from.physical_device, &count, families.data());
    const std::string family = std::to_string(from.queue_family);
    if (from.queue_family >= count)
      reason = "has " + std::to_string(count) + " queue families and none with number " + family;
    else if (!(families[from.queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT))
      reason =
          "has a queue family " + family + " that does not compute; hand over a queue that does";
  }
  if (!reason.empty())
    throw DeviceError("gnomon::Runtime::adopt: the device cannot be used: \"" +
                      device.description.name + "\" " + reason);
  return device;
}

DeviceTable Instance::device_table(VkDevice device) const {
  DeviceTable table;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        vk_.device_proc_addr(device, name));
    return function != nullptr;
  };
  const auto need = [&](auto& function, const char* name) {
    if (!load(function, name))
      throw DeviceError(std::string("gnomon::Runtime: the driver has no ") + name +
                        ", which Vulkan 1.1 asks of all; update it");
  };
#define GNOMON_FUNCTION(name) need(table.name, #name);
  GNOMON_DEVICE_FUNCTIONS(GNOMON_FUNCTION)
#undef GNOMON_FUNCTION
  // The name of 1.2 means nothing to a device of 1.1 that has the extension.
  if (!load(table.vkGetBufferDeviceAddress, "vkGetBufferDeviceAddress"))
    load(table.vkGetBufferDeviceAddress, "vkGetBufferDeviceAddressKHR");
  load(table.vkGetMemoryFdKHR, "vkGetMemoryFdKHR");
  load(table.vkGetMemoryWin32HandleKHR, "vkGetMemoryWin32HandleKHR");
  // Devices may have these functions where the instance has not enabled their extension.
  if (vk_.create_messenger != nullptr) {
    load(table.vkCmdBeginDebugUtilsLabelEXT, "vkCmdBeginDebugUtilsLabelEXT");
    load(table.vkCmdEndDebugUtilsLabelEXT, "vkCmdEndDebugUtilsLabelEXT");
    load(table.vkSetDebugUtilsObjectNameEXT, "vkSetDebugUtilsObjectNameEXT");
  }
  return table;
}

}  // namespace gnomon::vulkan
