// engine/vulkan/quirks.h -- what is known of single drivers, and the Target that codegen compiles
// for.
#pragma once
#include <cstdint>

#include "codegen/program/target.h"
#include "engine/vulkan/selection.h"

namespace gnomon::vulkan {

/// What no limit or feature of a driver tells. Measured, or from the driver's source; see the table
/// in quirks.cpp.
struct Quirks {
  std::uint64_t loop_budget = 0;  // trips after which the driver silently stops a shader; 0: none
  bool slow_barriers = false;     // barriers in loops take it minutes to compile
  bool rounds_correctly = false;  // f32 quotients and roots: known, need not be probed
  bool texel_reads = false;       // texel buffers load faster than storage buffers
  bool paired_stores = false;     // 16 bytes are stored faster as two words than as four
  bool reads_together = false;    // subgroups are runs of neighbours; texels are fetched one by one
  bool contiguous_per_lane =
      false;  // a lane reads runs; neighbouring lanes need not read neighbours
  std::uint32_t loop_coarsening = 1;
  std::uint32_t map_coarsening = 1;
  std::uint32_t parallel_lanes = 16384;
  std::uint32_t tile_rows = 4;
  std::uint32_t tile_panel = 0;
  std::uint32_t accumulators = 16;
  std::uint32_t team = 0;  // most invocations of a workgroup that works together
};

Quirks quirks_of(const DeviceDescription&);

/// The Target of a device: its limits and features, tuned by its quirks.
Target target_of(const DeviceDescription&);

}  // namespace gnomon::vulkan
