// engine/vulkan/quirks.cpp -- a device's row, and what the device says itself.
#include "engine/vulkan/quirks.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace gnomon::vulkan {
namespace {

/// Major version in "Mesa 22.3.6 (LLVM 15.0.6)"; 0 when there is none.
int mesa_major(std::string_view info) {
  const std::size_t at = info.find("Mesa ");
  if (at == std::string_view::npos) return 0;
  return std::atoi(std::string(info.substr(at + 5)).c_str());
}

void take_capabilities(Target& target, const DeviceDescription& device) {
  spirv::Features& f = target.features;
  // Vulkan 1.2 takes SPIR-V up to 1.5, 1.1 up to 1.3.
  f.version = device.api_major > 1 || device.api_minor >= 2 ? 0x00010500 : 0x00010300;
  f.int64 = device.int64;
  f.float64 = device.float64;
  f.int16 = device.int16;
  f.int8 = device.int8;
  f.float16 = device.float16;
  f.storage_16 = device.storage16;
  f.storage_8 = device.storage8;
  f.addresses = device.addresses;
  f.subgroup_basic = device.subgroup_basic;
  f.subgroup_arithmetic = device.subgroup_basic && device.subgroup_arithmetic;
  if (f.reads_together > 0)
    f.reads_together = device.subgroup_basic && device.subgroup_shuffle ? device.subgroup_size : 0;
  const bool controls = device.float_controls;
  const FloatControls &f32 = device.float32_controls, &f64 = device.float64_controls;
  f.signed_zero_inf_nan_preserve_f32 = controls && f32.preserve_nan_inf;
  f.signed_zero_inf_nan_preserve_f64 = controls && f64.preserve_nan_inf && device.float64;
  f.rounding_rte_f32 = controls && f32.round_to_even;
  f.rounding_rte_f64 = controls && f64.round_to_even && device.float64;
  f.denorm_preserve_f32 = controls && f32.denorm_preserve;
  f.denorm_preserve_f64 = controls && f64.denorm_preserve && device.float64;
}

void take_limits(Target& target, const DeviceDescription& device) {
  target.max_storage_range = device.max_storage_range;
  target.max_group_invocations = std::min(device.max_group_invocations, device.max_group_size_x);
  target.max_groups = device.max_groups;
  target.max_shared_bytes = device.max_shared_bytes;
  target.max_texel_elements = device.max_texel_elements;
  // A texel window shows a whole pool block, so it has to reach as far as a storage window of the
  // least size.
  target.texel_reads = target.texel_reads && device.max_texel_elements * 16 >= (1u << 27);
  // Of a CPU, all that counts is that every core has enough to do.
  if (device.kind != DeviceDescription::Kind::cpu && device.resident_lanes > 0)
    target.parallel_lanes = static_cast<std::uint32_t>(
        std::bit_floor(std::min<std::uint64_t>(device.resident_lanes, 1u << 24)));
  target.team = std::bit_floor(std::min(target.team, target.max_group_invocations));
  target.subgroup_size = device.subgroup_size;
  target.group_size = std::min(target.group_size, target.max_group_invocations);
}

/// Makers of GPUs for phones and small boards, by their numbers in the registry of PCI or of
/// Khronos.
bool is_mobile(const DeviceDescription& device) {
  constexpr std::uint32_t arm = 0x13b5, qualcomm = 0x5143, imagination = 0x1010, samsung = 0x144d,
                          broadcom = 0x14e4, vivante = 0x10001;
  constexpr std::uint32_t makers[] = {arm, qualcomm, imagination, samsung, broadcom, vivante};
  return device.kind == DeviceDescription::Kind::integrated &&
         std::find(std::begin(makers), std::end(makers), device.vendor_id) != std::end(makers);
}

}  // namespace

KnownTarget kind_of(const DeviceDescription& device) {
  const auto called = [&](std::string_view name) {
    return device.name.find(name) != std::string::npos;
  };
  if (called("llvmpipe") || device.driver == "llvmpipe")
    return mesa_major(device.driver_info) < 25 ? KnownTarget::lavapipe_22
                                               : KnownTarget::lavapipe_25;
  if (called("SwiftShader")) return KnownTarget::swiftshader;
  if (device.kind == DeviceDescription::Kind::cpu) return KnownTarget::other_cpu;
  return is_mobile(device) ? KnownTarget::mobile_gpu : KnownTarget::gpu;
}

Target target_of(const DeviceDescription& device) {
  const KnownTarget kind = kind_of(device);
  Target target = gnomon::target_of(kind);
  target.device = device.name;
  if (!device.driver_info.empty()) target.device += ", " + device.driver_info;
  take_capabilities(target, device);
  take_limits(target, device);
  return target;
}

}  // namespace gnomon::vulkan
