// tests/least_device/layer.cpp -- a Vulkan layer under which every device is one that offers what
// Vulkan 1.1 guarantees and nothing else: no later version, no extension, no feature, the limits of
// the specification's table ("Required Limits", Vulkan 1.1.130). A device that is created with more
// is refused, and so is a shader that needs more; functions of later versions are not there. What
// an application takes without asking does not go unnoticed.
//
//   VK_INSTANCE_LAYERS=VK_LAYER_GNOMON_least_device VK_ADD_LAYER_PATH=<where the manifest is>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace {

/// Functions of the next layer or driver, for one instance and its physical devices.
struct Instance {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  PFN_vkDestroyInstance destroy = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
  PFN_vkGetPhysicalDeviceFeatures features = nullptr;
  PFN_vkGetPhysicalDeviceFeatures2 features2 = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
};

struct Device {
  PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;
  PFN_vkCreateShaderModule create_module = nullptr;
};

std::mutex mutex;
std::map<const void*, Instance> instances;
std::map<const void*, Device> devices;

/// Dispatchable handles begin with the loader's table, which all of an instance or device share.
const void* key(const void* handle) { return *static_cast<const void* const*>(handle); }

Instance instance_of(const void* handle) {
  const std::lock_guard lock(mutex);
  return instances.at(key(handle));
}

Device device_of(const void* handle) {
  const std::lock_guard lock(mutex);
  return devices.at(key(handle));
}

void reduce(VkPhysicalDeviceLimits& l) {
  l.maxStorageBufferRange = 1u << 27;
  l.maxUniformBufferRange = 16384;
  l.maxTexelBufferElements = 65536;
  l.maxPushConstantsSize = 128;
  l.maxBoundDescriptorSets = 4;
  l.maxPerStageDescriptorStorageBuffers = 4;
  l.maxPerStageDescriptorUniformBuffers = 12;
  l.maxPerStageResources = 128;
  l.maxDescriptorSetStorageBuffers = 24;
  l.maxDescriptorSetUniformBuffers = 72;
  l.maxComputeSharedMemorySize = 16384;
  l.maxComputeWorkGroupInvocations = 128;
  for (std::uint32_t& n : l.maxComputeWorkGroupCount) n = 65535;
  l.maxComputeWorkGroupSize[0] = l.maxComputeWorkGroupSize[1] = 128;
  l.maxComputeWorkGroupSize[2] = 64;
  l.maxMemoryAllocationCount = 4096;
  // Alignments are at most these; drivers that need less are fine with more.
  l.minStorageBufferOffsetAlignment = l.minUniformBufferOffsetAlignment =
      l.minTexelBufferOffsetAlignment = 256;
  l.nonCoherentAtomSize = std::max<VkDeviceSize>(l.nonCoherentAtomSize, 256);
}

void reduce(VkPhysicalDeviceProperties& p) {
  p.apiVersion = std::min<std::uint32_t>(p.apiVersion, VK_API_VERSION_1_1);
  reduce(p.limits);
}

/// What stands behind sType and pNext, all of it VkBool32.
template <class Structure>
void clear(VkBaseOutStructure* s) {
  std::memset(reinterpret_cast<char*>(s) + sizeof(VkBaseOutStructure), 0,
              sizeof(Structure) - sizeof(VkBaseOutStructure));
}

/// Structures of features of 1.1; later ones are not asked for under 1.1.
void clear_features(VkBaseOutStructure* s) {
  for (; s != nullptr; s = s->pNext) {
    switch (s->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        clear<VkPhysicalDevice16BitStorageFeatures>(s);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VARIABLE_POINTERS_FEATURES:
        clear<VkPhysicalDeviceVariablePointersFeatures>(s);
        break;
      default:
        break;
    }
  }
}

bool any_of(const VkPhysicalDeviceFeatures& f) {
  const VkPhysicalDeviceFeatures none{};
  return std::memcmp(&f, &none, sizeof none) != 0;
}

void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* p) {
  instance_of(device).properties(device, p);
  reduce(*p);
}

void VKAPI_CALL get_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* p) {
  instance_of(device).properties2(device, p);
  reduce(p->properties);
  for (auto* s = static_cast<VkBaseOutStructure*>(p->pNext); s != nullptr; s = s->pNext) {
    if (s->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES) continue;
    auto& subgroup = *reinterpret_cast<VkPhysicalDeviceSubgroupProperties*>(s);
    subgroup.supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
    subgroup.supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
  }
}

