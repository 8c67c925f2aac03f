// codegen/program/targets.cpp -- one row for each kind of device.
#include "codegen/program/targets.h"

namespace gnomon {
namespace {

/// 22.3, Debian's: instructions of the host; all roots were tried. What tunes kernels was measured
/// there, and what it can is what it says.
Target lavapipe() {
  Target t;
  t.device = "lavapipe 22.3";
  t.kind = KnownTarget::lavapipe_22;
  spirv::Features& f = t.features;
  f.version = 0x00010500;
  f.int64 = f.float64 = f.int16 = f.int8 = f.float16 = true;
  f.storage_16 = f.storage_8 = f.addresses = true;
  f.subgroup_basic = f.subgroup_arithmetic = true;
  f.signed_zero_inf_nan_preserve_f32 = f.signed_zero_inf_nan_preserve_f64 = true;
  f.rounding_rte_f32 = f.rounding_rte_f64 = true;
  f.paired_stores = true;
  f.as_specified = true;
  f.reads_together = 8;
  t.folds_zeros = true;
  t.subgroup_size = 8;
  t.max_group_invocations = 1024;
  t.max_shared_bytes = 32768;
  t.max_texel_elements = 1u << 27;
  // Before 25.0 every loop of a shader ends, without an error, once the SIMD group has made 65,535
  // trips in total. A little is kept back for trips that no static count shows.
  t.loop_budget = 65000;
  t.texel_reads = true;
  t.contiguous_per_lane = true;
  t.loop_coarsening = 4;
  t.map_coarsening = 16;
  t.parallel_lanes = 512;
  t.tile_rows = 8;
  t.tile_panel = 32;
  t.accumulators = 32;
  t.few_slices = 1024;
  return t;
}

/// A driver that runs a workgroup on a core, of which nothing else is known.
Target cpu() {
  Target t;
  t.device = "a CPU";
  t.kind = KnownTarget::other_cpu;
  t.features.as_specified = true;
  t.contiguous_per_lane = true;
  t.map_coarsening = 16;
  t.parallel_lanes = 256;
  t.few_slices = 1024;
  return t;
}

/// Loops with four lanes per invocation are slower than with one, but for the smallest
/// (`DeviceModel::loop_words`); sixteen elements per invocation make elementwise kernels and
/// products two to three times faster, and tiles of eight columns products a fifth more. Sums of
/// more than eight numbers side by side spill: with eight, `sum` takes 0.82 of the time that it
/// takes with 16 (Zen 5). Texel buffers end at 65,536.
Target swiftshader() {
  Target t = cpu();
  t.device = "SwiftShader";
  t.kind = KnownTarget::swiftshader;
  spirv::Features& f = t.features;
  f.version = 0x00010500;
  f.addresses = f.subgroup_basic = f.subgroup_arithmetic = true;
  f.signed_zero_inf_nan_preserve_f32 = true;
  t.subgroup_size = 4;
  t.tile_columns = 8;
  t.accumulators = 8;
  t.max_storage_range = 1u << 30;
  t.max_group_invocations = 256;
  t.max_shared_bytes = 32768;
  return t;
}

/// Latency is hidden with lanes, not with work per lane; four elements give 16-byte accesses.
Target gpu() {
  Target t;
  t.device = "a GPU";
  t.kind = KnownTarget::gpu;
  t.max_group_invocations = 1024;
  t.max_shared_bytes = 49152;
  t.map_coarsening = 4;
  t.group_size = 128;
  t.parallel_lanes = 65536;
  t.team = 256;
  t.panel_depth = 16;
  t.contracts = true;
  return t;
}

/// By what makers publish; nobody has measured one. An Arm Mali-G78 of 20 cores runs 32 warps of 16
/// lanes in each (VK_ARM_shader_core_properties), as long as they take 32 registers at most (Arm,
/// The Valhall Shader Core). Workgroups of 128 are what its makers advise, smaller ones where there
/// are barriers (Arm Mali Bifrost and Valhall OpenCL Developer Guide 3.2, 9.2).
Target mobile_gpu() {
  Target t = gpu();
  t.device = "a mobile GPU";
  t.kind = KnownTarget::mobile_gpu;
  t.max_group_invocations = 512;
  t.max_shared_bytes = 32768;
  t.parallel_lanes = 8192;
  t.team = 128;
  t.slice_work = std::uint64_t{1} << 20;
  return t;
}

}  // namespace

std::string_view name(KnownTarget k) {
  switch (k) {
    case KnownTarget::minimum:
      return "minimum";
    case KnownTarget::lavapipe_22:
      return "lavapipe-22";
    case KnownTarget::lavapipe_25:
      return "lavapipe-25";
    case KnownTarget::swiftshader:
      return "swiftshader";
    case KnownTarget::other_cpu:
      return "other-cpu";
    case KnownTarget::gpu:
      return "gpu";
    case KnownTarget::mobile_gpu:
      return "mobile-gpu";
  }
  return "";
}

Target target_of(KnownTarget k) {
  switch (k) {
    case KnownTarget::minimum:
      return {};
    case KnownTarget::lavapipe_22:
      return lavapipe();
    case KnownTarget::lavapipe_25: {
      Target t = lavapipe();
      t.device = "lavapipe 25.0";
      t.kind = KnownTarget::lavapipe_25;
      t.loop_budget = 0;
      return t;
    }
    case KnownTarget::swiftshader:
      return swiftshader();
    case KnownTarget::other_cpu:
      return cpu();
    case KnownTarget::gpu:
      return gpu();
    case KnownTarget::mobile_gpu:
      return mobile_gpu();
  }
  return {};
}

bool rounds_correctly(KnownTarget k) {
  return k == KnownTarget::lavapipe_22 || k == KnownTarget::lavapipe_25 ||
         k == KnownTarget::swiftshader;
}

Target Target::minimum() { return target_of(KnownTarget::minimum); }
Target Target::gpu() { return target_of(KnownTarget::gpu); }
Target Target::lavapipe() { return target_of(KnownTarget::lavapipe_22); }

}  // namespace gnomon
