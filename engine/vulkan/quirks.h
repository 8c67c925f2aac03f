// engine/vulkan/quirks.h -- which row of the table of kinds a device belongs to, and the Target
// that codegen compiles for.
#pragma once
#include "codegen/program/targets.h"
#include "engine/vulkan/selection.h"

namespace gnomon::vulkan {

/// By the names of device and driver; what no name tells, by its kind.
KnownTarget kind_of(const DeviceDescription&);

/// The Target of a device: its row, with the device's own limits and capabilities.
Target target_of(const DeviceDescription&);

}  // namespace gnomon::vulkan