void VKAPI_CALL get_features(VkPhysicalDevice, VkPhysicalDeviceFeatures* f) { *f = {}; }

void VKAPI_CALL get_features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* f) {
  instance_of(device).features2(device, f);
  f->features = {};
  clear_features(static_cast<VkBaseOutStructure*>(f->pNext));
}

VkResult VKAPI_CALL enumerate_extensions(VkPhysicalDevice device, const char* layer,
                                         std::uint32_t* count, VkExtensionProperties* list) {
  if (layer != nullptr) return instance_of(device).extensions(device, layer, count, list);
  *count = 0;
  return VK_SUCCESS;
}

/// The link that the loader left in the chain of a create info; the next layer finds its own.
template <class Link, class Info>
Link* take_link(const Info* info, VkStructureType type) {
  for (auto* s = static_cast<const VkBaseInStructure*>(info->pNext); s != nullptr; s = s->pNext) {
    if (s->sType != type) continue;
    auto* link = reinterpret_cast<Link*>(const_cast<VkBaseInStructure*>(s));
    if (link->function == VK_LAYER_LINK_INFO) return link;
  }
  return nullptr;
}

VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                    const VkAllocationCallbacks* allocator, VkInstance* instance) {
  auto* link =
      take_link<VkLayerInstanceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create =
      reinterpret_cast<PFN_vkCreateInstance>(next(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, allocator, instance);
  if (result != VK_SUCCESS) return result;
  Instance i;
  i.get_instance_proc_addr = next;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(next(*instance, name));
  };
  load(i.destroy, "vkDestroyInstance");
  load(i.properties, "vkGetPhysicalDeviceProperties");
  load(i.properties2, "vkGetPhysicalDeviceProperties2");
  load(i.features2, "vkGetPhysicalDeviceFeatures2");
  load(i.extensions, "vkEnumerateDeviceExtensionProperties");
  const std::lock_guard lock(mutex);
  instances[key(*instance)] = i;
  return VK_SUCCESS;
}

void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
  if (instance == VK_NULL_HANDLE) return;
  const Instance i = instance_of(instance);
  {
    const std::lock_guard lock(mutex);
    instances.erase(key(instance));
  }
  i.destroy(instance, allocator);
}

/// Whether a device is asked for with a feature that the layer said was not there.
bool takes_features(const VkDeviceCreateInfo& info) {
  if (info.pEnabledFeatures != nullptr && any_of(*info.pEnabledFeatures)) return true;
  for (auto* s = static_cast<const VkBaseInStructure*>(info.pNext); s != nullptr; s = s->pNext) {
    switch (s->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
        if (any_of(reinterpret_cast<const VkPhysicalDeviceFeatures2*>(s)->features)) return true;
        break;
      case VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO:
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES: {
        const auto& f = *reinterpret_cast<const VkPhysicalDevice16BitStorageFeatures*>(s);
        if (f.storageBuffer16BitAccess || f.uniformAndStorageBuffer16BitAccess ||
            f.storagePushConstant16 || f.storageInputOutput16)
          return true;
        break;
      }
      default:
        return true;  // of a later version or an extension
    }
  }
  return false;
}

VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                  const VkAllocationCallbacks* allocator, VkDevice* device) {
  auto* link =
      take_link<VkLayerDeviceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  if (info->enabledExtensionCount > 0) return VK_ERROR_EXTENSION_NOT_PRESENT;
  if (takes_features(*info)) return VK_ERROR_FEATURE_NOT_PRESENT;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_vkGetDeviceProcAddr next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(next(VK_NULL_HANDLE, "vkCreateDevice"));
  const VkResult result = create(physical, info, allocator, device);
  if (result != VK_SUCCESS) return result;
  Device d;
  d.get_device_proc_addr = next_device;
  d.create_module =
      reinterpret_cast<PFN_vkCreateShaderModule>(next_device(*device, "vkCreateShaderModule"));
  const std::lock_guard lock(mutex);
  devices[key(*device)] = d;
  return VK_SUCCESS;
}

