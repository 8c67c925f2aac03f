// tests/vulkan/app.h -- an application with a Vulkan device of its own, validation on: what a
// Runtime is adopted into.
#pragma once
#include "engine/vulkan/functions.h"
// What may be used of Vulkan has to be known before.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/vulkan.h"

namespace gnomon::testing {

struct AppOptions {
  std::uint32_t api_version = VK_API_VERSION_1_2;
  bool features = true;  // everything that Gnomon could use, where the device has it
  bool timeline = false;
  bool validate = true;
  bool external_fd = false;  // the extension
};

/// Destroys what it made at its end.
class App {
 public:
  explicit App(const AppOptions& = {});
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// A function of the instance or the device.
  template <class F>
  F function(const char* name) const {
    return reinterpret_cast<F>(get_(instance_, name));
  }
  VulkanDevice described() const;
  VkDevice device() const { return device_; }
  VkQueue queue() const { return queue_; }
  bool has_timeline() const { return timeline_; }
  bool has_features() const { return features_.features.shaderInt64 == VK_TRUE; }

  /// A mapped buffer of zeros.
  VulkanBuffer buffer(std::uint64_t bytes, VkBufferUsageFlags usage);
  void destroy(const VulkanBuffer&);
  VkSemaphore semaphore(bool timeline);
  /// From the host, one with a timeline.
  void signal(VkSemaphore, std::uint64_t value);
  VkCommandBuffer begin();
  /// Ends it and submits it.
  void submit(VkCommandBuffer, std::span<const VkSemaphore> waits = {},
              std::span<const VkSemaphore> signals = {});
  void end(VkCommandBuffer);
  void wait_idle();
  /// What validation has said.
  const std::vector<std::string>& messages() const { return messages_; }
  /// Gives them, and has none.
  std::vector<std::string> take_messages() { return std::exchange(messages_, {}); }

 private:
  std::uint32_t memory_type(std::uint32_t allowed) const;

  PFN_vkGetInstanceProcAddr get_ = nullptr;
  std::uint32_t api_version_ = 0;
  std::vector<std::string> messages_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkPhysicalDeviceFeatures2 features_{};
  VkPhysicalDeviceBufferDeviceAddressFeatures addresses_{};
  VkPhysicalDeviceTimelineSemaphoreFeatures timelines_{};
  bool timeline_ = false;
  std::vector<const char*> extensions_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::uint32_t family_ = 0;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkBuffer> buffers_;
  std::vector<VkDeviceMemory> memories_;
  std::vector<VkSemaphore> semaphores_;
};

}  // namespace gnomon::testing
