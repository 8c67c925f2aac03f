// engine/vulkan/quirks.cpp -- the quirk table.
#include "engine/vulkan/quirks.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>

namespace gnomon::vulkan {
namespace {

/// Major version in "Mesa 22.3.6 (LLVM 15.0.6)"; 0 when there is none.
int mesa_major(std::string_view info) {
  const std::size_t at = info.find("Mesa ");
  if (at == std::string_view::npos) return 0;
  return std::atoi(std::string(info.substr(at + 5)).c_str());
}

}  // namespace

Quirks quirks_of(const DeviceDescription& device) {
  const bool lavapipe =
      device.name.find("llvmpipe") != std::string::npos || device.driver == "llvmpipe";
  if (lavapipe) {
    Quirks quirks{.rounds_correctly = true,  // instructions of the host; all roots were tried
                  .texel_reads = true,
                  .paired_stores = true,
                  .reads_together = true,
                  .contiguous_per_lane = true,
                  .loop_coarsening = 4,
                  .map_coarsening = 16,
                  .parallel_lanes = 512,
                  .tile_rows = 8,
                  .tile_panel = 32,
                  .accumulators = 32};
    // Before 25.0 every loop of a shader ends, without an error, once the SIMD group has made
    // 65,535 trips in total. A little is kept back for trips that no static count shows.
    const int major = mesa_major(device.driver_info);
    if (major < 25) quirks.loop_budget = 65000;
    // CPU drivers make coroutines of barriers. Lavapipe 22.3 compiles loops of them in a second at
    // most, 25.0 in minutes; SwiftShader knows no difference. An unknown version is taken for
    // whatever is worse.
    quirks.slow_barriers = major == 0 || major >= 25;
    return quirks;
  }
  const bool swiftshader = device.name.find("SwiftShader") != std::string::npos;
  if (swiftshader) {
    // Loops with four lanes per invocation were slower than with one; sixteen elements per
    // invocation make elementwise kernels and products two to three times faster. Texel buffers end
    // at 65,536.
    return {.rounds_correctly = true,
            .contiguous_per_lane = true,
            .map_coarsening = 16,
            .parallel_lanes = 256};
  }
  if (device.kind == DeviceDescription::Kind::cpu)
    return {.contiguous_per_lane = true, .map_coarsening = 16, .parallel_lanes = 256};
  // A GPU hides latency with lanes, not with work per lane; four elements give 16-byte accesses.
  return {.map_coarsening = 4, .parallel_lanes = 65536, .team = 256};
}

Target target_of(const DeviceDescription& device) {
  const Quirks quirks = quirks_of(device);
  Target target;
  target.device = device.name;
  if (!device.driver_info.empty()) target.device += ", " + device.driver_info;

  // Vulkan 1.2 takes SPIR-V up to 1.5, 1.1 up to 1.3.
  target.features.version = device.api_major > 1 || device.api_minor >= 2 ? 0x00010500 : 0x00010300;
  target.features.int64 = device.int64;
  target.features.float64 = device.float64;
  target.features.int16 = device.int16;
  target.features.int8 = device.int8;
  target.features.float16 = device.float16;
  target.features.storage_16 = device.storage16;
  target.features.storage_8 = device.storage8;
  target.features.addresses = device.addresses;
  target.features.subgroup_basic = device.subgroup_basic;
  target.features.subgroup_arithmetic = device.subgroup_basic && device.subgroup_arithmetic;
  target.features.paired_stores = quirks.paired_stores;
  if (quirks.reads_together && device.subgroup_basic && device.subgroup_shuffle)
    target.features.reads_together = device.subgroup_size;
  if (device.float_controls) {
    target.features.signed_zero_inf_nan_preserve_f32 = device.float32_controls.preserve_nan_inf;
    target.features.signed_zero_inf_nan_preserve_f64 =
        device.float64_controls.preserve_nan_inf && device.float64;
    target.features.rounding_rte_f32 = device.float32_controls.round_to_even;
    target.features.rounding_rte_f64 = device.float64_controls.round_to_even && device.float64;
    target.features.denorm_preserve_f32 = device.float32_controls.denorm_preserve;
    target.features.denorm_preserve_f64 = device.float64_controls.denorm_preserve && device.float64;
  }

  target.max_storage_range = device.max_storage_range;
  target.max_group_invocations = std::min(device.max_group_invocations, device.max_group_size_x);
  target.max_groups = device.max_groups;
  target.max_shared_bytes = device.max_shared_bytes;
  target.max_texel_elements = device.max_texel_elements;
  target.loop_budget = quirks.loop_budget;
  target.slow_barriers = quirks.slow_barriers;
  // A texel window shows a whole pool block, so it has to reach as far as a storage window of the
  // least size.
  target.texel_reads = quirks.texel_reads && device.max_texel_elements * 16 >= (1u << 27);
  target.contiguous_per_lane = quirks.contiguous_per_lane;
  if (quirks.contiguous_per_lane) target.few_slices = 1024;
  target.loop_coarsening = quirks.loop_coarsening;
  target.map_coarsening = quirks.map_coarsening;
  target.parallel_lanes = quirks.parallel_lanes;
  target.tile_rows = quirks.tile_rows;
  target.tile_panel = quirks.tile_panel;
  target.accumulators = quirks.accumulators;
  target.team = std::bit_floor(std::min(quirks.team, target.max_group_invocations));
  target.subgroup_size = device.subgroup_size;
  target.group_size = std::min<std::uint32_t>(64, target.max_group_invocations);
  return target;
}

}  // namespace gnomon::vulkan