/// Whether a compute shader needs a version, a capability or a workgroup beyond what 1.1
/// guarantees. Offsets and opcodes: SPIR-V 1.3, sections 2.3 and 3.
bool needs_more(const std::uint32_t* words, std::size_t count) {
  enum : std::uint32_t { header = 5, execution_mode = 16, capability = 17, local_size = 17 };
  // Matrix, Shader, Sampled1D, Image1D, SampledBuffer, ImageBuffer, ImageQuery, GroupNonUniform.
  constexpr std::uint32_t offered[] = {0, 1, 43, 44, 46, 47, 50, 61};
  if (count < header || words[1] > 0x00010300) return true;
  for (std::size_t at = header; at < count;) {
    const std::uint32_t* w = words + at;
    const std::uint32_t opcode = w[0] & 0xffff, length = w[0] >> 16;
    if (length == 0 || length > count - at) return true;
    if (opcode == capability &&
        std::find(std::begin(offered), std::end(offered), w[1]) == std::end(offered))
      return true;
    if (opcode == execution_mode && w[2] == local_size &&
        (w[3] > 128 || w[4] > 128 || w[5] > 64 || std::uint64_t{w[3]} * w[4] * w[5] > 128))
      return true;
    at += length;
  }
  return false;
}

VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo* info,
                                  const VkAllocationCallbacks* allocator, VkShaderModule* module) {
  if (needs_more(info->pCode, info->codeSize / sizeof *info->pCode))
    return VK_ERROR_FEATURE_NOT_PRESENT;
  return device_of(device).create_module(device, info, allocator, module);
}

/// Functions of 1.2, those of 1.3 that are of use to what computes, and those of extensions of
/// devices.
bool is_later(std::string_view name) {
  constexpr std::string_view later =
      " vkCmdBeginRenderPass2 vkCmdDrawIndexedIndirectCount vkCmdDrawIndirectCount "
      "vkCmdEndRenderPass2 vkCmdNextSubpass2 vkCreateRenderPass2 vkGetBufferDeviceAddress "
      "vkGetBufferOpaqueCaptureAddress vkGetDeviceMemoryOpaqueCaptureAddress "
      "vkGetSemaphoreCounterValue vkResetQueryPool vkSignalSemaphore vkWaitSemaphores "
      "vkCmdCopyBuffer2 vkCmdPipelineBarrier2 vkCmdResetEvent2 vkCmdSetEvent2 vkCmdWaitEvents2 "
      "vkCmdWriteTimestamp2 vkGetDeviceBufferMemoryRequirements vkQueueSubmit2 ";
  if (later.find(" " + std::string(name) + " ") != std::string_view::npos) return true;
  if (name.find("DebugUtils") != std::string_view::npos) return false;  // of the instance
  return name.ends_with("KHR") || name.ends_with("EXT");
}

PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name) {
  const std::string_view asked = name;
  if (asked == "vkGetDeviceProcAddr")
    return reinterpret_cast<PFN_vkVoidFunction>(get_device_proc_addr);
  if (asked == "vkCreateShaderModule") return reinterpret_cast<PFN_vkVoidFunction>(create_module);
  if (is_later(asked)) return nullptr;
  return device_of(device).get_device_proc_addr(device, name);
}

PFN_vkVoidFunction own(std::string_view name);

PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name) {
  if (const PFN_vkVoidFunction f = own(name)) return f;
  if (instance == VK_NULL_HANDLE) return nullptr;
  return instance_of(instance).get_instance_proc_addr(instance, name);
}

PFN_vkVoidFunction own(std::string_view name) {
  const auto is = [&](const char* n, auto function) {
    return name == n ? reinterpret_cast<PFN_vkVoidFunction>(function) : nullptr;
  };
  for (const PFN_vkVoidFunction f :
       {is("vkGetInstanceProcAddr", get_instance_proc_addr),
        is("vkCreateInstance", create_instance), is("vkDestroyInstance", destroy_instance),
        is("vkCreateDevice", create_device), is("vkGetDeviceProcAddr", get_device_proc_addr),
        is("vkCreateShaderModule", create_module),
        is("vkGetPhysicalDeviceProperties", get_properties),
        is("vkGetPhysicalDeviceProperties2", get_properties2),
        is("vkGetPhysicalDeviceProperties2KHR", get_properties2),
        is("vkGetPhysicalDeviceFeatures", get_features),
        is("vkGetPhysicalDeviceFeatures2", get_features2),
        is("vkGetPhysicalDeviceFeatures2KHR", get_features2),
        is("vkEnumerateDeviceExtensionProperties", enumerate_extensions)})
    if (f != nullptr) return f;
  return nullptr;
}

}  // namespace

extern "C" VK_LAYER_EXPORT VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  interface->loaderLayerInterfaceVersion =
      std::min<std::uint32_t>(interface->loaderLayerInterfaceVersion, 2);
  interface->pfnGetInstanceProcAddr = get_instance_proc_addr;
  interface->pfnGetDeviceProcAddr = get_device_proc_addr;
  interface->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
