// engine/vulkan/instance.h -- the Vulkan instance: loader, validation layer, physical devices as
// plain data.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/vulkan/adopted.h"
#include "engine/vulkan/functions.h"
#include "engine/vulkan/log.h"
#include "engine/vulkan/selection.h"

namespace gnomon::vulkan {

/// Validation messages of one instance, in order of arrival. Drivers call back from any thread.
class MessageLog {
 public:
  void add(std::string message);
  std::size_t count() const;
  std::vector<std::string> all() const;
  void clear();
  /// Gets each message as it arrives; null: nobody.
  std::shared_ptr<const Log> log;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
};

struct InstanceOptions {
  bool validate = false;           // the Khronos layer with synchronization validation
  std::shared_ptr<const Log> log;  // what it says; null: nowhere
  bool labels = false;             // the extension for labels and names, where it is
  /// Somebody else's instance, which is not destroyed with this; null: one is made.
  std::shared_ptr<const AdoptedDevice> adopted;
  /// Where functions come from; null: the platform's loader.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
};

class Instance {
 public:
  /// Throws DeviceError when there is no loader, no Vulkan 1.1, or no validation layer where one is
  /// asked for.
  explicit Instance(const InstanceOptions&);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  struct Functions {
    PFN_vkDestroyInstance destroy_instance;
    PFN_vkGetDeviceProcAddr device_proc_addr;
    PFN_vkEnumeratePhysicalDevices enumerate_physical_devices;
    PFN_vkGetPhysicalDeviceProperties physical_device_properties;
    PFN_vkGetPhysicalDeviceProperties2 physical_device_properties2;
    PFN_vkGetPhysicalDeviceFeatures2 physical_device_features2;
    PFN_vkGetPhysicalDeviceMemoryProperties memory_properties;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties queue_family_properties;
    PFN_vkEnumerateDeviceExtensionProperties device_extensions;
    PFN_vkCreateDevice create_device;
    PFN_vkGetPhysicalDeviceExternalBufferProperties external_buffer_properties;
    PFN_vkCreateDebugUtilsMessengerEXT create_messenger;    // null without the extension
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger;  // likewise
  };

  struct PhysicalDevice {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    std::uint32_t queue_family = 0;
    DeviceDescription description;
  };

  VkInstance handle() const { return instance_; }
  const Functions& vk() const { return vk_; }
  /// The version asked of the loader: what device code may use at most.
  std::uint32_t api_version() const { return api_version_; }
  /// Whether a validation layer looks on: the instance's own, or one of which its owner has told.
  bool validating() const { return validating_; }
  MessageLog& messages() const { return *messages_; }
  std::vector<PhysicalDevice> physical_devices() const;
  /// The device of another owner, as far as it was enabled. Throws DeviceError where it cannot do
  /// what is needed.
  PhysicalDevice adopted_device(const AdoptedDevice&) const;
  /// Throws DeviceError when the device lacks a function.
  DeviceTable device_table(VkDevice) const;
  bool has_extension(VkPhysicalDevice, const char* name) const;

 private:
  void create(const InstanceOptions&);
  void load_functions();
  DeviceDescription describe_device(VkPhysicalDevice, std::uint32_t& queue_family) const;
  /// Parts of that, of a device which has Vulkan 1.1 and uses `version`.
  void describe_features(VkPhysicalDevice, std::uint32_t version, DeviceDescription&) const;
  void describe_properties(VkPhysicalDevice, std::uint32_t version, DeviceDescription&) const;

  std::unique_ptr<MessageLog> messages_;
  LoaderTable loader_;
  bool owned_ = true, validating_ = false;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::uint32_t api_version_ = VK_API_VERSION_1_1;
  Functions vk_{};
};

}  // namespace gnomon::vulkan
