// codegen/program/target.cpp -- forced targets and the text that identifies one.
#include "codegen/program/target.h"

namespace gnomon {

std::string Target::text() const {
  const auto number = [](const char* name, std::uint64_t v) {
    return std::string(" ") + name + "=" + std::to_string(v);
  };
  const spirv::Features& f = features;
  std::string s = "target \"" + device + "\"";
  s += number("spirv", f.version) + number("int64", f.int64) + number("float64", f.float64) +
       number("int16", f.int16) + number("int8", f.int8) + number("float16", f.float16) +
       number("addresses", f.addresses) + number("paired_stores", f.paired_stores) +
       number("reads_together", f.reads_together) + number("subgroups", f.subgroup_basic) +
       number("subgroup_arithmetic", f.subgroup_arithmetic) + number("storage16", f.storage_16) +
       number("storage8", f.storage_8) + number("preserve32", f.signed_zero_inf_nan_preserve_f32) +
       number("preserve64", f.signed_zero_inf_nan_preserve_f64) +
       number("rte32", f.rounding_rte_f32) + number("rte64", f.rounding_rte_f64) +
       number("denorm32", f.denorm_preserve_f32) + number("denorm64", f.denorm_preserve_f64);
  s += number("storage_range", max_storage_range) + number("invocations", max_group_invocations) +
       number("groups", max_groups) + number("shared", max_shared_bytes) +
       number("texels", max_texel_elements) + number("loop_budget", loop_budget) +
       number("slow_barriers", slow_barriers);
  s += number("texel_reads", texel_reads) + number("contiguous", contiguous_per_lane) +
       number("loop_coarsening", loop_coarsening) + number("map_coarsening", map_coarsening) +
       number("group_size", group_size) + number("parallel_lanes", parallel_lanes);
  s += number("tile_rows", tile_rows) + number("tile_columns", tile_columns) +
       number("tile_panel", tile_panel) + number("accumulators", accumulators) +
       number("arranged", arranged_products) + number("slice_work", slice_work) +
       number("few_slices", few_slices) + number("team", team) +
       number("panel_depth", panel_depth) + number("subgroup_size", subgroup_size);
  if (refine.division) s += " refine_division";
  if (refine.root) s += " refine_root";
  if (built_in_functions) s += " built_in_functions";
  return s;
}

Target Target::minimum() { return {}; }

Target Target::gpu_like() {
  Target t;
  t.device = "gpu-like";
  t.max_group_invocations = 1024;
  t.max_shared_bytes = 49152;
  t.parallel_lanes = 1u << 17;
  t.team = 256;
  return t;
}

Target Target::cpu_like() {
  Target t;
  t.device = "cpu-like";
  t.features.int64 = t.features.float64 = true;
  t.features.subgroup_basic = true;
  t.features.reads_together = 8;
  t.max_group_invocations = 1024;
  t.max_texel_elements = 1u << 27;
  t.loop_budget = 65000;
  t.texel_reads = true;
  t.contiguous_per_lane = true;
  t.few_slices = 1024;
  t.loop_coarsening = 4;
  t.map_coarsening = 16;
  t.parallel_lanes = 4096;
  t.tile_rows = 8;
  t.tile_panel = 32;
  t.accumulators = 32;
  return t;
}

}  // namespace gnomon
