// codegen/program/target.h -- what codegen compiles for: capabilities, limits and tuning of one
// device.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "shaders/passes/refine.h"
#include "shaders/spirv/emit.h"

namespace gnomon {

enum class KnownTarget : std::uint8_t {
  minimum,      // what Vulkan 1.1 guarantees
  lavapipe_22,  // Mesa before 25.0
  lavapipe_25,
  swiftshader,
  other_cpu,
  gpu,         // of a desktop or a data centre
  mobile_gpu,  // of a phone or a small board
};

/// Everything codegen may know of a device: a row of the table of kinds (codegen/program/targets.h)
/// with what the device reports; tests change what they like. A number, an enumerator or a struct
/// of numbers each; whatever is added here is in the text, and so in the identity of what is
/// compiled.
struct Target {
  std::string device = "minimum";
  /// The row, by which the compiler weighs one form of a program against another
  /// (cost/device_model.h).
  KnownTarget kind = KnownTarget::minimum;
  spirv::Features features;
  // Limits.
  std::uint64_t max_storage_range = 1u << 27;  // bytes one window can show
  std::uint32_t max_group_invocations = 128;
  std::uint32_t max_groups = 65535;  // per axis of a dispatch
  std::uint32_t max_shared_bytes = 16384;
  std::uint64_t max_texel_elements = 65536;  // 16-byte texels one texel window can show
  std::uint64_t loop_budget =
      0;  // loop trips after which the driver silently stops a shader; 0: none
  // Tuning. None of it changes results.
  bool texel_reads = false;  // reads through texel windows are faster
  bool contiguous_per_lane =
      false;  // CPU-like: a lane reads runs; otherwise neighbouring lanes read neighbours
  std::uint32_t loop_coarsening = 1;  // lanes per invocation in kernels that hold loops
  std::uint32_t map_coarsening = 1;   // elements per invocation in elementwise kernels
  std::uint32_t group_size = 64;
  std::uint32_t parallel_lanes =
      16384;  // lanes that fill the device: reductions split until they reach it
  // Products: outputs per invocation, rows that share what they read of one operand by columns that
  // share what they read of the other.
  std::uint32_t tile_rows = 4;
  std::uint32_t tile_columns = 4;
  std::uint32_t tile_panel = 0;     // columns whose operand stays in a core's cache; 0: whole rows
  std::uint32_t accumulators = 16;  // values that an invocation's loop carries in registers
  /// Products from which on a convolution of a CPU's has copies made of its operands
  /// (optimize/split_conv.h): to start a kernel costs what half a million of them do.
  std::uint64_t arranged_products = std::uint64_t{1} << 19;
  /// Operations that one lane takes in the first slice of a loop that may take many times as many
  /// (codegen/cost/slicing.h); 0: loops are sliced for drivers that limit trips only. A lane of a
  /// slow GPU waits some 5 ns for each, which makes this 20 ms; a CPU takes 1 to 3 ns, a hundred
  /// times what it costs to start a slice.
  std::uint64_t slice_work = std::uint64_t{1} << 22;
  /// Ensembles of at most so many slices stay whole, a lone lane of at most 16. A CPU's driver
  /// resets nobody who takes longer, and lanes seldom all take as many steps as they may: of
  /// ensembles only what is next to endless is cut there.
  std::uint32_t few_slices = 16;

  /// Set while a loop is compiled that one workgroup of a CPU's driver plays: its invocations, and
  /// how many results of a matrix and a vector one of them computes. Lanes beyond these make
  /// further passes, in each of which the vector is read again, and a matrix's rows only in part:
  /// whole rows are what memory is quickest at.
  std::uint32_t players = 0, player_rows = 0;

  // Workgroups whose invocations work together, through shared memory (emit/workgroup.h).
  std::uint32_t team = 0;  // invocations of such a workgroup, a power of two; 0: there are none
  std::uint32_t panel_depth = 8;    // products: positions of the sum in shared memory at a time
  std::uint32_t subgroup_size = 1;  // as the device tells; nothing may rely on it

  /// Its compiler takes a constant zero for something that changes nothing when it is added, and
  /// for the end of the matter when it is multiplied or divided by (passes/hide_zeros).
  bool folds_zeros = false;
  /// x * y + z is one instruction and nobody else makes it one: sums of products, as of matrices,
  /// are made of it, and with `built_in_functions` all arithmetic is (passes/contract).
  bool contracts = false;
  /// What the device does not round correctly: every kernel then has its own (passes/refine).
  kernel::RefineOptions refine;

  /// Elementary functions of f32 by the driver's own instructions: fast, and as loose as the driver
  /// likes. Set for one program by CompileOptions::fast_math.
  bool built_in_functions = false;

  /// Every field by its name, in one line: `target "a GPU" features.version=66304 ... team=256`.
  std::string text() const;
  /// What `text` wrote; fields come in any order, and those that are left out keep their defaults.
  /// Throws ParseError for an unknown field and for a number that it does not hold.
  static Target parse(std::string_view text);
  friend bool operator==(const Target& a, const Target& b) { return a.text() == b.text(); }

  // Rows of the table that stand for many.
  static Target minimum();  // what Vulkan 1.1 guarantees (GNOMON_TARGET=minimum)
  static Target gpu();
  static Target lavapipe();  // Debian's
};

}  // namespace gnomon
