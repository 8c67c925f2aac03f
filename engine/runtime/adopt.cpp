// engine/runtime/adopt.cpp -- a Runtime on the application's device.
#include <utility>

#include "engine/runtime/state.h"
#include "gnomon/error.h"
#include "gnomon/vulkan_device.h"

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

}  // namespace gnomon
