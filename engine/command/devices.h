// engine/command/devices.h -- what `gnomon info` prints.
#pragma once
#include <string>

namespace gnomon {

/// Every Vulkan device with its limits, and which one a Runtime takes or why not.
std::string devices_text();

}  // namespace gnomon
