// engine/vulkan/selection.h -- what Gnomon asks of a device, and which of several it takes. Pure:
// no Vulkan calls.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gnomon::vulkan {

/// What the device promises about floats of one width.
struct FloatControls {
  bool preserve_nan_inf = false;  // shaderSignedZeroInfNanPreserve
  bool round_to_even = false;     // shaderRoundingModeRTE
  bool denorm_preserve = false;
  bool denorm_flush = false;
};

/// A physical device as plain data, so that tests can make one up.
struct DeviceDescription {
  enum class Kind : std::uint8_t { discrete, integrated, virtual_device, cpu, other };

  std::string name;         // "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string driver;       // "llvmpipe", empty when the device cannot say
  std::string driver_info;  // "Mesa 22.3.6 (LLVM 15.0.6)"
  Kind kind = Kind::other;
  std::uint32_t api_major = 1;
  std::uint32_t api_minor = 0;
  bool compute_queue = false;
  // What tells drivers apart, and what they make of modules.
  std::uint32_t vendor_id = 0, device_id = 0, driver_version = 0;
  std::array<std::uint8_t, 16> cache_uuid{};
  bool external_fd = false, external_win32 = false;  // memory has handles for others
  bool creation_feedback = false;                    // says of a pipeline whether it was compiled

  bool int8 = false, int16 = false, int64 = false;
  bool float16 = false, float64 = false;
  bool storage8 = false, storage16 = false;  // 8-bit and 16-bit types in storage buffers
  bool addresses = false;                    // 64-bit buffer addresses
  bool float_controls = false;               // the three below may be declared in a module
  FloatControls float16_controls, float32_controls, float64_controls;

  std::uint64_t max_storage_range = 0;
  std::uint64_t max_texel_elements = 0;
  std::uint64_t max_allocation_bytes = 0;
  std::uint64_t max_buffer_bytes = 0;
  std::uint32_t storage_alignment = 256;
  std::uint32_t uniform_alignment = 256;
  std::uint32_t max_group_invocations = 0;
  std::uint32_t max_group_size_x = 0;
  std::uint32_t max_groups = 0;  // per axis, the smaller of x and y
  std::uint32_t max_shared_bytes = 0;
  std::uint64_t resident_lanes = 0;  // invocations that it holds at a time; 0: it does not say
  std::uint32_t subgroup_size = 1;
  bool subgroup_basic = false, subgroup_arithmetic = false;  // in compute shaders
  bool subgroup_shuffle = false;

  /// "1.1".
  std::string api() const;
  /// Device and driver, as far as data that one driver left may be of use to another.
  std::string identity() const;
};

/// Why the device cannot be used, as "has Vulkan 1.0 and 1.1 is required"; empty when it can.
std::string rejection(const DeviceDescription&);

/// The device to use: the one `wanted` picks, else the best kind (discrete, integrated, virtual,
/// cpu, other), the first of equals. `wanted` is an index into `devices`, part of a name (any
/// case), or empty.
///
/// Throws DeviceError with the reason for every device that was passed over.
std::size_t select_device(std::span<const DeviceDescription> devices, std::string_view wanted);

}  // namespace gnomon::vulkan
