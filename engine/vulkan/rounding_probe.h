// engine/vulkan/rounding_probe.h -- whether a device rounds f32 quotients and square roots
// correctly, which Vulkan does not promise.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "engine/vulkan/device.h"
#include "engine/vulkan/queue.h"

namespace gnomon::vulkan {

/// Operands whose quotients x / y and roots of |x| are next to where rounding turns, or whose
/// exponents are extreme; all quotients are normal numbers. Always the same, a multiple of 64.
struct RoundingOperands {
  std::vector<float> x, y;
};
RoundingOperands rounding_operands();

/// What needs correction, given what a device made of the operands.
kernel::RefineOptions judge_rounding(const RoundingOperands&, std::span<const float> quotients,
                                     std::span<const float> roots);

/// Runs the operands through the device: one dispatch, in memory of its own. `words` is the module
/// of codegen/modules/rounding_kernel.h, whose workgroups are that large. Throws DeviceError.
kernel::RefineOptions probe_rounding(Device&, Queue&, std::vector<std::uint32_t> words,
                                     std::uint32_t group_size);

}  // namespace gnomon::vulkan
