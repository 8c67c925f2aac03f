// engine/vulkan/adopted.h -- a device of somebody else's, and what of it may be used.
#pragma once
#include <string>
#include <vector>

#include "engine/vulkan/functions.h"
// What may be used of Vulkan has to be known before.
#include "engine/vulkan/selection.h"
#include "gnomon/vulkan_device.h"

namespace gnomon::vulkan {

struct AdoptedDevice {
  explicit AdoptedDevice(const VulkanDevice& given)
      : device(given), extensions(given.extensions.begin(), given.extensions.end()) {
    device.extensions = {};
  }

  VulkanDevice device;                  // but for the extensions, whose names need not stay
  std::vector<std::string> extensions;  // its own
};

/// `offered` without what was not enabled. Pure.
DeviceDescription enabled(DeviceDescription offered, const AdoptedDevice&);

}  // namespace gnomon::vulkan
